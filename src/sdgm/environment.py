"""The software that a model was made with."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    """Versions of sdgm, Python and the libraries that results depend on."""
    from sdgm import __version__

    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"sdgm": __version__, "python": platform.python_version(), **libraries}
