"""The original form: columns are monomials of the inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sdgm.core.model.basis import Basis
from sdgm.core.model.design import feature_design
from sdgm.core.model.features import CovarianceType, Monomials, monomials, n_monomials
from sdgm.core.model.fitted_model import FittedModel
from sdgm.estimators.forms import FindScale, RequireRank, numbers_of_components
from sdgm.estimators.parameters import OpenSettings, choice
from sdgm.estimators.problem import LARGEST_VALUE, Columns, Problem
from sdgm.scale.memory import SMALL_NUMBERS, feature_bytes, require_memory

# covariance types if it is left open: the first that is not too large is taken
FULL_TO_SIMPLE = ("full", "diag", "tied")
# maximum number of features: for the 10,000 rows of the sample they take 320 MB
MAX_MONOMIALS = 4_000


@dataclass(frozen=True)
class QuadraticForm:
    """Weights on the monomials of a covariance type."""

    covariance_type: Any

    is_precomputed: ClassVar[bool] = False
    # fewer than in the dual form: squares grow without bound between and beyond the rows. With 8
    # the development sets have an error of 11.34 instead of 11.19%, and a log loss of .253 instead
    # of .251, with 32 of 11.34% and .252
    replicates: ClassVar[float] = 16.0
    # with fewer rows, separate weights per class are as good: 1,000 rows of letter (26
    # classes) have an error of 19.2% with 900 weights, and of 19.0% with 4,000
    rows_per_shared_weight: ClassVar[float] = 1.0

    def check(self) -> None:
        """Refuse a covariance type that is not known."""
        choice("covariance_type", self.covariance_type, CovarianceType)

    def columns(self, problem: Problem, require_rank: RequireRank) -> Columns:
        """Monomials of the standardised rows."""
        N, D = problem.X.shape
        self._require_features(N, D, self.covariance_type)
        phi = monomials(D, self.covariance_type)
        with np.errstate(over="ignore"):
            Phi = phi.transform(problem.X)
        if not np.abs(Phi).max() < LARGEST_VALUE:
            raise ValueError(
                f"squares of the inputs are too large (largest input "
                f"{np.abs(problem.X).max():.3g}); use standardize=True."
            )
        return Columns(feature_design(Phi), phi.without_constant(), problem.X)

    def require(self, n_rows: int, n_inputs: int, settings: OpenSettings) -> None:
        """Refuse features that do not fit."""
        first = settings.chooses("covariance_type")
        self._require_features(
            n_rows, n_inputs, FULL_TO_SIMPLE[-1] if first else self.covariance_type
        )

    def _require_features(self, N: int, D: int, covariance_type: str) -> None:
        H = n_monomials(D, covariance_type)
        if N * H <= SMALL_NUMBERS:
            return
        what = f"The {H} features of {D} inputs on {N} rows"
        require_memory(feature_bytes(N, D, H), what, self.remedies())

    def _has_room(self, shape: tuple[int, int], covariance_type: str) -> bool:
        """Whether a covariance type can be chosen."""
        N, D = shape
        if n_monomials(D, covariance_type) > MAX_MONOMIALS:
            return False
        try:
            self._require_features(N, D, covariance_type)
        except MemoryError:
            return False
        return True

    def remedies(self) -> list[str]:
        """Words for what would make the design smaller."""
        is_full = self.covariance_type == CovarianceType.FULL
        return ["covariance_type='diag'"] * is_full + ["fewer inputs", "fewer rows"]

    def key(self, basis: Basis) -> str:
        """Words for what the columns are."""
        return f"covariance_type={self.covariance_type!r}"

    def candidate_basis(self, n_inputs: int) -> Monomials:
        """All monomials but the constant."""
        return monomials(n_inputs, self.covariance_type).without_constant()

    def finds(self, model: FittedModel, problem: Problem) -> bool:
        """Monomials do not depend on the rows."""
        return True

    def continuing(self, model: FittedModel) -> QuadraticForm:
        """The same."""
        return self

    def with_settings(self, settings: OpenSettings) -> QuadraticForm:
        """The form with another covariance type."""
        return replace(self, covariance_type=settings["covariance_type"])

    def basis_at(self, problem: Problem, n_rows: int, max_columns: int = 0) -> Monomials:
        """Monomials do not depend on the rows."""
        N, D = problem.X.shape
        self._require_features(N, D, self.covariance_type)
        return self.candidate_basis(D)

    def rounds(
        self,
        settings: OpenSettings,
        shape: tuple[int, int],
        n_classes: int,
        find_scale: FindScale,
    ) -> Iterator[Sequence[dict[str, Any]]]:
        """The richest covariance that fits, then more components.

        Pruning removes the weights that a simpler covariance would not have.
        """
        covariance_type = settings["covariance_type"]
        if settings.chooses("covariance_type"):
            fitting = (each for each in FULL_TO_SIMPLE if self._has_room(shape, each))
            covariance_type = next(fitting, FULL_TO_SIMPLE[-1])
        for n_components in numbers_of_components(settings, n_classes):
            yield [{"covariance_type": covariance_type, "n_components": n_components}]
