"""The scripts of the gallery run, and show what they say they show."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "gallery.md"
NAMES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))

# what the result of each must be
CLAIMS: dict[str, Callable[[Any], bool]] = {
    "moons_boundary": lambda result: result[0] >= 0.93 and result[1] == 12,
    "ripley_components": lambda components: components == [2, 2],
    "wine_read_the_model": lambda n_weights: n_weights <= 10,
    "weights_budget": lambda accuracy: accuracy[1] > accuracy[0] - 0.03 > 0.9,
    "forest_to_weights": lambda result: result[1] < result[0] + 0.02 and result[2] <= 12,
    "semi_supervised": lambda accuracy: accuracy[1] > accuracy[0] + 0.05,
    "calibration_and_rejection": lambda error: error[1] < 0.2 * error[0],
    "novelty": lambda rates: rates[0] > 0.95 and rates[1] < 0.1,
    "warm_start": lambda iterations: iterations[1] < iterations[0],
    "export_to_c": lambda difference: difference < 1e-12,
    "onnx_runtime": lambda difference: difference < 1e-10,
    "table_to_model": lambda error: error[0] < error[1],
    "fitted_head": lambda result: result[0] > 0.88 and result[1] < 5000,
    "torch_last_layer": lambda accuracy: accuracy[0] > 0.95 and accuracy[1] > accuracy[0] - 0.02,
}
# tests/nn/test_ecosystem.py and tests/nn/test_fitted_head.py run these
ELSEWHERE = {"lightning_head", "skorch_head", "picture_folder"}

NEEDS = {
    "moons_boundary": ("matplotlib",),
    "ripley_components": ("matplotlib",),
    "wine_read_the_model": ("pandas",),
    "weights_budget": ("matplotlib", "pandas"),
    "forest_to_weights": ("matplotlib", "pandas"),
    "export_to_c": ("pandas",),
    "calibration_and_rejection": ("matplotlib",),
    "onnx_runtime": ("onnx", "onnxruntime"),
    "table_to_model": ("polars", "safetensors"),
    "fitted_head": ("torch",),
    "torch_last_layer": ("torch",),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_the_example_shows_what_it_says(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for package in NEEDS.get(name, ()):
        if not find_spec(package):
            pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    result = importlib.import_module(f"examples.{name}").main()
    assert CLAIMS[name](result), result
    assert capsys.readouterr().out
    pictures = {path.name for path in tmp_path.glob("*.png")}
    shown = set(re.findall(r"img/gallery/(\S+\.png)", section_of(name)))
    assert pictures == shown


def section_of(name: str) -> str:
    """What the gallery says of an example."""
    sections = re.split(r"^## ", GALLERY.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = [section for section in sections if f'"examples/{name}.py"' in section]
    assert len(found) == 1, f"docs/gallery.md shows examples/{name}.py {len(found)} times"
    return found[0]


def test_every_example_is_run() -> None:
    assert set(NAMES) == set(CLAIMS) | ELSEWHERE


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_short_and_in_the_gallery(name: str) -> None:
    assert section_of(name)
    lines = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 80
    assert lines[0].startswith('"""')


def test_the_pictures_of_the_gallery_are_small_and_used() -> None:
    pictures = list((ROOT / "docs" / "img" / "gallery").iterdir())
    assert pictures
    text = GALLERY.read_text(encoding="utf-8")
    for picture in pictures:
        assert picture.stat().st_size < 100_000
        assert f"img/gallery/{picture.name}" in text


def test_examples_do_nothing_on_import() -> None:
    for name in CLAIMS:
        source = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
        assert 'if __name__ == "__main__":' in source
