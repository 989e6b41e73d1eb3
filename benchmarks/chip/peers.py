"""Classifiers of emlearn, m2cgen and micromlgen in C, defining ``ask``, along their own sizes.

Scaling of inputs is done beforehand and costs them nothing: whole numbers of 16 bits for trees,
standardised numbers for networks, mixtures and machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

# the range of trees' inputs, with some room for rows beyond the training rows
LARGEST_INPUT = 16_000
# emlearn's smallest code for votes of trees, and for probabilities of their leaves in five bits
HARD = ("", {"method": "inline"})
SOFT = (", soft", {"method": "loadable", "leaf_bits": 5})
LEAVES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, None)

ASK = """
#include <stdint.h>
{code}
void ask(const void *row, void *answer);
void ask(const void *row, void *answer)
{{
    const {real} *x = row;
    {body}
}}
"""
# micromlgen writes a class of C++; headers of C do, and take nothing from the library of C++
SOURCE_OF_MICROMLGEN = """
#include <math.h>
#include <stdint.h>
{code}
extern "C" void ask(const void *row, void *answer);
extern "C" void ask(const void *row, void *answer)
{{
    Eloquent::ML::Port::{name} peer;
    *(int32_t *)answer = peer.predict((float *)row);
}}
"""
SOURCE_OF_MIXTURES = """
    static const float log_prior[{C}] = {{{priors}}};
    float best = 0.0f, score[{C}], p[16];
    int c, label = 0;
{scores}
    for (c = 0; c < {C}; ++c) {{
        score[c] += log_prior[c];
        if (c == 0 || score[c] > best) {{ best = score[c]; label = c; }}
    }}
    *(int32_t *)answer = label;
"""
SOURCE_OF_M2CGEN = """
    double out[{C}];
    int c, label = 0;
    score((double *)x, out);
    for (c = 1; c < {C}; ++c) {{ if (out[c] > out[label]) {{ label = c; }} }}
    *(int32_t *)answer = label;
"""
# what a support vector machine of several classes hands out: a decision for every pair of them
SOURCE_OF_PAIRS = """
    double out[{C} * ({C} - 1) / 2];
    int votes[{C}] = {{0}}, i, j, n = 0, label = 0;
    score((double *)x, out);
    for (i = 0; i < {C}; ++i) {{
        for (j = i + 1; j < {C}; ++j) {{ ++votes[out[n++] > 0.0 ? i : j]; }}
    }}
    for (i = 1; i < {C}; ++i) {{ if (votes[i] > votes[label]) {{ label = i; }} }}
    *(int32_t *)answer = label;
"""


@dataclass(frozen=True, eq=False)
class Source:
    """A fitted classifier in C."""

    setting: str
    code: str
    scaler: Any  # of rows, with `transform`
    dtype: Any  # of a row in C
    labels: Callable[[Any], Any]  # of scikit-learn, for rows as the code takes them
    suffix: str = ".c"

    def rows(self, X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Rows as the code takes them."""
        scaled = self.scaler.transform(X)
        if self.dtype is np.int16:
            scaled = np.rint(np.clip(scaled, -(2.0**15), 2.0**15 - 1.0))
        return np.ascontiguousarray(scaled, dtype=self.dtype)

    def write(self, folder: Path) -> Path:
        """The source as a file."""
        path = folder / f"peer{self.suffix}"
        path.write_text(self.code)
        return path


def include_folder() -> str:
    """Where emlearn's headers are."""
    import emlearn

    np.seterr(all="warn")  # which its import had changed
    return str(emlearn.includedir)


def converted(model: Any, name: str = "peer", **options: Any) -> str:
    """C code of emlearn."""
    import emlearn

    np.seterr(all="warn")
    with TemporaryDirectory() as folder, chdir(folder):  # it leaves files where it is
        code: str = emlearn.convert(model, **options).save(name=name)
    return code


def trees(
    models: Iterator[tuple[str, Any]], X: Any, y: Any, variants: Any = (HARD,)
) -> Iterator[Source]:
    scaler = MinMaxScaler((-LARGEST_INPUT, LARGEST_INPUT)).fit(X)
    whole = np.rint(scaler.transform(X))
    body = f"*(int32_t *)answer = peer_predict(x, {X.shape[1]});"
    for setting, model in models:
        model.fit(whole, y)
        for words, options in variants:
            code = converted(model, dtype="int16_t", **options)
            code = ASK.format(code=code, real="int16_t", body=body)
            yield Source(setting + words, code, scaler, np.int16, model.predict)


def forest(X: Any, y: Any) -> Iterator[Source]:
    sizes = [(n, leaves) for n in (3, 5, 10, 30) for leaves in (4, 8, 16, 32, None)]
    names = [f"{n} trees, {k or 'all'} leaves" for n, k in sizes]
    models = (RandomForestClassifier(n, max_leaf_nodes=k, random_state=0) for n, k in sizes)
    return trees(zip(names, models, strict=True), X, y, (HARD, SOFT))


def tree(X: Any, y: Any) -> Iterator[Source]:
    models = (
        (f"{k or 'all'} leaves", DecisionTreeClassifier(max_leaf_nodes=k, random_state=0))
        for k in LEAVES
    )
    return trees(models, X, y)


def in_float(models: Iterator[tuple[str, Any]], X: Any, y: Any) -> Iterator[Source]:
    scaler = StandardScaler().fit(X)
    body = f"*(int32_t *)answer = peer_predict(x, {X.shape[1]});"
    for setting, model in models:
        code = converted(model.fit(scaler.transform(X), y))
        code = ASK.format(code=code, real="float", body=body)
        yield Source(setting, code, scaler, np.float32, model.predict)


def naive_bayes(X: Any, y: Any) -> Iterator[Source]:
    return in_float(iter([("", GaussianNB())]), X, y)


def network(X: Any, y: Any) -> Iterator[Source]:
    models = (
        (
            f"{n} units, alpha {alpha:g}",
            MLPClassifier((n,), solver="lbfgs", alpha=alpha, max_iter=5000, random_state=0),
        )
        for n in (2, 4, 8, 16)
        for alpha in (0.001, 0.1, 1.0)
    )
    return in_float(models, X, y)


def mixtures(X: Any, y: Any) -> Iterator[Source]:
    """One mixture with full covariances per class."""
    scaler, classes = StandardScaler().fit(X), np.unique(y)
    Z, C = scaler.transform(X), len(classes)
    for n in (1, 2, 3):
        parts, scores, fitted = [], [], []
        for c, label in enumerate(classes):
            mixture = GaussianMixture(n, reg_covar=1e-3, random_state=0).fit(Z[y == label])
            fitted.append((mixture, np.log(np.mean(y == label))))
            parts.append(converted(mixture, f"m{c}"))
            scores.append(f"    m{c}_score(x, {X.shape[1]}, p, &score[{c}]);")
        priors = ", ".join(f"{prior:.8f}f" for _, prior in fitted)
        body = SOURCE_OF_MIXTURES.format(C=C, priors=priors, scores="\n".join(scores))
        code = ASK.format(code="\n".join(parts), real="float", body=body)
        yield Source(
            f"{n} a class", code, scaler, np.float32, partial(most_likely, fitted, classes)
        )


def most_likely(fitted: list[tuple[Any, float]], classes: Any, Z: Any) -> Any:
    """The class whose mixture, times its share, has the largest density."""
    scores = [mixture.score_samples(Z) + prior for mixture, prior in fitted]
    return classes[np.argmax(scores, axis=0)]


def m2cgen(models: Iterator[tuple[str, Any]], X: Any, y: Any) -> Iterator[Source]:
    from m2cgen import export_to_c

    scaler, C = StandardScaler().fit(X), len(np.unique(y))
    for setting, model in models:
        code = export_to_c(model.fit(scaler.transform(X), y))
        single = C == 2 and not isinstance(model, RandomForestClassifier)
        body = (SOURCE_OF_PAIRS if isinstance(model, SVC) else SOURCE_OF_M2CGEN).format(C=C)
        if single:
            body = "*(int32_t *)answer = score((double *)x) > 0.0;"
        code = ASK.format(code=code, real="double", body=body)
        yield Source(setting, code, scaler, np.float64, model.predict)


def m2cgen_logistic(X: Any, y: Any) -> Iterator[Source]:
    return m2cgen(iter([("", LogisticRegression(max_iter=3000))]), X, y)


def machines(D: int) -> Iterator[tuple[str, Any]]:
    """Of standardised inputs; micromlgen needs a number for gamma."""
    return ((f"C = {cost:g}", SVC(C=cost, gamma=1.0 / D)) for cost in (1.0, 10.0))


def forests() -> Iterator[tuple[str, Any]]:
    return (
        (f"{n} trees, {k} leaves", RandomForestClassifier(n, max_leaf_nodes=k, random_state=0))
        for n in (3, 10, 30)
        for k in (8, 32)
    )


def m2cgen_svm(X: Any, y: Any) -> Iterator[Source]:
    return m2cgen(machines(X.shape[1]), X, y)


def m2cgen_forest(X: Any, y: Any) -> Iterator[Source]:
    return m2cgen(forests(), X, y)


def micromlgen(models: Iterator[tuple[str, Any]], X: Any, y: Any) -> Iterator[Source]:
    from micromlgen import port

    scaler, names = StandardScaler().fit(X), {SVC: "SVM", RandomForestClassifier: "RandomForest"}
    for setting, model in models:
        code = port(model.fit(scaler.transform(X), y)).replace("<cstdarg>", "<stdarg.h>")
        code = SOURCE_OF_MICROMLGEN.format(code=code, name=names[type(model)])
        yield Source(setting, code, scaler, np.float32, model.predict, ".cpp")


def micromlgen_svm(X: Any, y: Any) -> Iterator[Source]:
    return micromlgen(machines(X.shape[1]), X, y)


def micromlgen_forest(X: Any, y: Any) -> Iterator[Source]:
    return micromlgen(forests(), X, y)


PEERS: dict[str, Callable[[Any, Any], Iterator[Source]]] = {
    "emlearn, random forest": forest,
    "emlearn, decision tree": tree,
    "emlearn, naive Bayes": naive_bayes,
    "emlearn, network": network,
    "emlearn, Gaussian mixtures": mixtures,
    "m2cgen, logistic regression": m2cgen_logistic,
    "m2cgen, SVM": m2cgen_svm,
    "m2cgen, random forest": m2cgen_forest,
    "micromlgen, SVM": micromlgen_svm,
    "micromlgen, random forest": micromlgen_forest,
}
