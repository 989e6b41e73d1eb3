"""Pictures of fitted classifiers, in scikit-learn's Display convention (extra ``plot``)."""

try:
    import matplotlib.axes  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'sdgm.plotting needs matplotlib: pip install "sdgm[plot]"', name=error.name
    ) from error

from sdgm.plotting.boundary import BoundaryDisplay
from sdgm.plotting.components import ComponentsDisplay
from sdgm.plotting.history import HistoryDisplay
from sdgm.plotting.path import WeightsPathDisplay
from sdgm.plotting.plane import leads
from sdgm.plotting.rejection import RejectionDisplay
from sdgm.plotting.reliability import ReliabilityDisplay
from sdgm.plotting.style import (
    CLASS_COLORS,
    CLASS_MARKERS,
    COMPONENT_DASHES,
    DASHES,
    FIGURE_SIZE,
    FRAME_COLOR,
    LEGEND_DISTANCE,
    SHADE,
    class_color,
    class_marker,
    new_axes,
)
from sdgm.plotting.uncertainty import UncertaintyDisplay

__all__ = [
    "CLASS_COLORS",
    "CLASS_MARKERS",
    "COMPONENT_DASHES",
    "DASHES",
    "FIGURE_SIZE",
    "FRAME_COLOR",
    "LEGEND_DISTANCE",
    "SHADE",
    "BoundaryDisplay",
    "ComponentsDisplay",
    "HistoryDisplay",
    "RejectionDisplay",
    "ReliabilityDisplay",
    "UncertaintyDisplay",
    "WeightsPathDisplay",
    "class_color",
    "class_marker",
    "leads",
    "new_axes",
]
