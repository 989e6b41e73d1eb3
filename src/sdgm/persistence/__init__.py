"""Model files: `save` and `load`, arrays and JSON in one file, nothing that is executed.

model <-> codec.py and one file per kind of model  a document of typed records, and named arrays
      <-> container.py                             bytes: safetensors, document and checksum
      <-> files.py                                 a file: read within bounds, written whole or not
"""

from sdgm.persistence.errors import ModelFileError
from sdgm.persistence.files import load, save

__all__ = ["ModelFileError", "load", "save"]
