"""Trees, forests, boosted trees, FIGS, rule lists and additive models along their sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.size.small import Small

LARGEST = 1_000  # numbers
LEAVES = (2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40, 55, 75, 100, 140, 200, 300, 500)
SMALLEST_LEAF = (1, 5)
FOREST_TREES, FOREST_LEAVES = (1, 2, 3, 5, 8, 12, 20, 30, 50), (2, 4, 8, 16, 32)
BOOSTED_LEAVES, RATES = (2, 4, 8), (0.1, 0.3, 1.0)
STAGES = (1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 45, 65, 95, 140, 200, 330)
RULES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
SHARPER = (1.0, 20.0)  # inverse temperatures of FIGS
LIST_RULES = (1, 2, 3, 4, 6, 8, 12, 16)
BINS, BAGS = (3, 4, 6, 10, 18, 34), 4


def smoothed(tree: Any, X: Any) -> Any:
    """Probabilities of a tree's leaves by Laplace's rule: none of them is zero."""
    nodes = tree.tree_
    counts = nodes.value[:, 0] * nodes.weighted_n_node_samples[:, None]
    P = (counts + 1.0) / (counts + 1.0).sum(axis=1, keepdims=True)
    return P[tree.apply(X)]


def size_of(tree: Any, per_leaf: int) -> tuple[int, int]:
    """Thresholds and values of the leaves; an input and a child at every split."""
    splits = int(tree.node_count - tree.n_leaves)
    return splits + per_leaf * int(tree.n_leaves), 2 * splits


def decision_tree(X: Any, y: Any, seed: int) -> Iterator[Small]:
    C = int(y.max()) + 1
    for leaves, fewest in product(LEAVES, SMALLEST_LEAF):
        tree = DecisionTreeClassifier(
            max_leaf_nodes=leaves, min_samples_leaf=fewest, random_state=seed
        ).fit(X, y)
        yield Small(f"{leaves} leaves of {fewest}", *size_of(tree.tree_, C - 1),
                    partial(smoothed, tree))  # fmt: skip


def random_forest(X: Any, y: Any, seed: int) -> Iterator[Small]:
    """The first few trees of a forest are a forest."""
    C = int(y.max()) + 1
    for leaves in FOREST_LEAVES:
        forest = RandomForestClassifier(
            FOREST_TREES[-1], max_leaf_nodes=leaves, random_state=seed
        ).fit(X, y)
        for n in FOREST_TREES:
            trees = forest.estimators_[:n]
            sizes = np.sum([size_of(tree.tree_, C - 1) for tree in trees], axis=0).tolist()
            yield Small(f"{n} trees of {leaves} leaves", *sizes, partial(mean_of, trees))


def mean_of(trees: Any, X: Any) -> Any:
    return np.mean([smoothed(tree, X) for tree in trees], axis=0)


def boosted_trees(X: Any, y: Any, seed: int) -> Iterator[Small]:
    """The first few stages of boosting are boosting."""
    C = int(y.max()) + 1
    per_stage = 1 if C == 2 else C
    for leaves, rate in product(BOOSTED_LEAVES, RATES):
        room = LARGEST // (per_stage * (2 * leaves - 1))
        stages = [n for n in STAGES if n <= max(room, 1)]
        model = GradientBoostingClassifier(
            n_estimators=stages[-1], learning_rate=rate, max_depth=None, max_leaf_nodes=leaves,
            random_state=seed,
        ).fit(X, y)  # fmt: skip
        for n in stages:
            sizes = [size_of(tree.tree_, 1) for tree in model.estimators_[:n].ravel()]
            numbers, indices = np.sum(sizes, axis=0).tolist()
            setting = f"{n} x {leaves} leaves, rate {rate:g}"
            yield Small(setting, numbers + C - 1, indices, partial(at_stage, model, n))


def at_stage(model: Any, n: int, X: Any) -> Any:
    return next(P for stage, P in enumerate(model.staged_predict_proba(X), 1) if stage == n)


def figs(X: Any, y: Any, seed: int) -> Iterator[Small]:
    """Sums of few trees."""
    from imodels import FIGSClassifier

    C = int(y.max()) + 1
    for rules in RULES:
        model = FIGSClassifier(max_rules=rules, random_state=seed).fit(X, y)
        splits, leaves = np.sum([counts(tree) for tree in model.trees_], axis=0).tolist()
        numbers = splits + leaves * (1 if C == 2 else C)
        proba = model.predict_proba
        yield Small(f"{rules} rules", numbers, 2 * splits, proba)
        # a softmax of what are probabilities already; one more number makes them sharper
        sharper = floored(sharpened(proba, X, y), y)
        yield Small(f"{rules} rules, sharpened", numbers + 1, 2 * splits, sharper)


def counts(node: Any) -> tuple[int, int]:
    """Splits and leaves below a node of FIGS."""
    if node.left is None:
        return 0, 1
    (a, b), (c, d) = counts(node.left), counts(node.right)
    return 1 + a + c, b + d


def rule_list(X: Any, y: Any, seed: int) -> Iterator[Small]:
    """One list per class, or one where there are two."""
    from imodels import GreedyRuleListClassifier

    for depth in LIST_RULES:
        model = GreedyRuleListClassifier(max_depth=depth)
        several = y.max() > 1
        model = (OneVsRestClassifier(model) if several else model).fit(X, y)
        lists = [each.rules_ for each in (model.estimators_ if several else [model])]
        # a threshold and a probability of each, and what is left at the end
        rules = sum(len(each) for each in lists)
        yield Small(f"{depth} rules", 2 * rules + len(lists), rules,
                    floored(model.predict_proba, y))  # fmt: skip


def sharpened(proba: Callable[[Any], Any], X: Any, y: Any) -> Callable[[Any], Any]:
    """Probabilities with the one temperature that suits the training rows best."""
    log_P = np.log(proba(X))

    def loss(factor: float) -> float:
        return -float(log_softmax(factor * log_P, axis=1)[np.arange(len(y)), y].mean())

    factor = minimize_scalar(loss, bounds=SHARPER, method="bounded").x
    return lambda X: softmax(factor * np.log(proba(X)), axis=1)


def floored(proba: Callable[[Any], Any], y: Any) -> Callable[[Any], Any]:
    """Probabilities at least as large as that of a class never seen by Laplace's rule."""
    return lambda X: np.maximum(proba(X), 1.0 / (len(y) + y.max() + 1.0))


def additive(X: Any, y: Any, seed: int) -> Iterator[Small]:
    """Explainable boosting machines without interactions: a step function per input."""
    from interpret.glassbox import ExplainableBoostingClassifier

    C = int(y.max()) + 1
    per_value = 1 if C == 2 else C

    def fitted(bins: int, bags: int, **how: Any) -> Any:
        return ExplainableBoostingClassifier(
            max_bins=bins, interactions=0, outer_bags=bags, n_jobs=1, random_state=seed,
            feature_types=["continuous"] * X.shape[1], **how,
        ).fit(X, y)  # fmt: skip

    for bins in BINS:
        # the bins are there before the first round
        cuts = [len(each[0]) for each in fitted(bins, bags=1, max_rounds=1).bins_]
        numbers = sum(n + (n + 1) * per_value for n in cuts) + C - 1
        if numbers > LARGEST:
            return
        if any(cuts):
            proba = fitted(bins, BAGS).predict_proba
            yield Small(f"{bins} bins", numbers, len(cuts), proba)
