"""Model files: `save` and `load`, arrays and JSON in one file, nothing that is executed.

model <-> models.py, classifiers.py  a document (JSON) and named arrays, checked by schema.py
      <-> container.py               bytes: safetensors, the document in its header, a checksum
      <-> files.py                   a file: read within bounds, written all at once or not at all
"""

from sdgm.persistence.errors import ModelFileError
from sdgm.persistence.files import load, save

__all__ = ["ModelFileError", "load", "save"]
