"""Write the model files of this version anew, with what their models answer.

    python -m tests.persistence.golden.regenerate

Every later version of the same major version must read them: once a version is released, its folder
is not written again. Before, this is run whenever the parameters of an estimator change. It needs
torch and polars; reading the files needs neither.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import sdgm
from tests.persistence.models import KINDS, classifier_of, fitted, rows_of

FOLDER = Path(__file__).parent
ANSWERS = "answers.npz"
# one row far away, where numbers are clipped
N_ROWS = 12


def of_a_layer() -> Any:
    """A classifier made of a layer."""
    import torch

    from sdgm.nn import SDGM, to_classifier

    torch.manual_seed(0)
    return to_classifier(SDGM(3, 2, dtype=torch.float64).eval(), ["no", "yes"])


def of_a_table(form: str) -> Any:
    """A model of `fit_table`, with the record and the story of a report."""
    from sdgm.tables import fit_table

    rng = np.random.default_rng(0)
    x, kind = rng.normal(size=60), rng.integers(0, 3, size=60)
    y = np.where(x + kind + rng.normal(size=60) > 1.0, "b", "a")
    lines = [f"{a:.3f},{'uvw'[k]},{c}" for a, k, c in zip(x, kind, y, strict=True)]
    with TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_text("\n".join(["x,kind,y", *lines]) + "\n")
        return fit_table(str(path), "y", form=form, components=1)


def models() -> dict[str, Any]:
    """Small models of every estimator, form and kernel, by the names of their files."""
    return {
        **{kind.replace(" ", "_"): fitted(kind) for kind in KINDS},
        "layer": of_a_layer(),
        "table_primal": of_a_table("primal"),
        "table_dual": of_a_table("dual"),
    }


def answer(model: Any, X: Any) -> Any:
    """Probabilities of a classifier; log densities of a detector."""
    predictor = classifier_of(model)
    is_classifier = hasattr(predictor, "predict_proba")
    return predictor.predict_proba(X) if is_classifier else predictor.score_samples(X)


def main() -> None:
    """Write the folder of this version."""
    folder = FOLDER / sdgm.__version__
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    arrays = {}
    for name, model in models().items():
        n_bytes = sdgm.save(model, folder / f"{name}.sdgm")
        X = rows_of(model, N_ROWS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the rows have no names
            arrays |= {f"{name}/X": X, f"{name}/answer": answer(model, X)}
        print(f"{name:20} {n_bytes:8,} bytes")
    np.savez_compressed(folder / ANSWERS, **arrays)


if __name__ == "__main__":
    main()
