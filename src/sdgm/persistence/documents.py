"""The document of a model file: its records and their types, which msgspec checks.

Arrays are leaves like text and numbers; `Spec` says what they must be. An entry that comes after
0.1.0 has a default, so that older files load: docs/files.md has the rules.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

from sdgm.core.model.features import ABSENT, SQUARED_NORM
from sdgm.core.model.state import Stop
from sdgm.persistence.arrays import Array, Spec
from sdgm.persistence.errors import InvalidModelFile

T = TypeVar("T")

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Finite = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
Scalar = str | bool | int | float
Parameters = dict[str, Any]
Kind = Literal[
    "SDGMClassifier", "KernelSDGMClassifier", "RVMClassifier", "DiscriminativeGMMClassifier"
]
Reason = Annotated[str, Meta(pattern=f"^({'|'.join(Stop)})$")]
# the smallest number above zero
SMALLEST = float(np.nextafter(0.0, 1.0))

# D inputs, C classes, n columns, m weights, K components, G groups of rows, T iterations, S starts,
# P points of a path, N training rows
Iterations = Annotated[Array, Spec("T", "int64", least=0)]
Measures = Annotated[Array, Spec("T", finite=False)]


class Part(msgspec.Struct, forbid_unknown_fields=True):
    """A record of the document, of which predictions or the estimator may depend on every entry."""


class Account(msgspec.Struct):
    """A record of how a model came about; what a newer version has to add is passed over."""


class Labels(Part):
    """Labels and the type of their array."""

    dtype: Annotated[
        str, Meta(pattern=r"^(object|bool|u?int(8|16|32|64)|float(16|32|64)|U[0-9]{0,4})$")
    ]
    values: list[Scalar]


# --- the fitted model ---


class Scaler(Part):
    """Standardisation of the inputs."""

    center: Annotated[Array, Spec("D")]
    inverse_scale: Annotated[Array, Spec("D", least=0.0)]
    reach: Annotated[float, Meta(gt=0, le=sys.float_info.max)]


class State(Part):
    """Weights that are not zero, and the mixture they belong to."""

    w: Annotated[Array, Spec("m")]
    alpha: Annotated[Array, Spec("m", least=0.0)]
    component: Annotated[Array, Spec("m", "int64", least=0, below="K")]
    column: Annotated[Array, Spec("m", "int64", least=0)]  # zero is the constant
    pi: Annotated[Array, Spec("K", least=SMALLEST)]
    component_class: Annotated[Array, Spec("K", "int64", least=0, below="C")]


class Monomials(Part, tag_field="form", tag="monomials"):
    """Columns that are monomials of the inputs."""

    first: Annotated[Array, Spec("n", "int64", least=SQUARED_NORM, below="D")]
    second: Annotated[Array, Spec("n", "int64", least=ABSENT, below="D")]


class Kernels(Part, tag_field="form", tag="kernels"):
    """Columns that are kernels at relevance vectors."""

    kernel: Literal["poly", "rbf", "linear"]
    values: dict[str, int | float]
    gamma: float
    user_rows: Annotated[Array, Spec("n", "int64", least=0)]
    user_vectors: Annotated[Array, Spec("nD")]
    # standardised, where they are not what the scaler makes of the above
    vectors: Annotated[Array, Spec("nD")] | None


class Precomputed(Part, tag_field="form", tag="precomputed"):
    """Columns of kernel values that are handed in."""

    user_rows: Annotated[Array, Spec("n", "int64", least=0, below="D")]


class FittedModel(Part):
    """All that prediction needs."""

    classes: Labels
    scaler: Scaler
    basis: Monomials | Kernels | Precomputed
    state: State
    covariance: Annotated[Array, Spec("mm")] | None


# --- how it was learned ---


class History(Account):
    """The records of learning, one array for each of their numbers."""

    iteration: Iterations | None = None
    log_posterior: Measures | None = None
    log_likelihood: Measures | None = None
    log_evidence: Measures | None = None
    n_weights: Iterations | None = None
    n_components: Iterations | None = None
    alpha_change: Measures | None = None
    newton_steps: Iterations | None = None
    seconds: Measures | None = None


class WeightsPath(Account):
    """The way to a budget of weights."""

    n_weights: Annotated[Array, Spec("P", "int64", least=0)]
    divergence: Annotated[Array, Spec("P", finite=False)]


class Candidate(Account):
    """A model that was tried."""

    parameters: Parameters
    replicates: float
    n_weights: Count
    n_numbers: Count
    divergence: float
    stop_reason: Reason


class Training(Account):
    """How the model was learned."""

    history: History
    log_evidence: float
    start_log_evidences: Annotated[Array, Spec("S", finite=False)]
    n_initial_weights: Count
    converged: bool
    stop_reason: Reason
    settings: str
    chosen: Parameters
    candidates: list[Candidate]
    learned_reference: bool
    weights_path: WeightsPath | None


# --- estimators ---


class Estimator(Part):
    """An estimator that is not fitted."""

    kind: Kind
    parameters: Parameters


class Classifier(Estimator):
    """A fitted classifier."""

    feature_names: list[str] | None
    model: FittedModel
    training: Training


class SemiSupervised(Part):
    """What a fit to partly labelled rows adds to the classifier."""

    parameters: Parameters
    estimator: Estimator | None
    labels: Labels
    transduction: Annotated[Array, Spec("N", "int64", least=0)]
    shares: dict[str, float]
    unlabelled_share: float
    n_labelled: Count


class Novelty(Part):
    """A fitted detector of novel rows: K components of Gaussian mixtures, one mixture per group."""

    parameters: Parameters
    feature_names: list[str] | None
    scaler: Scaler
    share: Annotated[Array, Spec("K", least=SMALLEST)]
    mean: Annotated[Array, Spec("KD")]
    whitening: Annotated[Array, Spec("KDD")]
    group: Annotated[Array, Spec("K", "int64", least=0, below="G")]
    group_share: Annotated[Array, Spec("G", least=SMALLEST)]
    shrinkage: Finite
    held_out_scores: Annotated[Array, Spec("N")]
    offset: Finite


class NormalScores(Part):
    """Normal scores at the values of each input, one input behind the other."""

    n_values: Annotated[Array, Spec("D", "int64", least=1)]
    values: Annotated[Array, Spec("V")]
    scores: Annotated[Array, Spec("V")]


class Space(Part):
    """Inputs as some members see them, with M centres; D are the inputs that vary."""

    varying: Annotated[Array, Spec("D", "int64", least=0)]
    scaler: Scaler
    ranks: NormalScores | None
    factor: Annotated[Array, Spec("D")] | None
    centers: Annotated[Array, Spec("MD")]


class KernelScorer(Part, tag_field="form", tag="kernel"):
    """Kernel ridge regression with p columns."""

    kernel: Literal["linear", "quadratic", "Matern"]
    scale: Annotated[float, Meta(gt=0, le=sys.float_info.max)]
    explicit: bool
    coef: Annotated[Array, Spec("pC")]
    constant: Annotated[Array, Spec("C")]


class GaussianScorer(Part, tag_field="form", tag="Gaussian"):
    """Gaussian classes with R covariances."""

    means: Annotated[Array, Spec("CD")]
    rotations: Annotated[Array, Spec("RDD")]
    variances: Annotated[Array, Spec("RD", least=SMALLEST)]
    offset: Annotated[Array, Spec("C")]


class Member(Part):
    """A member of an ensemble."""

    weight: Annotated[float, Meta(gt=0, le=1)]
    space: str
    slope: Annotated[float, Meta(ge=0, le=sys.float_info.max)]
    bias: Annotated[Array, Spec("C")]
    loss: float
    scorer: KernelScorer | GaussianScorer


class Ensemble(Part):
    """A fitted ensemble; spaces and members have arrays whose sizes are their own."""

    parameters: Parameters
    n_features: Count
    feature_names: list[str] | None
    classes: Labels
    frequencies: Annotated[Array, Spec("C", least=0.0)]
    spaces: dict[str, Space]
    members: dict[str, Member]
    loo_log_loss: float
    loo_proba: Annotated[Array, Spec("NC")] | None
    train_proba: Annotated[Array, Spec("NC")] | None


class NumberColumn(Part, tag_field="type", tag="number"):
    """A numeric column of a table."""

    name: str
    fill: Finite | None
    indicator: bool
    is_date: bool = False


class CategoryColumn(Part, tag_field="type", tag="category"):
    """A column of levels."""

    name: str
    levels: list[str]
    missing: bool


class Table(Part):
    """What a model of a table adds to the classifier."""

    inputs: list[NumberColumn | CategoryColumn]
    target: str
    id_column: str | None
    story: dict[str, Array]


class Document(Part):
    """All of a file. The record of a table says how the model was made, in plain JSON."""

    format: Count
    versions: dict[str, str]
    classifier: Classifier | None = None
    semi_supervised: SemiSupervised | None = None
    novelty: Novelty | None = None
    ensemble: Ensemble | None = None
    table: Table | None = None
    record: dict[str, Any] | None = None


def checked(value: Any, kind: type[T], what: str) -> T:
    """A value as a record, or one sentence on the first thing that is wrong.

    Examples
    --------
    >>> checked({"name": "age", "levels": 3, "missing": True, "type": "category"}, Table, "table")
    Traceback (most recent call last):
    sdgm.persistence.errors.InvalidModelFile: is invalid: object contains unknown field name at...
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # names in the file may be long, or unprintable
        text, _, place = ascii(str(error))[1:-1].replace("`", "").partition(" - at $")
        problem = f"{text[0].lower()}{text[1:]}"
        raise InvalidModelFile(f"is invalid: {problem:.200} at {what}{place:.200}") from error
    except UnicodeEncodeError as error:  # a lone surrogate where a word is expected
        raise InvalidModelFile(f"is invalid: a word of its {what} is not Unicode") from error
