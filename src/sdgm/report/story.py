"""The learning as a film: the arrays of `sdgm.report.arrays`, made from states and rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from sdgm._typing import BoolArray, FloatArray, IntArray
from sdgm.core.model.features import SQUARED_NORM, Monomials
from sdgm.core.model.fitted_model import FittedModel
from sdgm.core.model.gaussians import gaussian_from_weights
from sdgm.core.model.kernels import KernelBasis, PrecomputedBasis
from sdgm.core.model.state import State
from sdgm.estimators.base import BaseSDGM
from sdgm.estimators.quadratics import quadratic_weights, shared_form
from sdgm.report.arrays import Story
from sdgm.report.states import candidate_basis, component_identities, state_model
from sdgm.report.view import discriminant_view

# All that is kept is less than a megabyte together.
# frames of the film: it interpolates between them
MAX_FRAMES = 40
# markers; more would cover each other and the picture behind them
FILM_ROWS = 400
# weights whose lives are drawn: more lines than pixels cannot be distinguished
MAX_LINES = 300
# inputs to choose the axes from: six pairs
MAX_KEPT_FEATURES = 4
# bytes in all grids together, the largest part of the megabyte
GRID_NUMBERS = 400_000
# points along an axis of a grid: 40 frames of two classes have 164,000 bytes
GRID = 64
# part of the rows' range by which the plane is wider, so that no marker is cut
MARGIN = 0.08
# probabilities are kept to this power: then they change slowly enough to be interpolated
TEMPER = 1.0 / 3.0
# float32 holds it
LARGEST = 1e37


def film(classifier: Any, X: Any, y: Any) -> Story:
    """The story of a fit, for `sdgm.report`.

    Parameters
    ----------
    classifier : fitted classifier
        With ``record_states=True``; else only the rows are kept.
    X, y : the rows it was fitted to

    Returns
    -------
    story : dict from str to array
        Together less than a megabyte. Empty for classifiers that cannot be filmed.

    Examples
    --------
    >>> from sdgm import KernelSDGMClassifier
    >>> from sdgm.datasets import make_ripley
    >>> X, y, _, _ = make_ripley().split()
    >>> model = KernelSDGMClassifier(2, record_states=True, random_state=0, teacher=None)
    >>> model = model.fit(X, y)
    >>> story = film(model, X, y)
    >>> story["grid"].shape[1:], len(story["iteration"]) <= 40
    ((1, 64, 64), True)
    """
    classifier = getattr(classifier, "estimator_", classifier)
    X, y = check_array(X, dtype=np.float64), np.asarray(y)
    if not isinstance(classifier, BaseSDGM) or X.shape[1] != classifier.n_features_in_:
        return {}
    known = np.isin(y, classifier.classes_)
    y_index = np.searchsorted(classifier.classes_, y[known])
    rows = np.flatnonzero(known)
    if not len(rows) or isinstance(classifier.model_.basis, PrecomputedBasis):
        return {}
    kept = kept_rows(rows, y_index, getattr(classifier, "relevance_", np.arange(0)))
    codes = np.searchsorted(classifier.classes_, y[kept])
    features = kept_features(classifier, is_binary(X))
    story: Story = {
        "n_rows": np.array([len(X)]),
        "rows/index": kept.astype(np.int32),
        "rows/y": codes.astype(np.int32),
        "rows/features": features.astype(np.int32),
        "rows/x": as_float32(X[np.ix_(kept, features)]),
    }
    states = [record.state for record in classifier.history_ if record.state is not None]
    n_iter, n_left = len(classifier.history_), classifier.n_active_weights_
    if n_left == 0 and 0 < len(states) < n_iter:  # an iteration without weights keeps no state
        states.append(classifier.model_.state)
    if not states or len(states) < n_iter:
        return story
    basis = candidate_basis(classifier, X, y)
    if basis is not None and states[-1].n_weights != n_left:  # reduced to a budget at the end
        states.append(classifier.model_.among(basis))
    frames = film_iterations(len(states)) - 1
    story["iteration"] = (frames + 1).astype(np.int32)
    identities = component_identities(states)
    story |= mixture_story([states[i] for i in frames], [identities[i] for i in frames])
    if basis is None:
        return story
    models = [state_model(states[i], basis, classifier) for i in frames]
    story |= picture_story(classifier, models, X[kept], codes, kept)
    if X.shape[1] == 2:
        story |= plane_story(models, X, len(classifier.classes_))
        story |= ellipse_story(models, [identities[i] for i in frames], X)
    return story


def film_iterations(n_iter: int, n_frames: int = MAX_FRAMES) -> IntArray:
    """At most ``n_frames`` iterations from first to last, denser early, when most is removed.

    Examples
    --------
    >>> film_iterations(100, 7)
    array([  1,   2,   5,  10,  22,  46, 100])
    """
    if n_iter <= n_frames:
        return np.arange(1, n_iter + 1)
    # neighbours early on round to the same, so more than n_frames have to be asked for
    for wanted in range(3 * n_frames, n_frames - 1, -1):
        chosen = np.unique(np.geomspace(1.0, n_iter, wanted).round().astype(np.intp))
        if len(chosen) <= n_frames:
            break
    return chosen


def kept_rows(rows: IntArray, codes: IntArray, relevant: IntArray) -> IntArray:
    """At most `FILM_ROWS` rows, evenly from every class, relevance vectors among them."""
    if len(rows) <= FILM_ROWS:
        return rows
    order = np.argsort(codes, kind="stable")
    evenly = order[np.linspace(0, len(order) - 1, FILM_ROWS).round().astype(np.intp)]
    wanted = np.intersect1d(rows, relevant)[: FILM_ROWS // 4]
    others = np.setdiff1d(rows[evenly], wanted)
    drop = max(len(others) + len(wanted) - FILM_ROWS, 0)
    left_out = np.linspace(0, len(others) - 1, drop).round().astype(np.intp)
    return np.union1d(wanted, np.delete(others, left_out))


def kept_features(classifier: Any, binary: BoolArray) -> IntArray:
    """The features worth a picture: the weightiest in use, binary ones last."""
    D, basis = classifier.n_features_in_, classifier.model_.basis
    if D <= 2:
        return np.arange(D)
    weight = np.zeros(D)
    if isinstance(basis, Monomials):
        sizes = np.abs(classifier.coef_).max(axis=0, initial=0.0)
        for i, j, size in zip(basis.first, basis.second, sizes, strict=True):
            if i == SQUARED_NORM:
                weight += size / D
            else:
                for factor in {int(i), int(j)} - {-1}:
                    weight[factor] += size
    elif isinstance(basis, KernelBasis) and len(basis.vectors):
        # what a component says changes most along inputs in which its vectors lie far out
        sizes = np.abs(classifier.coef_).sum(axis=0)
        weight = sizes @ np.abs(basis.vectors)
    used = np.flatnonzero(weight > 0.0)
    return np.sort(used[np.lexsort([-weight[used], binary[used]])][:MAX_KEPT_FEATURES])


def is_binary(X: FloatArray) -> BoolArray:
    """Which columns hold zeros and ones only."""
    return np.asarray(np.isin(X, (0.0, 1.0)).all(axis=0))


def mixture_story(states: list[State], identities: list[IntArray]) -> Story:
    """Mixture weights and precisions, each in a column of its own from first to last."""
    first = states[0]
    K = 1 + max(int(ids.max()) for ids in identities)
    pi = np.full((len(states), K), np.nan)
    n_columns = 1 + max(int(state.column.max(initial=0)) for state in states)
    keys = [
        ids[state.component] * n_columns + state.column
        for ids, state in zip(identities, states, strict=True)
    ]
    for row, ids, state in zip(pi, identities, states, strict=True):
        row[ids] = state.pi
    everyone = np.unique(np.concatenate(keys))
    alpha = np.full((len(states), len(everyone)), np.nan)
    for row, key, state in zip(alpha, keys, states, strict=True):
        row[np.searchsorted(everyone, key)] = np.log10(np.maximum(state.alpha, 1e-300))
    chosen = chosen_lines(alpha)
    return {
        "pi": as_float32(pi),
        "component_class": first.component_class.astype(np.int32),
        "alpha": as_float32(alpha[:, chosen]),
        "alpha/component": (everyone[chosen] // n_columns).astype(np.int32),
        "alpha/count": np.array([first.n_weights]),
    }


def chosen_lines(alpha: FloatArray) -> IntArray:
    """All weights that are left at the end, and others evenly by when they leave and how far."""
    lives = np.isfinite(alpha)
    last = len(alpha) - 1 - lives[::-1].argmax(axis=0)
    final = alpha[last, np.arange(alpha.shape[1])]
    order = np.lexsort([final, -last])
    n_left = int(lives[-1].sum())
    rest = order[n_left:]
    room = max(MAX_LINES - n_left, 0)
    if len(rest) > room:
        rest = rest[np.linspace(0, len(rest) - 1, room).round().astype(np.intp)]
    return np.concatenate([order[:n_left][:MAX_LINES], rest])


def picture_story(
    classifier: Any, models: list[FittedModel], rows: FloatArray, codes: IntArray, kept: IntArray
) -> Story:
    """What every frame says about the kept rows, and where they are in the picture."""
    P = [np.exp(model.log_proba(rows)) for model in models]
    view = rows
    if rows.shape[1] != 2:
        view = discriminant_view(classifier.model_.scaler.standardized(rows), codes)
    small = np.uint8 if len(classifier.classes_) < 256 else np.int32
    story: Story = {
        "view": as_float32(view),
        "rows/class": np.array([each.argmax(axis=1) for each in P]).astype(small),
        "rows/confidence": as_bytes(np.array([each.max(axis=1) for each in P])),
    }
    bases = [model.basis for model in models if isinstance(model.basis, KernelBasis)]
    if bases:
        used = [np.isin(kept, basis.user_rows) for basis in bases]
        story["rows/vector"] = np.array(used).astype(np.uint8)
    return story


def plane_story(models: list[FittedModel], X: FloatArray, n_classes: int) -> Story:
    """Class probabilities on a grid of the plane, frame by frame."""
    low, high = X.min(axis=0), X.max(axis=0)
    room = np.where(high > low, MARGIN * (high - low), 1.0)
    low, high = low - room, high + room
    size = int(min(GRID, (GRID_NUMBERS / (len(models) * (n_classes - 1))) ** 0.5))
    if size < GRID // 4:  # too many classes to be seen
        return {}
    points = np.stack(np.meshgrid(*np.linspace(low, high, size).T), axis=-1).reshape(-1, 2)
    grid = np.empty((len(models), n_classes - 1, size, size), dtype=np.uint8)
    for frame, model in zip(grid, models, strict=True):
        tempered = np.exp(model.log_proba(points)) ** TEMPER
        tempered /= tempered.sum(axis=1, keepdims=True)
        frame[...] = as_bytes(tempered[:, 1:].T.reshape(frame.shape))
    return {"limits": np.array([low[0], high[0], low[1], high[1]]), "grid": grid}


def ellipse_story(models: list[FittedModel], identities: list[IntArray], X: FloatArray) -> Story:
    """Means and covariances of the components, as `ComponentsDisplay` draws them."""
    K = len(identities[0])
    mean = np.full((len(models), K, 2), np.nan)
    covariance = np.full((len(models), K, 3), np.nan)
    for i, (model, ids) in enumerate(zip(models, identities, strict=True)):
        try:
            w = quadratic_weights(model)
            gaussian = gaussian_from_weights(w + shared_form(w, X), 2)
        except (ValueError, np.linalg.LinAlgError):  # not quadratic, or not Gaussian
            continue
        mean[i, ids] = gaussian.mean
        covariance[i, ids] = gaussian.covariance[:, [0, 0, 1], [0, 1, 1]]
    if not np.isfinite(mean[-1, identities[-1]]).all():
        return {}
    return {"mean": as_float32(mean), "covariance": as_float32(covariance)}


def as_float32(a: FloatArray) -> np.ndarray[Any, Any]:
    """Half the bytes; numbers that do not fit are moved in."""
    return np.clip(a, -LARGEST, LARGEST).astype(np.float32)


def as_bytes(P: FloatArray) -> np.ndarray[Any, Any]:
    """Probabilities as 0 to 255."""
    return np.rint(255.0 * P).astype(np.uint8)
