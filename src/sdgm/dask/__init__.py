"""The classifiers on Dask: rows stay on the workers, which send statistics (extra ``dask``)."""

from sdgm.dask.ensemble import KernelEnsembleClassifier
from sdgm.dask.estimators import KernelSDGMClassifier, SDGMClassifier

__all__ = ["KernelEnsembleClassifier", "KernelSDGMClassifier", "SDGMClassifier"]
