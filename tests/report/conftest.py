"""Tests of pages: left out where jinja2 is not installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("jinja2") else ["*.py"]
