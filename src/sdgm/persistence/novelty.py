"""A detector of novel rows as a record, and back."""

from __future__ import annotations

import numpy as np
from msgspec.structs import asdict

from sdgm.core.mixtures.density import Density
from sdgm.core.mixtures.gaussian_mixture import Gaussians
from sdgm.core.model.fitted_model import Scaler
from sdgm.novelty.detector import FamiliarityDetector
from sdgm.novelty.model import NoveltyModel
from sdgm.persistence import documents
from sdgm.persistence.classifiers import name_features, unfitted
from sdgm.persistence.documents import Novelty
from sdgm.persistence.errors import InvalidModelFile


def to_document(detector: FamiliarityDetector) -> Novelty:
    """The record of a fitted detector, its mixtures one behind the other."""
    model, names = detector.model_, getattr(detector, "feature_names_in_", None)
    mixtures = model.density.mixtures
    return Novelty(
        parameters=detector.get_params(deep=False),
        feature_names=None if names is None else list(names),
        scaler=documents.Scaler(**vars(model.scaler)),
        share=np.concatenate([each.share for each in mixtures]),
        mean=np.concatenate([each.mean for each in mixtures]),
        whitening=np.concatenate([each.whitening for each in mixtures]),
        group=np.repeat(np.arange(len(mixtures)), model.n_components),
        group_share=model.density.share,
        shrinkage=float(model.shrinkage),
        held_out_scores=model.held_out_scores,
        offset=model.offset,
    )


def from_document(record: Novelty) -> FamiliarityDetector:
    """The detector of a record whose arrays agree with their specifications."""
    detector: FamiliarityDetector = unfitted(FamiliarityDetector, record.parameters)
    D = len(record.scaler.center)
    if not D or not len(record.held_out_scores):
        raise InvalidModelFile("is invalid: it has no inputs, or no training rows")
    name_features(detector, record.feature_names, D)
    model = NoveltyModel(
        Scaler(**asdict(record.scaler)),
        density_of(record),
        record.shrinkage,
        record.held_out_scores,
        record.offset,
    )
    try:
        return detector.publish(model)
    except (ValueError, TypeError) as error:
        raise InvalidModelFile(f"is invalid: {str(error).rstrip('.'):.200}") from error


def density_of(record: Novelty) -> Density:
    """One mixture per group."""
    whitening, group, G = record.whitening, record.group, len(record.group_share)
    diagonal = np.diagonal(whitening, axis1=1, axis2=2)
    if (diagonal <= 0.0).any() or (whitening != np.tril(whitening)).any():
        raise InvalidModelFile("is invalid: a covariance in it is not positive definite")
    if not G or not np.array_equal(np.unique(group), np.arange(G)) or (np.diff(group) < 0).any():
        raise InvalidModelFile("is invalid: its components are not in the order of its groups")
    mixtures = [
        Gaussians(record.share[group == g], record.mean[group == g], whitening[group == g])
        for g in range(G)
    ]
    return Density(mixtures, record.group_share)
