"""Sparse discriminative Gaussian mixtures: small probabilistic classifiers with several modes."""

from typing import TYPE_CHECKING, Any

from sdgm._lazy import attribute

if TYPE_CHECKING:
    from sdgm.bounds.bound import PACBayesBound, pac_bayes_bound
    from sdgm.ensemble.estimator import KernelEnsembleClassifier
    from sdgm.estimators.dual import KernelSDGMClassifier
    from sdgm.estimators.primal import SDGMClassifier
    from sdgm.estimators.special_cases import DiscriminativeGMMClassifier, RVMClassifier
    from sdgm.estimators.weights_path import WeightsPath, weights_path
    from sdgm.exceptions import (
        ComponentsReducedWarning,
        InconsistentVersionWarning,
        NumericalTroubleWarning,
    )
    from sdgm.novelty.detector import FamiliarityDetector
    from sdgm.persistence import ModelFileError, load, save
    from sdgm.semi_supervised.estimator import SemiSupervisedSDGMClassifier

__version__ = "0.1.0"

# where the public names are; scikit-learn takes a second to import, which a command that only
# prints its help, or is interrupted at once, should not wait for
_HOMES = {
    "ComponentsReducedWarning": "exceptions",
    "DiscriminativeGMMClassifier": "estimators.special_cases",
    "FamiliarityDetector": "novelty.detector",
    "InconsistentVersionWarning": "exceptions",
    "KernelEnsembleClassifier": "ensemble.estimator",
    "KernelSDGMClassifier": "estimators.dual",
    "ModelFileError": "persistence",
    "NumericalTroubleWarning": "exceptions",
    "PACBayesBound": "bounds.bound",
    "RVMClassifier": "estimators.special_cases",
    "SDGMClassifier": "estimators.primal",
    "SemiSupervisedSDGMClassifier": "semi_supervised.estimator",
    "WeightsPath": "estimators.weights_path",
    "load": "persistence",
    "pac_bayes_bound": "bounds.bound",
    "save": "persistence",
    "weights_path": "estimators.weights_path",
}

__all__ = [
    "ComponentsReducedWarning",
    "DiscriminativeGMMClassifier",
    "FamiliarityDetector",
    "InconsistentVersionWarning",
    "KernelEnsembleClassifier",
    "KernelSDGMClassifier",
    "ModelFileError",
    "NumericalTroubleWarning",
    "PACBayesBound",
    "RVMClassifier",
    "SDGMClassifier",
    "SemiSupervisedSDGMClassifier",
    "WeightsPath",
    "load",
    "pac_bayes_bound",
    "save",
    "weights_path",
]


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first wanted."""
    return attribute(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
