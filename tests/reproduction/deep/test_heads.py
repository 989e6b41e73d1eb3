"""The heads to compare with."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.stats import multivariate_normal

from reproduction.deep.baseline_heads import LGM, L1Softmax, LargeMarginSoftmax
from reproduction.deep.heads import Head, head_groups, head_penalty, head_scores, make_head
from sdgm.nn import SDGM, ELBOLoss, parameter_groups


@pytest.mark.parametrize("name", list(Head))
def test_every_head_trains_and_evaluates(name: str) -> None:
    torch.manual_seed(0)
    head = make_head(name, 4, 3)
    x, y = torch.randn(8, 4), torch.arange(8) % 3
    loss = ELBOLoss(head, n_train=8)
    scores = head_scores(head, x, y)
    (loss(scores, y) + head_penalty(head, scores, y)).backward()
    for parameter in head.parameters():
        assert parameter.grad is not None and bool(parameter.grad.isfinite().all())
    head.eval()
    torch.testing.assert_close(head_scores(head, x, y), head(x))  # labels have no say
    assert head(x).shape == (8, 3)


def test_the_discriminative_mixture_is_the_layer_without_noise() -> None:
    head = make_head("dgmm", 2, 3, n_components=2)
    assert isinstance(head, SDGM) and head.log_sigma2 is None
    with pytest.raises(ValueError, match="head must be one of 'softmax'"):
        make_head("maxout", 2, 3)


@pytest.mark.parametrize("margin", [1, 2, 3, 4])
def test_the_margin_function_is_that_of_the_definition(margin: int) -> None:
    angle = torch.linspace(0.01, math.pi - 0.01, 200, dtype=torch.float64)
    k = (angle * margin / math.pi).floor()
    expected = (-1.0) ** k * (margin * angle).cos() - 2.0 * k
    head = LargeMarginSoftmax(2, 3, margin=margin)
    psi = head._psi(angle.cos())
    torch.testing.assert_close(psi, expected, atol=1e-9, rtol=0.0)
    assert bool((psi.diff() < 0).all())  # falls over the whole range, and is below the cosine
    assert bool((psi <= angle.cos() + 1e-12).all())


def test_large_margin_changes_the_own_score_alone_and_grows_with_the_steps() -> None:
    torch.manual_seed(0)
    head = LargeMarginSoftmax(3, 4, margin=3, warmup=10, blend=0.5)
    x, y = torch.randn(6, 3), torch.tensor([0, 1, 2, 3, 0, 1])
    plain = head(x)
    first = head(x, y)
    own = F.one_hot(y, 4).bool()
    torch.testing.assert_close(first[~own], plain[~own])
    torch.testing.assert_close(first, plain, atol=0.02, rtol=0.02)  # next to no margin yet
    for _ in range(10):
        last = head(x, y)
    assert head._lambda().item() == pytest.approx(0.5)
    assert bool((last[own] < first[own]).all())
    with pytest.raises(ValueError, match="positive integer"):
        LargeMarginSoftmax(2, 2, margin=0)


def test_large_margin_has_finite_gradients_at_the_origin() -> None:
    head = LargeMarginSoftmax(2, 3, margin=4)
    x = torch.zeros(2, 2, requires_grad=True)
    head(x, torch.tensor([0, 1])).sum().backward()
    assert x.grad is not None and bool(x.grad.isfinite().all())


@pytest.mark.parametrize("covariance", ["identity", "diag"])
def test_lgm_scores_are_log_densities_and_its_penalty_is_their_mean(covariance: str) -> None:
    torch.manual_seed(0)
    head = LGM(2, 3, margin=0.4, likelihood=0.2, covariance=covariance).double()
    variance = np.ones((3, 2))
    if head.log_variance is not None:
        torch.nn.init.normal_(head.log_variance)
        variance = head.log_variance.detach().exp().numpy()
    x, y = torch.randn(5, 2, dtype=torch.float64), torch.tensor([0, 1, 2, 0, 1])
    mean = head.mean.detach().numpy()
    density = np.stack(
        [multivariate_normal(mean[c], np.diag(variance[c])).logpdf(x.numpy()) for c in range(3)],
        axis=1,
    ) + math.log(2 * math.pi)
    torch.testing.assert_close(head.eval()(x).detach(), torch.as_tensor(density))
    head.train()
    with_margin = head(x, y)
    own = density[np.arange(5), y]
    penalty = head.penalty(with_margin, y).item()
    assert penalty == pytest.approx(-0.2 * own.mean())
    distance = -own - 0.5 * np.log(variance).sum(axis=1)[y]
    expected = own - 0.4 * distance
    np.testing.assert_allclose(with_margin.detach().numpy()[np.arange(5), y], expected)


def test_l1_weights_close_to_zero_are_pruned() -> None:
    head = L1Softmax(2, 2)
    with torch.no_grad():
        head.linear.weight.copy_(torch.tensor([[1e-5, 0.5], [-2e-4, -0.5]]))
    head.prune()
    assert head.linear.weight.tolist() == [[0.0, 0.5], [0.0, -0.5]]


def test_the_penalty_of_lgm_takes_a_margin_back_only_where_there_was_one() -> None:
    torch.manual_seed(0)
    head = LGM(2, 3, margin=0.5)
    x, y = torch.randn(5, 2), torch.tensor([0, 1, 2, 0, 1])
    plain, without = head(x), head.penalty(head(x), y)
    with_margin = head.penalty(head(x, y), y)
    torch.testing.assert_close(without, with_margin)
    assert not torch.equal(plain, head(x, y))


def test_lgm_does_not_overflow_in_mixed_precision() -> None:
    head = LGM(2, 3)
    x = torch.full((4, 2), 1000.0)
    with torch.autocast("cpu", dtype=torch.float16):
        scores = head(x.half())
    torch.testing.assert_close(scores, head(x))
    assert bool(scores.isfinite().all())


def test_class_probabilities_are_refused_by_heads_with_a_margin() -> None:
    x, y = torch.zeros(2, 2), torch.full((2, 3), 1 / 3)
    for head in (LGM(2, 3), LargeMarginSoftmax(2, 3)):
        with pytest.raises(ValueError, match="needs the index of each sample's class"):
            head(x, y)
    lgm = LGM(2, 3)
    with pytest.raises(ValueError, match="LGM needs the index"):
        head_penalty(lgm, lgm(x), y)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("softmax_l1", {"l1": -1.0}),
        ("large_margin", {"warmup": -1}),
        ("lgm", {"margin": -0.1}),
        ("lgm", {"likelihood": math.nan}),
    ],
)
def test_negative_settings_are_refused(name: str, wrong: dict) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be a number of at least 0"):
        make_head(name, 2, 3, **wrong)


def test_the_penalty_of_l1_is_the_sum_of_absolute_weights() -> None:
    head = L1Softmax(2, 3, l1=0.5)
    scores, y = head(torch.randn(4, 2)), torch.zeros(4).long()
    penalty = head_penalty(head, scores, y)
    torch.testing.assert_close(penalty, 0.5 * head.linear.weight.abs().sum())
    assert penalty > 0.0 and head_penalty(head.linear, scores, y) == 0.0


def test_the_means_of_lgm_have_a_group_of_their_own() -> None:
    (means,) = head_groups(LGM(2, 3), 1e-3, weight_decay=0.1)
    assert (means["name"], means["weight_decay"]) == ("means", 0.0)
    assert means["lr"] == pytest.approx(1e-2)
    lgm = LGM(2, 3, covariance="diag")
    groups = {group["name"]: group for group in head_groups(lgm, 1e-3, weight_decay=0.1)}
    assert groups["means"]["params"] == [lgm.mean]
    assert groups["weights"]["params"] == [lgm.log_variance]
    linear = torch.nn.Linear(2, 3)
    assert head_groups(linear, 1e-3) == parameter_groups(linear, 1e-3)
