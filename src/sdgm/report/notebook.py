"""A fitted model at a glance, for notebooks."""

from __future__ import annotations

from typing import Any

from sdgm.report.content import Content, gathered
from sdgm.report.learned import weights_sentence
from sdgm.report.markup import Html, joined, percent, tag
from sdgm.report.parts import plus_minus
from sdgm.text import counted, shown

MAX_TERMS = 6
# notebooks may not keep style sheets apart, so this one names its element
STYLE = """
.sdgm-summary{font:13px/1.45 system-ui,sans-serif;max-width:46rem}
.sdgm-summary table{border-collapse:collapse;margin:.5em 0;font:inherit}
.sdgm-summary th,.sdgm-summary td{text-align:left;padding:.2em 1.2em .2em 0;vertical-align:top;
font-weight:400;border:0;border-top:1px solid #8884;background:none}
.sdgm-summary thead th{opacity:.7}.sdgm-summary p{margin:.3em 0}
.sdgm-summary td:nth-child(2){white-space:nowrap}
.sdgm-summary td:last-child{overflow-wrap:anywhere}
"""


class Summary:
    """A model in a few lines, as text and as HTML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sdgm import SDGMClassifier
    >>> model = SDGMClassifier(n_components=1).fit(*load_iris(return_X_y=True))
    >>> "weights" in Summary(model)._repr_html_()
    True
    """

    def __init__(self, model: Any) -> None:
        self.content: Content = gathered(model)

    def _repr_html_(self) -> str:
        content = self.content
        words = content.words
        rows = []
        for c, each in enumerate(words.classes):
            for mode in each.modes:
                share = f"{mode.number} of {len(each.modes)}" if len(each.modes) > 1 else ""
                rows.append(
                    tag(
                        "tr",
                        tag("th", content.class_names[c], scope="row"),
                        tag("td", share),
                        tag("td", terms(mode)),
                    )
                )
        head = tag("tr", [tag("th", name, scope="col") for name in ("class", "mode", "terms")])
        return tag(
            "div",
            tag("style", Html(STYLE)),
            tag("p", tag("strong", words.estimator), ": ", sentence(content)),
            tag("table", tag("thead", head), tag("tbody", rows)),
            class_="sdgm-summary",
        )

    def __repr__(self) -> str:
        return self.content.words.text()


def sentence(content: Content) -> Html:
    """Classes, inputs, weights and error."""
    n_inputs = counted(len(content.inputs), "input")
    parts = [
        f"{counted(len(content.class_names), 'class', 'classes')} from {n_inputs}",
        f"({len(content.words.inputs)} used)." if content.words.unused else "",
        weights_sentence(content),
    ]
    if content.held_out:
        parts.append(f"Held-out error {percent(content.held_out.get('error'))}.")
    first = parts[0] + ("" if parts[1] else ".")
    return joined(" ".join([first, *(part for part in parts[1:] if part)]))


def terms(mode: Any) -> list[Any]:
    """The most certain terms of a mode."""
    own = [*mode.terms, *([mode.constant] if mode.constant is not None else [])]
    if not own:
        return ["the same everywhere"]
    parts: list[Any] = []
    for term in own[:MAX_TERMS]:
        name = "" if term is mode.constant else f" {shown(term.name, longest=48)}"
        parts += [tag("span", "(", plus_minus(term.weight, term.std), ")", name), " + "]
    if len(own) > MAX_TERMS:
        parts += [f"{len(own) - MAX_TERMS} more", " + "]
    return parts[:-1]


def summary(model: Any) -> Summary:
    """A fitted model at a glance; in a notebook, a small table.

    Parameters
    ----------
    model : TableModel or fitted classifier

    Returns
    -------
    Summary
        With ``_repr_html_``; as text it is what `sdgm.description.describe` says.
    """
    return Summary(model)


def summary_html(model: Any) -> str:
    """The HTML of `summary`.

    Parameters
    ----------
    model : TableModel or fitted classifier
    """
    return Summary(model)._repr_html_()
