"""Text of any usual encoding as UTF-8: UTF-16 by its mark, Windows-1252 where it is not UTF-8."""

from __future__ import annotations

import codecs
from typing import IO

MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
WINDOWS = "Windows-1252"  # what spreadsheets on Windows write; Latin-1 is a part of it


class AsUtf8:
    r"""A stream of bytes that are UTF-8, whatever the encoding of what it reads.

    A file is taken for UTF-8 until a byte cannot be, and for Windows-1252 from there on: what comes
    before is then nearly always ASCII, which is the same in both.

    Attributes
    ----------
    encoding : str
        As found so far.
    bytes_read : int
        Of the stream itself.

    Examples
    --------
    >>> import io
    >>> stream = AsUtf8(io.BytesIO("Müller".encode("cp1252")))
    >>> stream.read(99).decode(), stream.encoding
    ('Müller', 'Windows-1252')
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.bytes_read, self.encoding = stream, 0, "UTF-8"
        self.decoder: codecs.IncrementalDecoder | None = None

    def read(self, size: int) -> bytes:
        """About this number of bytes of the stream; empty only at its end."""
        while True:
            data = self.stream.read(size)
            is_first, self.bytes_read = not self.bytes_read, self.bytes_read + len(data)
            if is_first and data[:2] in MARKS:
                self.begin(MARKS[data[:2]])
            text = self.converted(data)
            if text or not data:
                return text

    def begin(self, encoding: str) -> None:
        """Decode from here on."""
        self.encoding = encoding
        name = "cp1252" if encoding == WINDOWS else encoding
        self.decoder = codecs.getincrementaldecoder(name)()

    def converted(self, data: bytes) -> bytes:
        """The next bytes as UTF-8."""
        if self.decoder is None:
            if data.isascii():
                return data
            self.decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            return self.decoder.decode(data, final=not data).encode()
        except UnicodeDecodeError:
            if self.encoding != "UTF-8":
                raise
            data = self.decoder.getstate()[0] + data  # with the beginning of a character
        self.begin(WINDOWS)
        return self.converted(data)
