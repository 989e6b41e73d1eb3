"""A table that nobody prepared."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from sdgm.tables.reading import whole_table

CLASSES = ("ja", "nein, nie", "<b>x</b>")
HEADER = (
    "Größe (cm)",
    "Farbe\nder Blüte",
    "темп",
    "id",
    "notes",
    "constant",
    "when",
    "kind",
    'odd "one"',
)


def read_table(source: Any, keep: tuple[str, ...] = ()) -> tuple[Any, str]:
    """A whole table as a polars frame, and its name."""
    return whole_table(source, keep)[:2]


def write_ugly(path: Path, n_rows: int = 120, seed: int = 0, *, labels: bool = True) -> Path:
    """Mixed types, missing values, unicode and line breaks in headers, three string classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 3
    size = rng.normal(size=n_rows) + 2.5 * (y == 1) - 2.5 * (y == 2)
    warmth = 20 + rng.normal(size=n_rows) * 3 + 4 * (y == 2)
    colours = np.array(["röt", "blau", "grün"])
    colour = np.where(rng.random(n_rows) < 0.7, colours[y], rng.choice(colours, n_rows))
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for i in range(n_rows):
            label = CLASSES[y[i]] if labels and rng.random() > 0.02 else ""
            writer.writerow(
                [
                    f"{size[i]:.3f}" if rng.random() > 0.1 else rng.choice(["", "NA", "?"]),
                    colour[i] if rng.random() > 0.05 else "",
                    f"{warmth[i]:.1f}",
                    f"00{i}",
                    f'said "{i}", then\nleft',
                    "same",
                    f"2024-01-{1 + i % 28:02d}",
                    label,
                    rng.choice(["1", "2", "n/a"]),
                ]
            )
    return path
