"""Fitted classifiers with other numbers in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np


def set_weights(model: Any, coef: Any, intercept: Any = None) -> None:
    """Give a fitted classifier other weights in place of those that were not pruned."""
    old = model.model_
    w = np.column_stack([old.intercept if intercept is None else intercept, coef])
    state = replace(old.state, w=w[old.state.component, old.state.column])
    model.model_ = replace(old, state=state)


def set_mixture_weights(model: Any, pi: Any) -> None:
    """Give a fitted classifier other mixture weights."""
    model.model_ = replace(model.model_, state=replace(model.model_.state, pi=np.asarray(pi)))


def set_covariance(model: Any, covariance: Any) -> None:
    """Give a fitted classifier another covariance of its weights, or none."""
    model.model_ = replace(model.model_, covariance=covariance)


def set_history(model: Any, history: list[Any]) -> None:
    """Give a fitted classifier other records of its iterations."""
    model.training_ = replace(model.training_, history=history)
