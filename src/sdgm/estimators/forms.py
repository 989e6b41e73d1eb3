"""How the original and the dual form differ: in the columns that the weights multiply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, Self

from sdgm.core.model.basis import Basis
from sdgm.core.model.fitted_model import FittedModel
from sdgm.estimators.parameters import OpenSettings
from sdgm.estimators.problem import Columns, Problem

# components per class that are tried when their number is left open
AUTO_COMPONENTS = (1, 2, 3)
# total number of components above which several per class are not tried: with many classes they
# would take far longer than the rest of the fit
MAX_COMPONENTS = 10

# the scale of a named kernel
FindScale = Callable[[str], float]
# refuses this number and rank of candidate columns, if learning with them does not fit in memory
RequireRank = Callable[[int, int], None]


class Form(Protocol):
    """How rows become columns, and which settings are tried if they are left open."""

    @property
    def is_precomputed(self) -> bool:
        """Whether X holds kernel values instead of inputs."""
        ...

    @property
    def replicates(self) -> float:
        """How many times each row is counted when a sparse model learns from a dense one."""
        ...

    @property
    def rows_per_shared_weight(self) -> float:
        """Number of rows per weight from which on all classes may share their columns."""
        ...

    def check(self) -> None:
        """Refuse invalid settings."""
        ...

    def columns(self, problem: Problem, require_rank: RequireRank) -> Columns:
        """The candidate columns of a problem."""
        ...

    def require(self, n_rows: int, n_inputs: int, settings: OpenSettings) -> None:
        """Refuse columns that cannot fit in memory, as far as the shape of the table tells.

        If columns are to be chosen, those that are tried first.
        """
        ...

    def remedies(self) -> list[str]:
        """Words for what would make the design smaller."""
        ...

    def key(self, basis: Basis) -> str:
        """Words for what the columns are."""
        ...

    def candidate_basis(self, n_inputs: int) -> Basis | None:
        """All columns but the constant, in order, where they do not depend on the rows."""
        ...

    def finds(self, model: FittedModel, problem: Problem) -> bool:
        """Whether any column of an earlier model is among those of a problem."""
        ...

    def continuing(self, model: FittedModel) -> Self:
        """The form with which an earlier model goes on."""
        ...

    def with_settings(self, settings: OpenSettings) -> Self:
        """The form with other values of the open settings."""
        ...

    def basis_at(self, problem: Problem, n_rows: int, max_columns: int = ...) -> Basis:
        """Candidate columns for a model that learns from a teacher.

        Those of the first rows of the problem, and not many more than fit in memory.
        """
        ...

    def rounds(
        self,
        settings: OpenSettings,
        shape: tuple[int, int],
        n_classes: int,
        find_scale: FindScale,
    ) -> Iterator[Sequence[dict[str, Any]]]:
        """Settings to try for this number of rows and inputs, simple ones in the first rounds."""
        ...


def numbers_of_components(settings: OpenSettings, n_classes: int) -> list[Any]:
    """Values that are tried for ``n_components``."""
    if not settings.chooses("n_components"):
        return [settings["n_components"]]
    return [M for M in AUTO_COMPONENTS if M == 1 or n_classes * M <= MAX_COMPONENTS]
