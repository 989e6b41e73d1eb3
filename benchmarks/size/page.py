"""The page."""

from pathlib import Path


def write(output: Path) -> Path:
    return output
