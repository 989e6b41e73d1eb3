"""A fitted classifier as a layer, and a layer as a classifier."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from sdgm import SDGMClassifier
from sdgm.nn import SDGM, compact, from_classifier, to_classifier
from tests.nn.problems import random_layer

IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical", "tied"])
@pytest.mark.parametrize("settings", [{}, {"preset": "paper"}, {"prior": "ridge"}], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_classifier_becomes_a_layer_with_equal_probabilities(
    covariance_type: str, settings: dict
) -> None:
    labels = np.array(["a", "b", "c"])[SPECIES]
    model = SDGMClassifier(
        2, covariance_type=covariance_type, random_state=0, max_iter=30, **settings, teacher=None
    )
    model.fit(IRIS, labels)
    layer = from_classifier(model, dtype=torch.float64)
    expected = model.predict_proba(IRIS)
    P = layer.log_prob(torch.as_tensor(IRIS)).exp().detach().numpy()
    np.testing.assert_allclose(P, expected, atol=1e-10)
    back = to_classifier(layer, model.classes_)
    np.testing.assert_allclose(back.predict_proba(IRIS), expected, atol=1e-10)
    assert back.score(IRIS, labels) == model.score(IRIS, labels)
    if covariance_type != "spherical":  # whose squared norm is several weights of the layer
        assert int(layer.mask.sum()) == model.model_.active[:, 1:].sum()
        assert set(back.terms_) == set(model.terms_[(model.coef_ != 0).any(axis=0)])


def test_the_layer_can_carry_noise_and_still_evaluates_to_the_same() -> None:
    model = SDGMClassifier(1, random_state=0, teacher=None).fit(IRIS, SPECIES)
    layer = from_classifier(model, sparse=True, dtype=torch.float64).eval()
    P = layer.log_prob(torch.as_tensor(IRIS)).exp().detach().numpy()
    np.testing.assert_allclose(P, model.predict_proba(IRIS), atol=1e-10)
    assert torch.equal(layer.kept, layer.mask)


@pytest.mark.parametrize("covariance_type", ["full", "diag", "tied"])
def test_a_pruned_layer_becomes_a_classifier_with_equal_probabilities(covariance_type: str) -> None:
    layer = random_layer(3, 3, [1, 3, 2], covariance_type).eval()
    layer.averages_noise = False
    layer.alive[2] = False
    layer.mask[3:5] = False
    model = to_classifier(layer, ["x", "y", "z"])
    x = 3.0 + 2.0 * torch.randn(20, 3, dtype=torch.float64)
    P = model.predict_proba(x.numpy())
    np.testing.assert_allclose(P, layer.log_prob(x).exp().detach().numpy(), atol=1e-10)
    assert set(model.predict(x.numpy())) <= {"x", "y", "z"}
    again = from_classifier(model, dtype=torch.float64)
    np.testing.assert_allclose(P, again.log_prob(x).exp().detach().numpy(), atol=1e-10)


def test_labels_in_any_order_belong_to_the_classes_of_the_layer() -> None:
    layer = random_layer(3, 3, [1, 3, 2], "full").eval()
    layer.averages_noise = False
    x = 3.0 + 2.0 * torch.randn(20, 3, dtype=torch.float64)
    P = layer.log_prob(x).exp().detach().numpy()
    covariance = np.diag(np.arange(1.0, 1 + to_classifier(layer).model_.state.n_weights))
    model = to_classifier(layer, ["y", "z", "x"], covariance=covariance)
    assert model.classes_.tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(model.predict_proba(x.numpy()), P[:, [2, 0, 1]], atol=1e-12)
    assert model.predict(x.numpy()).tolist() == np.array(["y", "z", "x"])[P.argmax(axis=1)].tolist()
    # every weight keeps its variance
    plain = to_classifier(layer, covariance=covariance)
    variance = np.diag(plain.covariance_)[np.argsort(plain.model_.state.w)]
    np.testing.assert_array_equal(
        np.diag(model.covariance_)[np.argsort(model.model_.state.w)], variance
    )


def test_what_was_a_layer_can_be_saved_described_and_reported(tmp_path: Path) -> None:
    for name in ("msgspec", "safetensors", "jinja2"):
        pytest.importorskip(name)
    import sdgm
    from sdgm.description import describe
    from sdgm.export import to_c
    from sdgm.report import write_report

    model = to_classifier(random_layer(3, 2, [1, 2], "full").eval(), ["no", "yes"])
    assert (model.history_, model.n_iter_, model.stop_reason_) == ([], 0, "learned elsewhere")
    sdgm.save(model, tmp_path / "layer.sdgm")
    again = sdgm.load(tmp_path / "layer.sdgm")
    np.testing.assert_array_equal(
        again.predict_proba(IRIS[:, :3]), model.predict_proba(IRIS[:, :3])
    )
    assert describe(model).n_weights == model.n_active_weights_
    assert "yes" in describe(again).text(80)
    page = write_report(again, tmp_path / "layer.html").read_text()
    assert "learned elsewhere" in page and "yes" in page
    assert to_c(model).flash_bytes > 0
    with pytest.raises(ValueError, match="warm_start cannot continue from the weights of a layer"):
        again.set_params(warm_start=True).fit(IRIS[:, :3], np.where(SPECIES > 0, "yes", "no"))


def test_what_a_classifier_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="covariance_type='low_rank'"):
        to_classifier(SDGM(2, 2, covariance_type="low_rank"))
    with pytest.raises(ValueError, match="3 labels for the 2 classes"):
        to_classifier(SDGM(2, 2), ["a", "b", "c"])
    with pytest.raises(TypeError, match="takes an SDGM layer, got CompactSDGM"):
        to_classifier(compact(SDGM(2, 2)))
    with pytest.raises(NotFittedError):
        from_classifier(SDGMClassifier())
