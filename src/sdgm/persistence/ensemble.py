"""An ensemble as a record, and back."""

from __future__ import annotations

import numpy as np
from msgspec.structs import asdict

from sdgm.core.model.fitted_model import Scaler
from sdgm.ensemble.calibration import Calibration
from sdgm.ensemble.estimator import KernelEnsembleClassifier
from sdgm.ensemble.gaussians import GaussianClasses
from sdgm.ensemble.inputs import Inputs, NormalScores, Standardized, Weighted
from sdgm.ensemble.kernels import Kind, MemberKernel
from sdgm.ensemble.members import GaussianScorer, KernelScorer, Scorer, n_monomials
from sdgm.ensemble.model import Ensemble, WeightedMember
from sdgm.ensemble.spaces import Space
from sdgm.persistence import documents
from sdgm.persistence.arrays import check_arrays
from sdgm.persistence.classifiers import classes_of, name_features, unfitted
from sdgm.persistence.errors import InvalidModelFile
from sdgm.persistence.labels import encoded_labels


def to_document(classifier: KernelEnsembleClassifier) -> documents.Ensemble:
    """The record of a fitted ensemble; members refer to their spaces by name."""
    ensemble, names = classifier.ensemble_, getattr(classifier, "feature_names_in_", None)
    spaces = {each.scorer.space.name: each.scorer.space for each in ensemble.members}
    return documents.Ensemble(
        parameters=classifier.get_params(deep=False),
        n_features=classifier.n_features_in_,
        feature_names=None if names is None else list(names),
        classes=encoded_labels(classifier.classes_),
        frequencies=ensemble.frequencies,
        spaces={name: of_space(space) for name, space in spaces.items()},
        members={each.name: of_member(each) for each in ensemble.members},
        loo_log_loss=classifier.loo_log_loss_,
        loo_proba=getattr(classifier, "loo_proba_", None),
        train_proba=getattr(classifier, "train_proba_", None),
    )


def of_space(space: Space) -> documents.Space:
    """A space, its maps of inputs from the last to the first."""
    weighted = space.inputs if isinstance(space.inputs, Weighted) else None
    inputs = space.inputs if weighted is None else weighted.inner
    ranks = None
    if isinstance(inputs, NormalScores):
        n_values = np.array([len(value) for value in inputs.values])
        ranks = documents.NormalScores(
            n_values, np.concatenate(inputs.values), np.concatenate(inputs.scores)
        )
        inputs = inputs.inner
    assert isinstance(inputs, Standardized)
    scaler = documents.Scaler(**vars(inputs.scaler))
    factor = None if weighted is None else weighted.factor
    return documents.Space(inputs.varying, scaler, ranks, factor, space.centers)


def of_member(member: WeightedMember) -> documents.Member:
    """A member: its place in the average, and how it scores."""
    scorer, calibration = member.scorer, member.calibration
    how: documents.KernelScorer | documents.GaussianScorer
    if isinstance(scorer, KernelScorer):
        kernel = scorer.kernel
        how = documents.KernelScorer(
            kernel.kind.value, kernel.scale, scorer.explicit, scorer.coef, scorer.constant
        )
    else:
        how = documents.GaussianScorer(**vars(scorer.classes))
    return documents.Member(
        weight=member.weight,
        space=scorer.space.name,
        slope=calibration.slope,
        bias=calibration.bias,
        loss=calibration.loss,
        scorer=how,
    )


def from_document(record: documents.Ensemble) -> KernelEnsembleClassifier:
    """The ensemble of a record whose own arrays agree with their specifications."""
    classifier: KernelEnsembleClassifier = unfitted(KernelEnsembleClassifier, record.parameters)
    D = record.n_features
    if not D:
        raise InvalidModelFile("is invalid: it has no inputs")
    name_features(classifier, record.feature_names, D)
    classifier.n_features_in_ = D
    classifier.classes_ = classes_of(record.classes)
    C = len(classifier.classes_)
    # spaces share their first maps, and members their space
    maps: dict[bytes, Inputs] = {}
    spaces = {name: read_space(name, each, D, maps) for name, each in record.spaces.items()}
    members = [read_member(name, each, spaces, C) for name, each in record.members.items()]
    if len({each.scorer.space.name for each in members}) < len(spaces):
        raise InvalidModelFile("is invalid: no member of it is of one of its spaces")
    classifier.ensemble_ = Ensemble(record.frequencies, members)
    classifier.loo_log_loss_ = record.loo_log_loss
    if record.loo_proba is not None:
        classifier.loo_proba_ = record.loo_proba
    if record.train_proba is not None:
        classifier.train_proba_ = record.train_proba
    return classifier


def read_space(name: str, record: documents.Space, D: int, maps: dict[bytes, Inputs]) -> Space:
    """A space of D inputs."""
    check_arrays(record, 0)
    varying, ranks = record.varying, record.ranks
    if not len(varying) or varying[-1] >= D or (np.diff(varying) <= 0).any():
        raise InvalidModelFile("is invalid: its inputs that vary are not some of its inputs")
    scaler = Scaler(**asdict(record.scaler))
    key = varying.tobytes() + scaler.center.tobytes() + scaler.inverse_scale.tobytes()
    key += repr(scaler.reach).encode()
    inputs = maps.setdefault(key, Standardized(varying, scaler))
    if ranks is not None:
        key += ranks.n_values.tobytes() + ranks.values.tobytes() + ranks.scores.tobytes()
        if key not in maps:
            maps[key] = normal_scores(inputs, ranks)
        inputs = maps[key]
    if record.factor is not None:
        inputs = Weighted(inputs, record.factor)
    # column-major as in a fit, so that sums are rounded alike
    return Space(name, inputs, np.asfortranarray(record.centers))


def normal_scores(inner: Inputs, record: documents.NormalScores) -> NormalScores:
    """Normal scores at values in order."""
    n_values = record.n_values
    if n_values.max() > len(record.values) or int(n_values.sum()) != len(record.values):
        raise InvalidModelFile("is invalid: its ranks are not those of its inputs")
    ends = np.cumsum(n_values)[:-1]
    values, scores = np.split(record.values, ends), np.split(record.scores, ends)
    if any((np.diff(value) <= 0.0).any() for value in values):
        raise InvalidModelFile("is invalid: its ranks are not in order")
    return NormalScores(inner, values, scores)


def read_member(
    name: str, record: documents.Member, spaces: dict[str, Space], C: int
) -> WeightedMember:
    """A member, which has one of the spaces."""
    space = spaces.get(record.space)
    if space is None:
        raise InvalidModelFile(f"is invalid: it has no space {record.space!a:.60}")
    check_arrays(record, C)
    calibration = Calibration(record.slope, record.bias, record.loss)
    return WeightedMember(name, record.weight, read_scorer(record.scorer, space, C), calibration)


def read_scorer(
    record: documents.KernelScorer | documents.GaussianScorer, space: Space, C: int
) -> Scorer:
    """How a member scores rows of its space."""
    M, d = space.centers.shape
    if isinstance(record, documents.GaussianScorer):
        if record.means.shape[1] != d or len(record.rotations) not in (1, C):
            raise InvalidModelFile("is invalid: Gaussians of it are not those of its classes")
        return GaussianScorer(space, GaussianClasses(**asdict(record)))
    kernel = MemberKernel(Kind(record.kernel), record.scale)
    n_columns = n_monomials(kernel, d) if record.explicit else M
    if len(record.coef) != n_columns:
        raise InvalidModelFile("is invalid: a member of it has not one weight for each column")
    return KernelScorer(space, kernel, record.explicit, record.coef, record.constant)
