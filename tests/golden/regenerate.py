"""Write the stored outcomes anew: all of them, or those of the fits named.

    SDGM_DATA=/path/to/data python -m tests.golden.regenerate ["name of a fit" ...]

Explain a changed value in CHANGELOG.md.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

from tests.golden.fits import FITS
from tests.golden.outcomes import Outcome, differences, plain

RESULTS = Path(__file__).with_name("results.json")


def stored_results() -> dict[str, Any]:
    """``surroundings``, and ``fits`` with an outcome for each name."""
    return json.loads(RESULTS.read_text())


def outcome_of(name: str) -> Outcome:
    """The outcome of a fit today, as it is read back from a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fits are to be as they are
        found = FITS[name]()
    return json.loads(json.dumps(plain(found)))


def surroundings() -> dict[str, str]:
    """What the last digits of a result depend on, apart from the code."""
    libraries = threadpool_info()
    blas = sorted(
        {f"{each['internal_api']} {each.get('version')} {each.get('architecture')}"
         for each in libraries if each["user_api"] == "blas"}
    )  # fmt: skip
    return {
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "blas": ", ".join(blas),
    }


def text_of(results: dict[str, Any]) -> str:
    """JSON with a line for each field of an outcome, so that a change is easy to read."""
    fits = ",\n".join(
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(key)}: {json.dumps(each)}" for key, each in outcome.items())
        + "\n}"
        for name, outcome in results["fits"].items()
    )
    return f'{{"surroundings": {json.dumps(results["surroundings"])},\n"fits": {{\n{fits}\n}}}}\n'


def main(names: list[str]) -> None:
    """Write the file, and say what has changed."""
    if "SDGM_DATA" not in os.environ:
        raise SystemExit("set SDGM_DATA to the folder that holds ripley/ripley_synth.npz")
    unknown = [name for name in names if name not in FITS]
    if unknown:
        raise SystemExit(f"no fit has the name {unknown[0]!r}; there are {', '.join(FITS)}")
    earlier = stored_results()["fits"] if RESULTS.exists() else {}
    fits = {}
    for name in FITS:
        if names and name not in names:
            fits[name] = earlier[name]
            continue
        start = perf_counter()
        fits[name] = outcome_of(name)
        changes = differences(fits[name], earlier[name]) if name in earlier else ["new"]
        print(f"{name} ({perf_counter() - start:.2f} s)", *changes, sep="\n    ")
    RESULTS.write_text(text_of({"surroundings": surroundings(), "fits": fits}))


if __name__ == "__main__":
    main(sys.argv[1:])
