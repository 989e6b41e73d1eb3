"""The parts of the benchmark and their data sets."""

from __future__ import annotations

from benchmarks.data import split_of
from benchmarks.uci121 import fold_of

# the least work first. The second are the sets of `uci121` with 100 to 300 training rows, at least
# one of every class in each of three folds, and at most eleven classes, whose frequencies fit the
# least budget; without those that are development sets by other names
SETS = {
    "development": (
        "iris", "titanic", "thyroid", "wine", "heart", "breast_cancer", "banana", "flare_solar",
        "wdbc", "ringnorm", "twonorm", "waveform", "german", "image", "digits",
    ),
    "uci": (
        "hepatitis", "planning", "parkinsons", "breast-cancer-wisc-prog",
        "conn-bench-sonar-mines-rocks", "teaching", "heart-hungarian", "haberman-survival",
        "vertebral-column-2clases", "seeds", "ionosphere", "vertebral-column-3clases", "heart-va",
        "glass", "heart-cleveland", "flags", "dermatology",
    ),
}  # fmt: skip
QUICK = {"development": ("iris", "titanic"), "uci": ("teaching",)}
SPLITS = {"development": split_of, "uci": fold_of}
