"""What the package presents, and what it says without PyTorch."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys

import pytest

import sdgm.nn

WITHOUT_TORCH = """
import importlib.abc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
import sdgm
try:
    import sdgm.nn
except ModuleNotFoundError as error:
    print(error)
"""


def test_without_pytorch_there_is_one_clear_error() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=True
    )
    assert done.stdout == 'sdgm.nn needs PyTorch: pip install "sdgm[torch]"\n'


@pytest.mark.parametrize("name", sdgm.nn.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    text = inspect.getdoc(getattr(sdgm.nn, name))
    assert text
    assert doctest.DocTestParser().get_examples(text)
