"""Sparse discriminative Gaussian mixtures: small probabilistic classifiers with several modes."""

from sdgm.estimators.corners import DiscriminativeGMMClassifier, RVMClassifier
from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.estimators.gaussian_processes import MixtureOfGPsClassifier
from sdgm.estimators.primal import SDGMClassifier
from sdgm.exceptions import ComponentsReducedWarning, NumericalTroubleWarning

__version__ = "0.1.0"

__all__ = [
    "ComponentsReducedWarning",
    "DiscriminativeGMMClassifier",
    "KernelSDGMClassifier",
    "MixtureOfGPsClassifier",
    "NumericalTroubleWarning",
    "RVMClassifier",
    "SDGMClassifier",
]
