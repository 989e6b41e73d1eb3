"""Warnings that sdgm raises, besides scikit-learn's `ConvergenceWarning`."""

from __future__ import annotations


class ComponentsReducedWarning(UserWarning):
    """A class has fewer distinct samples than components, and got fewer components."""


class NumericalTroubleWarning(RuntimeWarning):
    """Learning ended early because the posterior precision could not be factorised."""
