"""Tests of model files: left out where the extra ``io`` is not installed."""

from importlib.util import find_spec

has_extra = find_spec("msgspec") and find_spec("safetensors")
collect_ignore_glob = [] if has_extra else ["*.py", "golden/*.py"]
