"""Former names of `sdgm.export.model`, for callers that do not use those yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgm._typing import FloatArray
from sdgm.estimators.prediction import attribute_of
from sdgm.export.model import ExportModel, classifier_and_inputs, exportable

__all__ = ["PortableModel", "classifier_and_inputs", "portable"]


class PortableModel(ExportModel):
    """`ExportModel` with the numbers of its model as attributes."""

    classes: np.ndarray[Any, Any] = attribute_of("model.classes")
    center: FloatArray = attribute_of("model.scaler.center")
    inverse_scale: FloatArray = attribute_of("model.scaler.inverse_scale")
    reach: float = attribute_of("model.scaler.reach")
    basis: Any = attribute_of("model.basis")
    coef: FloatArray = attribute_of("model.coef")
    offset: FloatArray = attribute_of("model.offset")
    component_class: Any = attribute_of("model.component_class")
    log_proba: Any = attribute_of("model.log_proba")
    standardized: Any = attribute_of("model.scaler.standardized")


def portable(model: Any) -> PortableModel:
    """`exportable`, by its former name."""
    plain = exportable(model)
    return PortableModel(plain.inputs, plain.model)
