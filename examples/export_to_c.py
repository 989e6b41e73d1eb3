"""A model as a C header: compiled, run, and compared with Python.

pip install "sdgm" pandas
python examples/export_to_c.py    (compares only where gcc is installed)
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

from sdgm import SDGMClassifier
from sdgm.export import to_c

PROGRAM = """
#include <stdio.h>
#include "iris.h"

int main(void) {
    double x[IRIS_N_INPUTS], p[IRIS_N_CLASSES];
    while (scanf("%lf %lf %lf %lf", &x[0], &x[1], &x[2], &x[3]) == 4) {
        iris_predict_proba(x, p);
        printf("%.17g %.17g %.17g\\n", p[0], p[1], p[2]);
    }
    return 0;
}
"""


def main() -> float:
    """Largest difference between probabilities from C and from Python."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = SDGMClassifier(n_components=1, random_state=0).fit(X, y)
    source = to_c(model, name="iris")
    print(f"flash {source.flash_bytes} bytes, stack {source.ram_bytes} bytes")
    print(f"{source.multiply_adds} multiply-adds per prediction")
    if not shutil.which("gcc"):
        return 0.0
    with tempfile.TemporaryDirectory() as folder:
        source.write(Path(folder) / "iris.h")
        (Path(folder) / "main.c").write_text(PROGRAM)
        subprocess.run(["gcc", "-std=c99", "main.c", "-lm", "-o", "main"], cwd=folder, check=True)
        rows = "\n".join(" ".join(f"{value:.17g}" for value in row) for row in X.to_numpy())
        done = subprocess.run([f"{folder}/main"], input=rows, capture_output=True, text=True)
    P = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
    return float(np.abs(P - model.predict_proba(X)).max())


if __name__ == "__main__":
    print(f"largest difference {main():.1e}")
