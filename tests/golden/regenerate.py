"""Golden results: what the estimators give on Ripley's data today.

    SDGM_DATA=/path/to/data python -m tests.golden.regenerate

writes tests/golden/ripley.json anew. Explain a changed value in CHANGELOG.md.
"""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from sdgm import KernelSDGMClassifier, SDGMClassifier

RIPLEY = Path(__file__).with_name("ripley.json")
CASES: dict[str, Any] = {
    "primal, fast": SDGMClassifier(3, random_state=0),
    "primal, paper": SDGMClassifier(3, preset="paper", random_state=0),
    "dual, fast": KernelSDGMClassifier(3, random_state=0),
    "dual, paper": KernelSDGMClassifier(3, preset="paper", random_state=0),
}


def ripley_results(name: str, folder: Path) -> dict[str, Any]:
    """Error and log loss on the test set, size and evidence of one case."""
    with np.load(folder / "ripley" / "ripley_synth.npz") as data:
        X, y, X_test, y_test = (data[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CASES[name].fit(X, y)
    return {
        "error": round(100 * float(1 - model.score(X_test, y_test)), 6),
        "log_loss": round(float(log_loss(y_test, model.predict_proba(X_test))), 6),
        "weights": int(model.n_active_weights_),
        "components": model.n_components_.tolist(),
        "log_evidence": round(float(model.log_evidence_), 4),
        "stop": model.stop_reason_,
    }


def main() -> None:
    """Write the file."""
    folder = os.environ.get("SDGM_DATA")
    if not folder:
        raise SystemExit("set SDGM_DATA to the folder that holds ripley/ripley_synth.npz")
    results = {name: ripley_results(name, Path(folder)) for name in CASES}
    RIPLEY.write_text(json.dumps(results, indent=2) + "\n")
    print(RIPLEY.read_text(), end="")


if __name__ == "__main__":
    main()
