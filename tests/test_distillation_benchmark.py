"""What the benchmark of students and their teachers writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import distillation
from benchmarks.distillation import AS_CHOSEN, BUDGETS, STUDENTS, TEACHERS, write
from benchmarks.records import append, path_of
from sdgm import SDGMClassifier
from tests.test_uci121 import RUN

FIT = {"log_loss": 0.3, "numbers": 4000, "seconds": 1.0}


def test_the_page_compares_students_with_their_teachers_set_by_set(tmp_path: Path) -> None:
    for data, loss in (("heart", 0.02), ("iris", 0.0)):
        for teacher in TEACHERS:
            for student in STUDENTS:
                cell = {"data": data, "split": 0, "teacher": teacher, "student": student}
                first = {"who": teacher, "budget": AS_CHOSEN, "error": 0.1, "weights": 0}
                sizes = [
                    {"who": student, "budget": n, "error": 0.1 + loss, "weights": n or 30}
                    for n in BUDGETS
                ]
                record = {"status": "done", "run": RUN, "others": 0.0}
                results = [FIT | result for result in (first, *sizes)]
                record |= {"cell": {**cell, "code": "new"}, "results": results}
                append(path_of(tmp_path, "distillation"), record)
    page = write(tmp_path).read_text()
    assert (tmp_path / "img" / "distillation.png").stat().st_size > 10_000
    assert "| **random forest** | 10.00 | 0.300 | 4,000 |  | 1.00 |  |" in page
    assert "| SDGMClassifier | 11.00 | 0.300 | 4,000 | 30 | 1.00 | +1.00 ± 1.00 |" in page
    assert "| KernelSDGMClassifier, gradient boosting | +2.0 | +0.0 |" in page


@pytest.mark.skipif("teacher" not in SDGMClassifier().get_params(), reason="takes no teacher yet")
def test_a_cell_has_the_teacher_and_students_of_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distillation, "BUDGETS", (AS_CHOSEN, 5))
    records = list(distillation.measure("iris", 0, "random forest", "SDGMClassifier", "any"))
    assert [r["who"] for r in records] == ["random forest", "SDGMClassifier", "SDGMClassifier"]
    assert records[2]["weights"] <= 5 and records[0]["numbers"] > records[1]["numbers"]
