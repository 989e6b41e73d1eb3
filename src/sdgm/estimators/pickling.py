"""Pickles that say which version of sdgm made them."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import BaseEstimator

import sdgm
from sdgm.exceptions import InconsistentVersionWarning

VERSION = "_sdgm_version"


class VersionedEstimator(BaseEstimator):
    """An estimator that warns if it was pickled by another version, as those of scikit-learn do."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, VERSION: sdgm.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        version = state.get(VERSION, "before 0.1.0")
        if version != sdgm.__version__:
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=sdgm.__version__,
                    original_sklearn_version=version,
                ),
                stacklevel=2,
            )
        kept = {name: value for name, value in state.items() if name != VERSION}
        super().__setstate__(kept)
