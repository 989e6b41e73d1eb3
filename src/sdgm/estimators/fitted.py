"""From the learned state to fitted attributes."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sdgm._typing import IntArray
from sdgm.core.data.rows import Rows
from sdgm.core.inference.evidence import laplace_covariance
from sdgm.core.inference.learning import Result
from sdgm.core.model.state import State, Stop
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators.elimination import keeps_covariance
from sdgm.estimators.problem import Columns, Problem
from sdgm.estimators.progress import FIT_FRAMES
from sdgm.exceptions import NumericalTroubleWarning

# inputs this many times further out than any training row are moved in: their scores would
# overflow, and nothing is known out there
FAR_AWAY = 1e30


class FittedAttributesMixin:
    """What a fit leaves behind."""

    classes_: np.ndarray[Any, Any]
    record_states: bool

    @abstractmethod
    def _model_key(self) -> str: ...

    def _model_attributes(self, problem: Problem, columns: Columns, state: State) -> dict[str, Any]:
        """All that prediction needs."""
        survivors = np.unique(state.column[state.column > 0])
        w = state.w / columns.design.scale[state.column]
        return {
            **self._weight_attributes(replace(state, w=w)),
            "_basis": columns.basis.take(survivors),
            "_reach": FAR_AWAY * max(1.0, float(np.abs(problem.X).max())),
            "covariance_": None,
            **self._form_attributes(problem, columns, survivors),
        }

    def _weight_attributes(self, state: State) -> dict[str, Any]:
        """The weights and the mixture of a state, in the user's units."""
        survivors = np.unique(np.concatenate([[0], state.column]))
        position = state.component, np.searchsorted(survivors, state.column)
        dense = np.zeros((state.n_components, len(survivors)))
        dense[position] = state.w
        active = np.zeros(dense.shape, dtype=bool)
        active[position] = True
        return {
            "coef_": dense[:, 1:],
            "intercept_": dense[:, 0],
            "mixture_weights_": state.pi,
            "component_class_": state.component_class,
            "n_components_": np.bincount(state.component_class, minlength=len(self.classes_)),
            "n_active_weights_": state.n_weights,
            "_active": active,
        }

    @abstractmethod
    def _form_attributes(
        self, problem: Problem, columns: Columns, survivors: IntArray
    ) -> dict[str, Any]:
        """What users of this form want to see of the surviving columns."""

    @abstractmethod
    def _kept_attributes(self, kept: IntArray) -> dict[str, Any]:
        """The same, and the basis, when only these of the surviving columns are left."""

    def _learning_attributes(
        self, problem: Problem, columns: Columns, results: list[Result], best: Result
    ) -> dict[str, Any]:
        """The posterior of the weights, and how they were learned."""

        def in_user_units(state: State) -> State:
            scale = columns.design.scale[state.column]
            return replace(state, w=state.w / scale, alpha=state.alpha * scale**2)

        state, scale = best.state, columns.design.scale[best.state.column]
        covariance = None
        if keeps_covariance(state.n_weights):
            rows = Rows(columns.design.Z, problem.y, problem.s)
            with suppress(FactorizationError, FloatingPointError), np.errstate(over="raise"):
                scaled = laplace_covariance(rows, columns.design.Rt, state)
                covariance = scaled / scale / scale[:, None]
        return {
            "covariance_": covariance,
            "log_evidence_": final_evidence(best),
            "start_log_evidences_": np.array([final_evidence(result) for result in results]),
            "n_iter_": len(best.records),
            "converged_": best.stop in (Stop.CONVERGED, Stop.EMPTY),
            "stop_reason_": best.stop.value,
            "history_": [
                replace(record, state=in_user_units(record.state))
                if self.record_states and record.state is not None
                else replace(record, state=None)
                for record in best.records
            ],
            "_state": in_user_units(state),
            "_state_key": (self.classes_, self._model_key()),
        }


def final_evidence(result: Result) -> float:
    """Log evidence at the end of a run."""
    return result.records[-1].log_evidence if result.records else -np.inf


def warn_about(result: Result) -> None:
    """Say so when learning did not end well."""
    if result.stop is Stop.MAX_ITER:
        warnings.warn(
            f"Learning stopped at max_iter={len(result.records)} before it converged (last "
            f"relative change {result.records[-1].alpha_change:.2g}); raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3 + FIT_FRAMES,
        )
    elif result.stop is Stop.NUMERICAL:
        warnings.warn(
            f"Learning stopped after {len(result.records)} iterations because the posterior "
            "precision of the weights could not be factorised; the model is the one reached so "
            "far. Standardise the inputs, or lower the scale of the kernel.",
            NumericalTroubleWarning,
            stacklevel=3 + FIT_FRAMES,
        )
