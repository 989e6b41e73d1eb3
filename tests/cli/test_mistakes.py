"""Claims about mistakes: one sentence, exit code 1, and no file that was not there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("polars")
pytest.importorskip("safetensors")

import polars as pl

from sdgm.tables import TableError, fit_table
from tests.cli.commands import run, sentence, unboxed
from tests.cli.conftest import NEW_ROWS
from tests.tables.ugly import read_table


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("a,kind\n1,x\n2,y\n", ("-t", "Kind"), "did you mean 'kind'?"),
        ("a,kind\n1,x\n2,x\n", ("-t", "kind"), "only one class, 'x'"),
        ("", ("-t", "kind"), "is empty"),
        ("a,kind\n", ("-t", "kind"), "has a header but no rows"),
        ("a,a,kind\n1,2,x\n", ("-t", "kind"), "several columns called 'a'"),
        (
            "a,kind\n" + "1,x\n1,y\n" * 4,
            ("-t", "kind"),
            "no usable column: 'a' (is always 1)",
        ),
        ("a,kind\n1,x,3\n", ("-t", "kind"), "Row 1 of t.csv has 3 fields"),
        (
            "a,y\n" + "".join(f"{i % 7},{i % 500 / 8}\n" for i in range(600)),
            ("-t", "y"),
            "500 distinct values in 600 rows",
        ),
        (
            "a,kind\n" + "1,x\n2,y\n" * 4,
            ("-t", "kind", "--components", "9"),
            "--components must be at most 3, the number of training rows of the largest class",
        ),
        ("a,kind\n1,x\n2,y\n", ("-t", "kind", "--id", "name"), "no column 'name' for the id"),
        ("a,kind\n1,x\n2,y\n", ("-t", "kind", "-o", "no/m.sdgm"), "there is no folder 'no'"),
        ("a,kind\n1,x\n2,y\n", ("-t", "kind", "-o", "."), "is a folder"),
        ("a,kind\n1,x\n2,y\n", ("-t", "kind", "-o", "t.csv"), "does not end in .sdgm"),
        ("a,kind\n1,x\n2,y\n", ("-t", "kind"), "Too little training data"),
        (
            "a,kind\n" + "1,x\n2,y\n" * 9,
            ("-t", "kind", "--test-size", "0.999"),
            "add rows, or hold out fewer",
        ),
        ("a,kind\n1,x\n2,y\na,kind\n3,x\n", ("-t", "kind"), "Row 3 of t.csv repeats the header"),
    ],
)
def test_mistakes_of_fit_are_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: str,
    options: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(content)
    assert said in sentence(run("fit", "t.csv", *options))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv"]


def test_files_that_are_no_tables_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,kind\n1,\xff\x81\n")
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    for name, said in [
        ("t.csv", "is neither UTF-8, UTF-16 nor Windows-1252 text (byte 0x81)"),
        ("t.xlsx", "ends in none of .csv"),
        ("none.csv", "No such file"),
    ]:
        output = tmp_path / "m.sdgm"
        assert said in sentence(run("fit", tmp_path / name, "-t", "kind", "-o", output))


def test_urls_are_refused() -> None:
    said = "'https://example.org/t.csv' is a URL; download it and give the name of the file."
    assert said in sentence(run("fit", "https://example.org/t.csv", "-t", "kind"))
    with pytest.raises(TableError, match=re.escape(said)):
        fit_table("https://example.org/t.csv", "kind")


def test_read_only_outputs_are_refused_before_any_work(
    here: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("m.sdgm", "out.csv", "r.html", "m.h"):
        (tmp_path / name).write_text("old")
        (tmp_path / name).chmod(0o444)
    monkeypatch.setattr("sdgm.tables.fitting.fit_table", None)
    for arguments in (
        ("fit", "ugly.csv", "-t", "kind", "-o", tmp_path / "m.sdgm"),
        ("predict", model, "new.csv", "-o", tmp_path / "out.csv"),
        ("report", model, "-o", tmp_path / "r.html"),
        ("export", model, "--to", "c", "-o", tmp_path / "m.h"),
    ):
        assert "read-only" in sentence(run(*arguments))
        absent = tmp_path / "no" / arguments[-1].name
        assert "there is no folder" in sentence(run(*arguments[:-1], absent))
    assert {path.read_text() for path in tmp_path.iterdir()} == {"old"}


def test_a_file_that_is_read_is_never_written_to(here: Path, model: str, tmp_path: Path) -> None:
    contents = {
        "m.sdgm": (here / model).read_bytes(),
        "new.csv": (here / "new.csv").read_bytes(),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    made, table = tmp_path / "m.sdgm", tmp_path / "new.csv"
    for link, there in (("t.sdgm", table), ("t.html", table), ("m.html", made), ("m.h", made)):
        (tmp_path / link).symlink_to(there)
    (tmp_path / "m.csv").hardlink_to(made)
    lost = "would overwrite the input file; give another file name"
    for arguments, output, said in (
        (("fit", table, "-t", "kind"), "t.sdgm", lost),
        (("predict", made, table), "new.csv", lost),
        (("predict", made, table), "m.csv", lost),
        (("report", made), "m.html", lost),
        (("report", made, "--data", table), "t.html", lost),
        (("report", made, "--data", table), "new.csv", "does not end in .html"),
        (("export", made, "--to", "c"), "m.h", lost),
        (("export", made, "--to", "json"), "m.sdgm", "does not end in .json; name it 'm.json'"),
    ):
        assert said in sentence(run(*arguments, "-o", tmp_path / output))
    assert {name: (tmp_path / name).read_bytes() for name in contents} == contents


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("json", "--precision", "float"), "--precision applies to --to c, py and onnx"),
        (("js", "--precision", "float"), "--precision applies to --to c, py and onnx"),
        (("js", "--name", "x"), "--name applies to --to c only"),
        (("py", "--precision", "fixed"), "--precision fixed is available for --to c only"),
        (("json", "--name", "x"), "--name applies to --to c only"),
        (("onnx", "--name", "x"), "--name applies to --to c only"),
        (("onnx", "--precision", "fixed"), "--precision fixed is available for --to c only"),
        (
            ("c", "--precision", "float_only"),
            "--precision float_only is available for --to onnx only",
        ),
        (("c", "--name", "no name"), "'--name': name must be a C identifier"),
    ],
)
def test_options_of_export_that_mean_nothing_are_refused(
    here: Path, model: str, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    output = tmp_path / f"m.{'h' if options[0] == 'c' else options[0]}"
    result = run("export", model, "-o", output, "--to", *options, terminal_width=200)
    assert result.exit_code == 2
    assert said in unboxed(result.stderr)
    assert not output.exists()


def test_types_beside_a_module_are_not_replaced_unasked(model: str, tmp_path: Path) -> None:
    types = tmp_path / "m.d.ts"
    types.write_text("mine")
    command = ("export", model, "--to", "js", "-o", tmp_path / "m.js")
    assert "exists; add --force" in sentence(run(*command))
    assert types.read_text() == "mine" and not (tmp_path / "m.js").exists()
    run(*command, "--force")
    assert "predictProba" in types.read_text()


def test_a_full_disk_is_named(here: Path, model: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    said = sentence(run("predict", model, "new.csv", "-o", "/dev/full"))
    assert said == "Error: /dev/full: No space left on device.\n"
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "sdgm", "predict", model, "new.csv"]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, cwd=here, timeout=120)
    assert result.returncode == 1
    assert result.stderr == b"Error: standard output: No space left on device.\n"


def test_tables_that_do_not_fit_the_model_are_one_sentence(
    here: Path, model: str, tmp_path: Path
) -> None:
    frame, _ = read_table("new.csv")
    warm = pl.Series("темп", ["1", "warm", *["2"] * (NEW_ROWS - 2)])
    for name, table, said in [
        ("text", frame.with_columns(warm), "Column 'темп' has the text 'warm' in row 2"),
        ("lacks", frame.drop("темп"), "has no column 'темп'"),
        ("renamed", frame.rename({"темп": "темп."}), "did you mean 'темп.'?"),
        ("many", frame.select("id"), "lacks 5 columns"),
    ]:
        table.write_csv(tmp_path / f"{name}.csv")
        result = run("predict", model, tmp_path / f"{name}.csv", "-o", tmp_path / "out.csv")
        assert said in sentence(result)
    assert not (tmp_path / "out.csv").exists()
    assert "ends in none" in sentence(run("predict", model, "new.csv", "-o", tmp_path / "o.xls"))


@pytest.mark.parametrize("command", ["predict", "evaluate", "inspect", "report", "export"])
def test_what_is_no_model_is_one_sentence(here: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "m.sdgm").write_text("no model")
    more = {"predict": ("new.csv",), "evaluate": ("new.csv",), "export": ("--to", "json")}
    for name in ("m.sdgm", "absent.sdgm"):
        said = sentence(run(command, tmp_path / name, *more.get(command, ())))
        assert name in said and ("sdgm fit" in said or "does not exist" in said)


def test_a_missing_package_is_one_sentence(
    here: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    said = sentence(run("predict", model, "new.csv"))
    assert 'pip install "sdgm[io]"' in said
