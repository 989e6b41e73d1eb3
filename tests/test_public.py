"""The package as it presents itself: what it imports, what it exports, what it documents."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import sdgm

ROOT = Path(__file__).parents[1]
# numpy, scipy, scikit-learn and what these bring along are all that `import sdgm` may load
EXTRAS = {
    "torch",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "safetensors",
    "jinja2",
    "markupsafe",
    "msgspec",
    "typer",
    "click",
    "rich",
    "dask",
    "distributed",
    "onnx",
    "skl2onnx",
    "fastrvm",
    "hypothesis",
    "pytest",
}


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(code: str) -> set[str]:
    """Packages that a fresh interpreter has imported in the end."""
    show = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    return set(run(f"{code}\n{show}").split())


@pytest.fixture(scope="module")
def brought_along() -> set[str]:
    """What scikit-learn itself loads where it is installed, such as pandas."""
    return loaded_by("import sklearn.linear_model, sklearn.utils.multiclass")


FIT = """
import numpy, sdgm
X = numpy.random.default_rng(0).normal(size=(30, 2))
sdgm.KernelSDGMClassifier(1).fit(X, X[:, 0] > 0).predict(X)
"""


ALL_NAMES = "from sdgm import *"


def test_the_package_itself_loads_next_to_nothing() -> None:
    assert not {"sklearn", "scipy", "numpy"} & loaded_by("import sdgm")


def test_every_public_name_can_be_had_and_is_listed() -> None:
    assert sorted(sdgm._HOMES) == sdgm.__all__
    assert set(sdgm.__all__) <= set(dir(sdgm))
    for name in sdgm.__all__:
        assert getattr(sdgm, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = sdgm.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("code", [ALL_NAMES, FIT], ids=["import", "fit"])
def test_no_optional_package_is_loaded(code: str, brought_along: set[str]) -> None:
    loaded = loaded_by(code)
    assert "sklearn" in loaded
    assert not EXTRAS & (loaded - brought_along)


def test_the_estimators_work_without_the_optional_packages() -> None:
    run(f"""
import importlib.abc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
{FIT}""")


def test_importing_is_quiet() -> None:
    assert run("import sdgm") == ""


def test_public_names_are_sorted_and_exist() -> None:
    assert sdgm.__all__ == sorted(sdgm.__all__)
    for name in sdgm.__all__:
        assert getattr(sdgm, name).__module__.startswith("sdgm.")


def test_the_documented_estimators_are_public() -> None:
    for name in (
        "SDGMClassifier",
        "KernelSDGMClassifier",
        "RVMClassifier",
        "DiscriminativeGMMClassifier",
    ):
        assert name in sdgm.__all__


@pytest.mark.parametrize("name", sdgm.__all__)
def test_every_public_name_has_a_docstring_with_an_example(name: str) -> None:
    text = inspect.getdoc(getattr(sdgm, name))
    assert text
    assert "Examples\n--------" in text
    assert doctest.DocTestParser().get_examples(text)


@pytest.mark.parametrize("name", [name for name in sdgm.__all__ if name.endswith("Classifier")])
def test_every_parameter_and_attribute_of_an_estimator_is_documented(name: str) -> None:
    estimator = getattr(sdgm, name)
    text = inspect.getdoc(estimator)
    assert text
    parameters = text.split("Parameters\n")[1].split("Attributes\n")[0].split("Examples\n")[0]
    missing = [option for option in estimator().get_params() if option not in parameters]
    assert not missing
    X = [[n % 7, n % 11] for n in range(40)]
    seeded = {"random_state": 0} if "random_state" in estimator().get_params() else {}
    model = estimator(**seeded).fit(X, [n % 7 > 3 for n in range(40)])
    fitted = [a for a in dir(model) if a.endswith("_") and not a.startswith("_")]
    attributes = [a for a in fitted if hasattr(model, a)]
    assert "classes_" in attributes
    # the named corners refer to the estimator they are corners of
    described = "\n".join(inspect.getdoc(base) or "" for base in estimator.__mro__)
    assert not [a for a in attributes if a not in described]


@pytest.mark.parametrize("name", [name for name in sdgm.__all__ if name.endswith("Classifier")])
def test_every_public_method_is_documented(name: str) -> None:
    estimator = getattr(sdgm, name)
    methods = [each for each in dir(estimator) if not each.startswith("_")]
    assert {"fit", "predict", "predict_proba", "score"} <= {*methods}
    has_components = name != "KernelEnsembleClassifier"
    assert ("predict_component_proba" in methods) == has_components
    assert not [each for each in methods if not inspect.getdoc(getattr(estimator, each))]


def test_every_module_has_a_docstring() -> None:
    paths = sorted(Path(sdgm.__file__).parent.rglob("*.py"))
    modules = {path: ast.parse(path.read_text()) for path in paths}
    assert len(modules) > 100
    # a package that is nothing but a folder needs none
    assert not [path for path, tree in modules.items() if tree.body and not ast.get_docstring(tree)]


def test_the_package_is_typed() -> None:
    assert (Path(sdgm.__file__).parent / "py.typed").exists()
