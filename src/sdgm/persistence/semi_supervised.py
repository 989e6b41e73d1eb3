"""A classifier of partly labelled rows as a record, and back."""

from __future__ import annotations

import numpy as np

from sdgm.estimators.base import BaseSDGM
from sdgm.persistence.arrays import Array
from sdgm.persistence.classifiers import CLASSIFIERS, kind_of, unfitted
from sdgm.persistence.documents import Estimator, SemiSupervised
from sdgm.persistence.errors import InvalidModelFile
from sdgm.persistence.labels import MAX_TEXT_BYTES, decoded_labels, encoded_labels, object_array
from sdgm.semi_supervised.estimator import SemiSupervisedSDGMClassifier


def to_document(model: SemiSupervisedSDGMClassifier) -> SemiSupervised:
    """What a fitted model adds to its classifier."""
    parameters = model.get_params(deep=False)
    given = parameters.pop("estimator")
    if given is not None:
        given = Estimator(kind_of(given), given.get_params(deep=False))
    labels, codes = np.unique(model.transduction_, return_inverse=True)
    return SemiSupervised(
        parameters=parameters,
        estimator=given,
        labels=encoded_labels(labels),
        transduction=codes.astype(np.int64),
        shares=model.shares_,
        unlabelled_share=float(model.unlabelled_share_),
        n_labelled=model.n_labelled_,
    )


def from_document(record: SemiSupervised, classifier: BaseSDGM) -> SemiSupervisedSDGMClassifier:
    """The model of a record around a fitted classifier."""
    given = record.estimator
    estimator = None if given is None else unfitted(CLASSIFIERS[given.kind], given.parameters)
    parameters = {**record.parameters, "estimator": estimator}
    model: SemiSupervisedSDGMClassifier = unfitted(SemiSupervisedSDGMClassifier, parameters)
    model.estimator_ = classifier
    model.n_features_in_ = classifier.n_features_in_
    if hasattr(classifier, "feature_names_in_"):
        model.feature_names_in_ = classifier.feature_names_in_
    labels = decoded_labels(record.labels, "the labels")
    model.transduction_ = labels_at(labels, record.transduction)
    model.shares_ = record.shares
    model.unlabelled_share_ = record.unlabelled_share
    model.n_labelled_ = record.n_labelled
    return model


def labels_at(labels: Array, codes: Array) -> Array:
    """Labels by their indices, as objects where the texts would fill the memory."""
    if codes.max(initial=0) >= len(labels):
        raise InvalidModelFile("is invalid: a label of its training rows is none of its labels")
    if labels.dtype.kind == "U" and labels.itemsize * len(codes) > MAX_TEXT_BYTES:
        labels = object_array(labels.tolist())
    return labels[codes]
