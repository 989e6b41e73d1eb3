"""A fitted model at a glance, for notebooks."""

from __future__ import annotations

from typing import Any

from sdgm.report.content import Content, report_content
from sdgm.report.templates import rendered


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
        self.content: Content = report_content(model)

    def _repr_html_(self) -> str:
        return rendered("summary.html.j2", content=self.content)

    def __repr__(self) -> str:
        return self.content.description.text()


def summary(model: Any) -> Summary:
    """A fitted classifier or TableModel at a glance; in a notebook, a small table.

    As text it is that of `sdgm.description.describe`.
    """
    return Summary(model)


def summary_html(model: Any) -> str:
    """The HTML of `summary`."""
    return Summary(model)._repr_html_()
