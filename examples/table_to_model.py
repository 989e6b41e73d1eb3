"""From a table with text and missing values to a model file, in Python.

pip install "sdgm[io]"
python examples/table_to_model.py
"""

from __future__ import annotations

import numpy as np
import polars as pl

import sdgm
from sdgm.tables import fit_table


def patients(n: int = 400) -> pl.DataFrame:
    """A table that was made up: the dose helps one group and harms the others."""
    rng = np.random.default_rng(0)
    age, dose = rng.uniform(20, 80, n).round(), rng.normal(5, 2, n).round(1)
    group = rng.choice(["placebo", "drug"], n)
    gain = np.where(group == "drug", dose - 5, 0.3 * (5 - dose)) - 0.05 * (age - 50)
    better = gain + rng.normal(0, 0.5, n) > 0
    age[rng.random(n) < 0.1] = np.nan
    columns = {"id": [f"P{i:03}" for i in range(n)], "age": age, "dose": dose, "group": group}
    table = pl.DataFrame(columns | {"outcome": np.where(better, "better", "worse")})
    return table.with_columns(pl.col("age").fill_nan(None))


def main() -> tuple[float, float]:
    """Error on held-out rows, and that of logistic regression."""
    table = patients()
    model = fit_table(table, "outcome", id_column="id")
    for column in model.inputs:
        print(column.name, "becomes", ", ".join(column.features))

    n_bytes = sdgm.save(model, "patients.sdgm")
    again = sdgm.load("patients.sdgm")
    print(f"{n_bytes} bytes; the first rows: {again.predict(table.head(3))}")

    error = model.record["held_out"]["error"]
    baselines = {each["name"]: each["error"] for each in model.record["baselines"]}
    print(f"error {error:.3f}; {baselines}")
    return error, min(baselines.values())


if __name__ == "__main__":
    main()
