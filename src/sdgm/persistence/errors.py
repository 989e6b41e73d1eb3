"""What is raised for a file that is not a valid model."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model file cannot be read: missing, damaged, of another format, or invalid.

    Examples
    --------
    >>> from sdgm import ModelFileError, load
    >>> try:
    ...     load("missing.sdgm")
    ... except ModelFileError as error:
    ...     print(error)
    missing.sdgm does not exist; check the path.
    """


class InvalidModelFile(Exception):
    """What is wrong with a file, as the end of a sentence that begins with its name."""
