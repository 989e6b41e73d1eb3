"""Averaging over the learned noise: ``python -m benchmarks.averaged_head FOLDER``.

The heads that `python -m reproduction table2` has trained into FOLDER give probabilities of the
test images as they are in evaluation, and averaged over passes with the noise that their weights
have learned.
Needs the image files in ``SDGM_DATA``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks.child import ROOT
from benchmarks.laplace_head import PASSES, with_noise_averaged
from reproduction.cells import Key
from reproduction.deep.heads import Head
from reproduction.deep.images import Images
from reproduction.deep.networks import Classifier
from reproduction.deep.problems import DEFAULT_DATA, PROBLEMS
from reproduction.deep.table2 import (
    cell_keys,
    problem_images,
    run_name,
    start_model,
    training_options,
)
from reproduction.deep.trainer import blocks, calibration_error, error, log_loss
from reproduction.environment import environment
from sdgm.nn import SDGM

PAGE = ROOT / "docs" / "results" / "averaged-head.md"
BATCH = 500
AS_TRAINED, AVERAGED = "as trained", "averaged over its noise"


def trained(key: Key, images: Images, folder: Path) -> Classifier:
    """The model of a finished cell."""
    settings = json.loads(str(key["settings"]))
    options = training_options(PROBLEMS[str(key["data"])], key, settings)
    model = start_model(key, settings, images, options)
    path = folder / "table2-runs" / f"{run_name(key)}.pt"
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(state)
    return model.eval()


@torch.no_grad()
def measured(key: Key, folder: Path) -> dict[str, tuple[float, float, float]]:
    """Error %, log loss and calibration error % of a cell, by way of predicting."""
    images, test = problem_images(str(key["data"]), False, None, None)
    model = trained(key, images, folder)
    rows = blocks(len(test.labels), BATCH)
    features = torch.cat([model.net(test.batch(part)) for part in rows])
    ways: dict[str, Tensor] = {AS_TRAINED: torch.softmax(model.head(features), dim=1)}
    if isinstance(model.head, SDGM):
        ways[AVERAGED] = with_noise_averaged(model.head, features)
    y = test.labels
    return {
        way: (100.0 * error(P, y), log_loss(P, y), 100.0 * calibration_error(P, y))
        for way, P in ways.items()
    }


def main() -> None:
    """Measure every cell, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where table2 was reproduced")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    lines = []
    for data in DEFAULT_DATA:
        softmax = None
        for head in (Head.SOFTMAX, Head.SDGM):
            cells = [
                measured(key, options.folder) for key in cell_keys([data], [head], options.seeds)
            ]
            for way in cells[0]:
                mean = np.mean([cell[way] for cell in cells], axis=0)
                softmax = mean[1] if softmax is None else softmax
                lines.append(
                    f"| {PROBLEMS[data].title} | {head}, {way} | {mean[0]:.2f} | {mean[1]:.4f} | "
                    f"{mean[1] / softmax:.2f} | {mean[2]:.2f} |"
                )
                print(lines[-1], flush=True)
    options.output.write_text(page(lines, options.seeds), encoding="utf-8")


def page(lines: list[str], seeds: int) -> str:
    """The table with what it shows."""
    return "\n".join(
        [
            "# Averaging over the noise of a trained head",
            "",
            f"`python -m benchmarks.averaged_head FOLDER`, {environment()}: the networks of "
            f"[Table 2](table2.md), means over {seeds} seeds on the test images. Evaluation uses "
            f"the means of the weights; averaging uses probabilities from {PASSES} draws of the "
            "weights instead, whose noise was learned with them. Nothing is trained or chosen for "
            "it.",
            "",
            "| data | head | error % | log loss | over softmax's | ECE % |",
            "|---|---|---|---|---|---|",
            *lines,
            "",
        ]
    )


if __name__ == "__main__":
    main()
