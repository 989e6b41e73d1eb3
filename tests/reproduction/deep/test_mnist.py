"""Training on true digits reaches what it should."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reproduction.deep.images import is_there
from reproduction.deep.table2 import cell_keys, measured_cell


@pytest.mark.slow
@pytest.mark.skipif(not is_there("mnist"), reason="MNIST is not in the data folder")
def test_ten_features_and_5000_digits_reach_an_error_of_three_percent(tmp_path: Path) -> None:
    (key,) = cell_keys(["mnist-d10"], ["sdgm"], 1, epochs=5, train_size=5000)
    key["settings"] = json.dumps({"n_components": 2, "kl_scale": 1.0})
    record = measured_cell(key, runs=tmp_path)
    assert record["error"] < 0.03
    assert record["nll"] < 0.1
    # pruned and compact it is as good, with fewer weights and bytes
    assert record["compact_error"] < record["error"] + 0.002
    assert record["pruned_nonzero"] < 0.8 * record["head_weights"]
    assert record["compact_head_bytes"] < 0.8 * record["head_bytes"]
