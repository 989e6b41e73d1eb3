"""Warnings that sdgm raises, besides scikit-learn's `ConvergenceWarning`."""

from __future__ import annotations


class ComponentsReducedWarning(UserWarning):
    """A class has fewer samples than components, and got fewer components.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", ComponentsReducedWarning)
    """


class NumericalTroubleWarning(RuntimeWarning):
    """Learning ended early because the posterior precision could not be factorised.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", NumericalTroubleWarning)
    """
