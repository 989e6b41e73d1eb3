"""Heads that are fitted, not trained: the closed form or a sparse student of it, as a layer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from torch import Tensor, nn

from sdgm._typing import FloatArray, IntArray
from sdgm.core.data.rows import CANONICAL_ROWS
from sdgm.estimators.primal import SDGMClassifier
from sdgm.nn.bridge import from_classifier
from sdgm.nn.extraction import as_array
from sdgm.nn.layer import SDGM
from sdgm.nn.quadratic_ridge import (
    RATE,
    LowRankScores,
    QuadraticScores,
    confined,
    fit_scores,
)
from sdgm.scale.sampling import (
    SAMPLE_ROWS,
    Picked,
    blocked_table,
    drawn_sample,
    hand_back,
    rows_by_class,
)

# directions of the quadratic part: on the features of PACS 32, 64, 128 and all 1,280 have log
# losses of .435, .423, .416 and .413; the layer has rank x 1,280 weights for them
RANK = 64
# directions that a student sees, 500 candidate columns: with 54 it takes three times as long, for
# .435 in place of .441
STUDENT_RANK = 24
# of the sample of many rows: any will do, so long as it stays the same
SEED = 0


class Compression(nn.Module):
    """``asinh(rate x)``: linear near zero and logarithmic far from zero.

    Parameters
    ----------
    rate : float

    Examples
    --------
    >>> Compression(2.0)(torch.tensor([0.0, 100.0]))
    tensor([0.0000, 5.9915])
    """

    rate: Tensor

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.register_buffer("rate", torch.tensor(rate))

    def forward(self, x: Tensor) -> Tensor:
        """Compressed features, of the same shape."""
        return torch.asinh(x * self.rate)


def fit_head(
    features: Any,
    labels: Any,
    *,
    num_classes: int | None = None,
    student: SDGMClassifier | None = None,
    rank: int | None = None,
    compress: bool | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> nn.Sequential:
    """Fit a head to the features of a backbone, in closed form.

    A quadratic score per class is fitted by kernel ridge regression, with hyperparameters chosen by
    exact leave-one-out. With more than ``rank`` features, products are restricted to a subspace of
    ``rank`` dimensions; the linear part uses all features. With more than 16,384 rows, a sample of
    about as many is used to choose the hyperparameters and to fit a student, and all rows are read
    in blocks. So features in a file (`extract_features` with a path) need not fit in memory.

    Parameters
    ----------
    features : (N, D) tensor or array
        Output of the backbone, see `extract_features`; a memory-mapped array is read in blocks. No
        scaling is needed.
    labels : (N,) integer tensor or array
        From 0 to C - 1, with at least one row of every class.
    num_classes : int, optional
        C; by default one more than the largest label.
    student : SDGMClassifier, optional
        An unfitted classifier that gives the head sparse weights. It is distilled from the
        closed-form fit, unless its ``teacher`` is set otherwise. With at most ``rank`` features it
        is fitted to the features, otherwise to the linear scores of the classes and ``rank``
        directions.
    rank : int, optional
        By default 64, or 24 with a student.
    compress : bool, optional
        Whether features are first transformed by ``asinh``, which compresses large values; by
        default this is chosen from the data.
    device, dtype :
        As in `torch.nn.Linear`.

    Returns
    -------
    head : Sequential
        Maps features to logits; in evaluation mode. Its last module is an `SDGM` layer, which may
        follow a `Compression` and, with a student and many features, a linear layer.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> head = fit_head(X[::2], y[::2], rank=16)
    >>> head[-1].covariance_type, head[-1].rank
    ('low_rank', 16)
    >>> guess = head(torch.as_tensor(X[1::2]).float()).argmax(dim=1)
    >>> bool((guess.numpy() == y[1::2]).mean() > 0.97)
    True
    """
    X, y, n_classes = checked_rows(features, labels, num_classes)
    if student is not None and not isinstance(student, SDGMClassifier):
        raise TypeError(f"student must be an SDGMClassifier, got {type(student).__name__}.")
    if rank is None:
        rank = RANK if student is None else STUDENT_RANK
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 1:
        raise ValueError(f"rank must be an integer of at least 1, got {rank!r}.")
    table = blocked_table(X, y, np.broadcast_to(1.0, len(y)), n_threads=1)
    size = table.total(lambda block: np.abs(block.Z).sum(axis=0), X.shape[1]).sum() / X.size
    plain, squeezed = 0.0, RATE / float(size)
    rates = {True: [squeezed], False: [plain], None: [squeezed, plain]}[compress]
    sample = drawn_sample(table, rows_by_class(table, n_classes), SAMPLE_ROWS, SEED)
    scores = fit_scores(table, sample, n_classes, rates)
    kind: dict[str, Any] = {"device": device, "dtype": dtype}
    modules: list[nn.Module] = []
    if scores.inputs.rate:
        modules.append(Compression(scores.inputs.rate).to(**kind))
    if student is None:
        modules.append(layer_of(confined(scores, min(int(rank), X.shape[1])), **kind))
    else:
        modules += taught(student, scores, int(rank), sample, **kind)
    return nn.Sequential(*modules).eval()


def checked_rows(
    features: Any, labels: Any, num_classes: int | None
) -> tuple[FloatArray, IntArray, int]:
    """Finite features (N, D) as they are given, labels (N,) and the number of classes."""
    X, y = as_array(features), as_array(labels)
    if X.ndim != 2 or not X.size:
        raise ValueError(f"features must have shape (N, D) with N and D above 0, got {X.shape}.")
    if X.dtype.kind not in "fiu":
        raise ValueError(f"features must be real numbers, got {X.dtype}.")
    varies, finite = False, []
    for first in range(0, len(X), CANONICAL_ROWS):
        block = X[first : first + CANONICAL_ROWS]
        finite.append(np.isfinite(block).all(axis=1))
        varies = varies or bool((block != X[0]).any())
        if isinstance(X, np.memmap):
            hand_back(X)
    bad = np.flatnonzero(~np.concatenate(finite))
    if len(bad):
        raise ValueError(
            f"features are not finite in {len(bad)} rows, row {bad[0]} the first; look for NaN or "
            "infinity in its input, and at the backbone's precision."
        )
    if y.shape != X.shape[:1]:
        raise ValueError(f"labels have shape {y.shape} for {len(X)} rows of features; one per row.")
    if y.dtype.kind not in "iu":
        raise ValueError(f"labels must be integers from 0 on, got {y.dtype}; number the classes.")
    y = y.astype(np.intp)
    C = int(y.max()) + 1 if num_classes is None else num_classes
    if y.min() < 0 or y.max() >= C:
        wrong = y[(y < 0) | (y >= C)][0]
        raise ValueError(f"labels must be from 0 to {C - 1}, got {wrong}; leave its rows out.")
    missing = np.flatnonzero(np.bincount(y, minlength=C) == 0)
    if len(np.unique(y)) < 2:
        raise ValueError(f"all labels are {y[0]}; a head needs rows of at least two classes.")
    if len(missing):
        raise ValueError(
            f"class {missing[0]} has no rows, of {C} classes; number those that have from 0 on."
        )
    if not varies:
        raise ValueError("all rows of features are equal; look at the backbone and its weights.")
    return X, y, C


@torch.no_grad()
def layer_of(scores: LowRankScores, **kind: Any) -> SDGM:
    """The scores as a layer of compressed features; not projected where all directions are left."""
    r, D = scores.projection.shape
    C, P = len(scores.constant), scores.projection
    is_full = r == D
    shape = {"covariance_type": "full"} if is_full else {"covariance_type": "low_rank", "rank": r}
    layer = SDGM(D, C, sparse=False, **shape, **kind)
    forms = P.T @ scores.forms @ P if is_full else scores.forms
    i, j = np.triu_indices(r)
    products = forms[:, i, j] * np.where(i == j, 1.0, 2.0)
    layer.weight.copy_(torch.as_tensor(np.column_stack([scores.linear.T, products])))
    assert layer.bias is not None
    layer.bias.copy_(torch.as_tensor(scores.constant))
    if layer.projection is not None:
        layer.projection.copy_(torch.as_tensor(P))
    layer.center.copy_(torch.as_tensor(scores.inputs.center))
    layer.inverse_scale.fill_(scores.inputs.inverse_scale)
    layer.scales_itself = False
    return layer


class QuadraticTeacher(ClassifierMixin, BaseEstimator):
    """The closed form as a teacher: ``softmax(constant_c + z'linear_c + z'form_c z)``."""

    def __init__(self, constant: FloatArray, linear: FloatArray, forms: FloatArray) -> None:
        self.constant, self.linear, self.forms = constant, linear, forms
        self.classes_ = np.arange(len(constant))

    def fit(self, X: Any, y: Any) -> Self:
        """Nothing: it is fitted."""
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Probabilities of the classes: (n, C)."""
        squares = np.einsum("ni,cij,nj->nc", X, self.forms, X, optimize=True)
        P: FloatArray = softmax(self.constant + X @ self.linear + squares, axis=1)
        return P


def taught(
    student: SDGMClassifier,
    scores: QuadraticScores,
    rank: int,
    sample: Picked,
    **kind: Any,
) -> list[nn.Module]:
    """A student of the closed form, as layers of compressed features."""
    inputs, D = scores.inputs, len(scores.covariance)
    low_rank, Z = confined(scores, min(rank, D)), inputs(sample.X)
    P, linear = None, low_rank.linear
    rows = low_rank.projection  # the directions in terms of what the student sees
    if rank < D:
        # it sees the linear part of every class as one column, then the directions
        size = np.sqrt(np.einsum("dc,de,ec->c", linear, scores.covariance, linear, optimize=True))
        size[size == 0.0] = 1.0
        P, C = np.concatenate([(linear / size).T, rows]), len(size)
        Z, linear, rows = Z @ P.T, np.eye(len(P), C) * size, np.eye(len(P))[C:]

    copy: SDGMClassifier = clone(student)
    if isinstance(copy.teacher, str):
        teacher = QuadraticTeacher(low_rank.constant, linear, rows.T @ low_rank.forms @ rows)
        copy.set_params(teacher=FrozenEstimator(teacher))
    layer = from_classifier(copy.fit(Z, sample.y, sample_weight=sample.s), **kind)
    with torch.no_grad():
        if P is None:  # the student's scaling, of z = (x - center) inverse_scale, as one of x
            layer.center.div_(inputs.inverse_scale).add_(torch.as_tensor(inputs.center))
            layer.inverse_scale.mul_(inputs.inverse_scale)
            return [layer]
        A = inputs.inverse_scale * P
        projection = nn.Linear(D, len(A), **kind)
        projection.weight.copy_(torch.as_tensor(A))
        projection.bias.copy_(torch.as_tensor(-A @ inputs.center))
    return [projection, layer]
