"""Sections in words: the model in a paragraph, and what it has learned term by term."""

from __future__ import annotations

from typing import Any

from sdgm.description import ModeDescription
from sdgm.report.content import Content
from sdgm.report.markup import Html, number, percent, tag
from sdgm.report.parts import class_label, plus_minus, section, table, weight_bar
from sdgm.text import counted, listed, shown

MAX_NAMED_CLASSES = 8
MAX_NAMED_INPUTS = 12
# terms of a mode that are in sight; the others are one click away
MAX_TERMS = 14
MAX_VECTORS = 60
MAX_VECTOR_COLUMNS = 8


def header(content: Content) -> Html:
    """Title, the model in a paragraph, and its numbers at a glance."""
    return tag(
        "header",
        tag("p", "Training story of a sparse discriminative Gaussian mixture", class_="kicker"),
        tag("h1", title(content)),
        tag("p", paragraph(content), class_="lead"),
        at_a_glance(content),
    )


def title(content: Content) -> str:
    """The user's, else one that names what is predicted."""
    if content.title:
        return shown(content.title, longest=200)
    if content.target is not None:
        return f"What decides {content.target}"
    return f"{len(content.class_names)} classes and what tells them apart"


def paragraph(content: Content) -> str:
    """The model in words."""
    names, words = content.class_names, content.words
    n_inputs = len(content.inputs)
    of = f" of {content.target}" if content.target is not None else ""
    which = f" ({listed(names)})" if len(names) <= MAX_NAMED_CLASSES else ""
    sentences = [
        f"This model tells {counted(len(names), 'class', 'classes')}{of}{which} apart by "
        f"{counted(n_inputs, 'input')}"
        + (f", of which it uses {len(words.inputs)}." if words.unused else ".")
    ]
    if content.n_rows:
        sentences.append(f"It was learned from {counted(content.n_rows, 'row')}.")
    sentences.append(weights_sentence(content))
    if content.held_out:
        sentences.append(error_sentence(content, content.held_out))
    return " ".join(sentences)


def weights_sentence(content: Content) -> str:
    """What learning removed."""
    words = content.words
    after = " + ".join(map(str, content.n_components))
    before = content.initial_components
    parts = counted(sum(content.n_components), "component")
    sentence = (
        f"Learning started with {counted(words.n_initial_weights, 'weight')} and kept "
        f"{words.n_weights:,}, in {parts}"
    )
    if len(content.n_components) > MAX_NAMED_CLASSES:
        return sentence + "."
    if before is not None and before != content.n_components:
        return f"{sentence} ({' + '.join(map(str, before))} → {after})."
    return f"{sentence} ({after})." if len(content.n_components) > 1 else sentence + "."


def error_sentence(content: Content, held_out: dict[str, Any]) -> str:
    """The error on held-out rows, beside the baselines'."""
    does = f"is wrong for {percent(held_out['error'])}" if held_out["error"] else "makes no mistake"
    sentence = f"On {counted(held_out['rows'], 'row')} that it has not seen it {does}"
    others = [
        f"{shown(each['name'])}: {percent(each['error'])}"
        for each in content.baselines
        if each.get("error") is not None
    ]
    return f"{sentence} ({', '.join(others)})." if others else sentence + "."


def at_a_glance(content: Content) -> Html:
    """The numbers that matter, ruled like the head of a table."""
    words, held_out = content.words, content.held_out
    pairs: list[tuple[str, Any]] = []
    if held_out:
        pairs.append(("held-out error", percent(held_out.get("error"))))
        pairs.append(("log loss", number(held_out.get("log_loss"))))
    pairs.append(("weights", f"{words.n_initial_weights:,} → {words.n_weights:,}"))
    before = content.initial_components
    after = sum(content.n_components)
    pairs.append(("components", f"{sum(before)} → {after}" if before else str(after)))
    if words.vectors:
        pairs.append(("relevance vectors", str(len(words.vectors))))
    else:
        pairs.append(("inputs in use", f"{len(words.inputs)} of {len(content.inputs)}"))
    return tag("dl", [tag("div", tag("dt", k), tag("dd", v)) for k, v in pairs], class_="glance")


def learned_section(content: Content) -> Html:
    """Per class and component the weights that are left."""
    words = content.words
    rows = [
        term
        for each in words.classes
        for mode in each.modes
        for term in (*mode.terms, mode.constant)
        if term is not None
    ]
    largest = max((abs(term.weight) + (term.std or 0.0) for term in rows), default=1.0)
    blocks = [
        tag(
            "div",
            tag("h3", tag("span", "class ", class_="of"), class_label(c, content.class_names[c])),
            [
                mode_block(content, mode, len(each.modes), total_weight(each.modes), largest)
                for mode in each.modes
            ],
            class_="class-block",
        )
        for c, each in enumerate(words.classes)
    ]
    notes = [tag("p", how_to_read(content))]
    if words.unused:
        unused = [shown(name) for name in words.unused]
        more = len(unused) - MAX_NAMED_INPUTS
        text = ", ".join(unused[:MAX_NAMED_INPUTS]) + (f" and {more} more" if more > 0 else "")
        notes.append(tag("p", tag("strong", "Not used: "), text, "."))
    return section("learned", "What was learned", *notes, tag("div", blocks, class_="classes"))


def total_weight(modes: tuple[ModeDescription, ...]) -> float:
    """Mixture weight of all modes of a class."""
    return sum(mode.mixture_weight for mode in modes) or 1.0


def how_to_read(content: Content) -> list[Any]:
    """What a weight means."""
    words = content.words
    of = "each a kernel between the row and a relevance vector" if words.kernel else "each a term"
    units = ""
    if words.standardized:
        units = (
            " Inputs are standardised first: a one is one standard deviation above the mean of the "
            "training rows."
        )
    parts: list[Any] = [
        "Every component has a score: the sum of its weights times columns, ",
        of,
        ". A class is the more probable the larger the exponentials of its scores; only "
        "differences between scores count. Bars show weights, whiskers one posterior standard "
        "deviation." + units,
    ]
    if words.kernel:
        parts += [" The kernel is ", tag("code", words.kernel), "."]
    return parts


def mode_block(
    content: Content, mode: ModeDescription, n_modes: int, total: float, largest: float
) -> Html:
    """The weights of a component as a table."""
    share = mode.mixture_weight / total
    name = None
    if n_modes > 1:
        name = tag(
            "h4", f"Mode {mode.number}", tag("span", f" {percent(share)} of the class", class_="of")
        )
    terms = list(mode.terms) + ([mode.constant] if mode.constant is not None else [])
    if not terms:
        return tag("div", name, tag("p", "No weights: the same everywhere.", class_="quiet"))

    def row(term: Any) -> list[Any]:
        label = "constant" if term is mode.constant else shown(term.name, longest=48)
        return [
            tag("span", label, class_="term"),
            plus_minus(term.weight, term.std),
            weight_bar(term.weight, term.std, largest),
        ]

    head = ["term", "weight", ""]
    parts: list[Any] = [name, table(head, [row(t) for t in terms[:MAX_TERMS]], class_="terms")]
    if len(terms) > MAX_TERMS:
        rest = table(head, [row(t) for t in terms[MAX_TERMS:]], class_="terms")
        label = f"{len(terms) - MAX_TERMS} more"
        parts.append(tag("details", tag("summary", label), rest))
    gaussian = mode.gaussian
    if gaussian is not None and len(gaussian.features) <= MAX_NAMED_INPUTS:
        places = ", ".join(
            f"{shown(feature)} {number(mean)} ± {number(std, 2)}"
            for feature, mean, std in zip(
                gaussian.features, gaussian.mean, gaussian.std, strict=True
            )
        )
        parts.append(
            tag(
                "p",
                f"As a Gaussian, up to a form that all components share: {places}.",
                class_="quiet",
            )
        )
    return tag("div", parts, class_="mode")


def vectors_table(content: Content) -> Html | None:
    """Relevance vectors with their values and weights."""
    words = content.words
    if not words.vectors:
        return None
    columns = list(words.vectors[0].values)[:MAX_VECTOR_COLUMNS]
    left_out = len(words.vectors[0].values) - len(columns)
    modes = [
        (c, mode.number, len(each.modes))
        for c, each in enumerate(words.classes)
        for mode in each.modes
    ]
    heads = [
        class_label(c, shown(words.classes[c].label, longest=14) + (f" ({n})" if of > 1 else ""))
        for c, n, of in modes
    ]
    rows = [
        [
            f"{each.name} (row {each.row:,})",
            *(_value(each.values[column]) for column in columns),
            *(number(weight) if weight else "·" for weight in each.weights),
        ]
        for each in words.vectors[:MAX_VECTORS]
    ]
    which = "rows of the table" if words.rows_from else "training rows"
    caption = (
        f"Relevance vectors: {which} that the model remembers, counted from {words.rows_from}, and "
        "their weights in the components."
    )
    if left_out > 0:
        caption += f" {left_out} more inputs are not shown."
    if len(words.vectors) > MAX_VECTORS:
        caption += f" The first {MAX_VECTORS} of {len(words.vectors)}."
    head = ["vector", *(shown(column, longest=24) for column in columns), *heads]
    return table(head, rows, caption=caption, class_="vectors")


def _value(value: Any) -> str:
    if value is None:
        return "missing"
    return number(value, 4) if isinstance(value, float) else shown(value, longest=24)
