"""Claims about text of other encodings than UTF-8."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sdgm.tables import evaluate_table, fit_table, predict_table
from sdgm.tables.encodings import AsUtf8

WINDOWS = st.text(st.sampled_from([chr(i) for i in range(32, 127)] + list("äöüßéñ€Šœ")), min_size=1)


def read(data: bytes, size: int) -> tuple[str, str]:
    stream, parts = AsUtf8(io.BytesIO(data)), []
    while part := stream.read(size):
        parts.append(part)
    assert stream.bytes_read == len(data)
    return b"".join(parts).decode(), stream.encoding


@given(st.text(), st.integers(1, 9))
def test_utf8_and_utf16_are_read_whatever_the_blocks(text: str, size: int) -> None:
    assert read(text.encode(), size) == (text, "UTF-8")
    found, encoding = read(text.encode("utf-16"), max(size, 2))
    assert found == text and encoding == "UTF-16"


@given(WINDOWS, st.integers(1, 9))
def test_what_is_not_utf8_is_windows_1252_from_there_on(text: str, size: int) -> None:
    # the bytes of such a pair are also one character of UTF-8, and nobody can tell
    assume(not re.search("[äöüßéñ][€Šœ]", text))
    data = b"ascii first, then " + text.encode("cp1252") + "ü".encode("cp1252") + b" end"
    found, encoding = read(data, size)
    assert found == f"ascii first, then {text}ü end" and encoding == "Windows-1252"


@pytest.mark.parametrize(("encoding", "name"), [("cp1252", "Windows-1252"), ("utf-16", "UTF-16")])
def test_tables_of_other_encodings_are_read_with_a_remark(
    encoding: str, name: str, tmp_path: Path
) -> None:
    rows = [f"{i % 7};{'größer' if i % 2 else 'kleiner'};{i % 3},5" for i in range(60)]
    text = "\r\n".join(["x;Größe;z", *rows])
    path, plain = tmp_path / "t.csv", tmp_path / "plain.csv"
    path.write_bytes(text.encode(encoding))
    plain.write_text(text, encoding="utf-8", newline="")
    options = {"form": "primal", "components": 1}
    model, expected = (fit_table(each, "Größe", **options) for each in (path, plain))
    assert model.inputs == expected.inputs and model.classes_.tolist() == ["größer", "kleiner"]
    said = f"t.csv is not UTF-8; it was read as {name}."
    assert said in model.record["warnings"] and said not in expected.record["warnings"]
    assert evaluate_table(model, path).encoding == name
    assert predict_table(model, path, tmp_path / "out.csv").encoding == name
