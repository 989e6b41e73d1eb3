"""Sparse discriminative Gaussian mixtures: small probabilistic classifiers with several modes."""

from sdgm.estimators.bounds import PACBayesBound, pac_bayes_bound
from sdgm.estimators.corners import DiscriminativeGMMClassifier, RVMClassifier
from sdgm.estimators.dual import KernelSDGMClassifier
from sdgm.estimators.familiarity import FamiliarityDetector
from sdgm.estimators.gaussian_processes import MixtureOfGPsClassifier
from sdgm.estimators.path import WeightsPath, weights_path
from sdgm.estimators.primal import SDGMClassifier
from sdgm.estimators.semi_supervised import SemiSupervisedSDGMClassifier
from sdgm.exceptions import ComponentsReducedWarning, NumericalTroubleWarning
from sdgm.persistence import ModelFileError, load, save

__version__ = "0.1.0"

__all__ = [
    "ComponentsReducedWarning",
    "DiscriminativeGMMClassifier",
    "FamiliarityDetector",
    "KernelSDGMClassifier",
    "MixtureOfGPsClassifier",
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
