"""Warnings that sdgm raises, besides scikit-learn's `ConvergenceWarning`."""

from __future__ import annotations

from sklearn import exceptions


class ComponentsReducedWarning(UserWarning):
    """A class has fewer samples than components, and got fewer components.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", ComponentsReducedWarning)
    """


class InconsistentVersionWarning(exceptions.InconsistentVersionWarning):
    """A pickled estimator was made by another version of sdgm.

    A file that `sdgm.save` wrote does not depend on the version.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", InconsistentVersionWarning)
    """

    def __str__(self) -> str:
        return (
            f"{self.estimator_name} was pickled by sdgm {self.original_sklearn_version}, and this "
            f"is sdgm {self.current_sklearn_version}; it may fail or predict something else. Fit "
            "it again, or use sdgm.save with the version that pickled it and sdgm.load with this "
            "one."
        )


class NumericalTroubleWarning(RuntimeWarning):
    """Learning ended early because the posterior precision could not be factorised.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", NumericalTroubleWarning)
    """
