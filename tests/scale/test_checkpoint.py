"""Claims about fits that are killed and started again."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.core.inference.learning import Result
from sdgm.core.inference.recipe import FAST, Recipe
from sdgm.core.model.state import State, Stop
from sdgm.core.solvers import sampled as sampled_newton
from sdgm.core.solvers.precision import FactorizationError
from sdgm.estimators import choosing
from sdgm.estimators import run as run_module
from sdgm.scale import checkpoint as checkpoint_module
from sdgm.scale import many_rows
from sdgm.scale.checkpoint import Checkpoint, fingerprint, kept_checkpoint, words_for

X, y = make_moons(200, noise=0.3, random_state=0)
FITS = {
    "original form, several starts": lambda **k: SDGMClassifier(
        2, n_init=3, random_state=0, **k, teacher=None
    ),
    "dual form, seeds drawn": lambda **k: KernelSDGMClassifier(2, n_init=2, **k, teacher=None),
    "automatic": lambda **k: KernelSDGMClassifier(random_state=3, **k),
    "paper": lambda **k: SDGMClassifier(2, preset="paper", max_iter=40, random_state=0, **k),
    "samples, then all rows": lambda **k: SDGMClassifier(2, random_state=0, **k, teacher=None),
}


class Killed(BaseException):
    """In place of a signal."""


def assert_same(one, other) -> None:
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    np.testing.assert_array_equal(one.mixture_weights_, other.mixture_weights_)
    np.testing.assert_array_equal(one.start_log_evidences_, other.start_log_evidences_)
    assert one.n_iter_ == other.n_iter_
    assert [record.n_weights for record in one.history_] == [
        record.n_weights for record in other.history_
    ]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FITS)
def test_a_fit_killed_again_and_again_ends_with_the_same_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fit.checkpoint"
    if name == "samples, then all rows":
        for scale, rows in ("LARGE_ROWS", 100), ("SAMPLE_ROWS", 160), ("MIDDLE_ROWS", 90):
            monkeypatch.setattr(many_rows, scale, rows)
        monkeypatch.setattr(sampled_newton, "ENOUGH_ROWS", 1)
    np.random.seed(5)  # noqa: NPY002 - the seeds that are drawn
    expected = FITS[name](checkpoint=tmp_path / "other").fit(X, y)
    monkeypatch.setattr(checkpoint_module, "WRITE_EVERY", 0.0)
    write = Checkpoint.write
    rng = random.Random(0)
    left = rng.randint(1, 12)

    def write_and_die(self: Checkpoint) -> None:
        nonlocal left
        write(self)
        left -= 1
        if not left:
            raise Killed

    monkeypatch.setattr(Checkpoint, "write", write_and_die)
    n_kills = 0
    np.random.seed(5)  # noqa: NPY002
    while True:
        try:
            again = FITS[name](checkpoint=path).fit(X, y)
            break
        except Killed:
            n_kills += 1
            left = rng.randint(2, 12)
            np.random.seed(99)  # noqa: NPY002 - later draws do not matter
    assert n_kills >= 1
    assert_same(again, expected)
    assert not path.exists()


def states_of(model: Any) -> list[bytes]:
    """The states in a history, bit by bit."""
    states = [record.state for record in model.history_]
    assert all(state is not None for state in states)
    return [b"".join(array.tobytes() for array in vars(state).values()) for state in states]


def test_a_fit_that_goes_on_has_the_states_of_its_first_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fit"
    model = SDGMClassifier(
        2, random_state=0, record_states=True, checkpoint=path, verbose=2, teacher=None
    )
    expected = states_of(
        SDGMClassifier(2, random_state=0, record_states=True, teacher=None).fit(X, y)
    )
    lines: list[Any] = []

    def stop(record: Any) -> None:
        lines.append(record)
        if len(lines) == 8:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "print_line", stop)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    assert states_of(model) == expected[:8]
    model.set_params(verbose=0).fit(X, y)
    assert states_of(model) == expected


def test_a_checkpoint_keeps_no_state_but_the_last_unless_states_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[int] = []
    write = Checkpoint.write

    def counting(self: Checkpoint) -> None:
        results = [*self.finished.values(), *([self.current.result] if self.current else [])]
        records = [record for result in results for record in result.records]
        kept.append(sum(record.state is not None for record in records))
        write(self)

    monkeypatch.setattr(checkpoint_module, "WRITE_EVERY", 0.0)
    monkeypatch.setattr(Checkpoint, "write", counting)
    for record_states in False, True:
        kept.clear()
        model = SDGMClassifier(2, random_state=0, checkpoint=tmp_path / "fit", teacher=None)
        model.set_params(record_states=record_states).fit(X, y)
        assert max(kept) == (model.n_iter_ if record_states else 0)


def test_without_a_checkpoint_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain = SDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
    kept = SDGMClassifier(2, random_state=0, checkpoint="fit", teacher=None).fit(X, y)
    assert list(tmp_path.iterdir()) == []
    assert_same(kept, plain)


def interrupted(path: Path) -> None:
    """Leave a checkpoint behind."""

    def stop(record) -> bool:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "print_line", stop)
        with pytest.raises(KeyboardInterrupt):
            SDGMClassifier(2, random_state=0, checkpoint=path, verbose=2, teacher=None).fit(X, y)
    assert path.exists()


def test_an_interrupt_leaves_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    interrupted(path)
    again = SDGMClassifier(2, random_state=0, checkpoint=path, teacher=None).fit(X, y)
    assert_same(again, SDGMClassifier(2, random_state=0, teacher=None).fit(X, y))
    assert not path.exists()


def test_a_checkpoint_of_other_data_or_settings_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    interrupted(path)
    for estimator, rows in (
        (SDGMClassifier(3, random_state=0, checkpoint=path, teacher=None), X),
        (SDGMClassifier(2, random_state=0, checkpoint=path, teacher=None), X + 1e-9),
        (KernelSDGMClassifier(2, random_state=0, checkpoint=path, teacher=None), X),
    ):
        with pytest.raises(ValueError, match="belongs to another fit"):
            estimator.fit(rows, y)
    assert path.exists()
    # what does not change the model may differ
    SDGMClassifier(2, random_state=0, checkpoint=path, n_jobs=2, teacher=None).fit(X, y)


def test_damaged_checkpoints_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    interrupted(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for damage in (b"", b"no", content[: len(content) // 2], rng.bytes(1000)):
        path.write_bytes(damage)
        with pytest.raises(
            ValueError, match=r"(cannot be read|damaged).* remove it to start again"
        ):
            SDGMClassifier(2, random_state=0, checkpoint=path, teacher=None).fit(X, y)


def test_another_file_is_not_taken_for_a_checkpoint(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("to be kept")
    with pytest.raises(
        ValueError, match=r"notes.txt' is not a checkpoint.* give another file name"
    ):
        SDGMClassifier(2, checkpoint=notes, teacher=None).fit(X, y)
    assert notes.read_text() == "to be kept"
    with pytest.raises(ValueError, match="empty path"):
        SDGMClassifier(2, checkpoint="", teacher=None).fit(X, y)


def test_a_fit_that_goes_on_has_a_mark_of_its_own(tmp_path: Path) -> None:
    model = SDGMClassifier(2, random_state=0, warm_start=True, teacher=None)
    marks = {fingerprint(model, X, y, None)}
    for max_iter in (3, 5):
        model.set_params(max_iter=max_iter)
        with pytest.warns(ConvergenceWarning):
            model.fit(X, y)
        model.set_params(max_iter=None)
        marks.add(fingerprint(model, X, y, None, model.model_.state))
    assert len(marks) == 3


CHILD = """
import sys
import numpy as np
from sklearn.datasets import make_classification
import sdgm.scale.checkpoint as checkpoint
from sdgm import SDGMClassifier
from sdgm.scale import many_rows

checkpoint.WRITE_EVERY = 0.02
n_rows = int(sys.argv[3])
if n_rows > 10_000:  # which are many here: two samples, then all rows
    many_rows.LARGE_ROWS, many_rows.SAMPLE_ROWS, many_rows.MIDDLE_ROWS = 10_000, 2_000, 4_000
X, y = make_classification(n_rows, 12, n_informative=8, n_classes=3, random_state=0)
print("ready", flush=True)
model = SDGMClassifier(2, n_init=2, random_state=0, checkpoint=sys.argv[1]).fit(X, y)
np.savez(sys.argv[2], coef=model.coef_, intercept=model.intercept_, P=model.predict_proba(X))
"""


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [3_000, 40_000])
def test_a_fit_killed_at_twenty_random_moments_resumes_to_the_same_model(
    n_rows: int, tmp_path: Path
) -> None:
    def child(result: str, seconds: float | None) -> bool:
        """Whether it came to its end."""
        files = str(tmp_path / "fit"), str(tmp_path / result)
        command = [sys.executable, "-c", CHILD, *files, str(n_rows)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"}
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            try:
                return process.wait(seconds) == 0
            except subprocess.TimeoutExpired:
                process.kill()
                return False

    assert child("whole.npz", None)
    rng = random.Random(1)
    n_kills = 0
    while n_kills < 20:
        if child("parts.npz", rng.uniform(0.05, 1.0)):
            (tmp_path / "parts.npz").unlink()  # it ended; another one is killed
        else:
            n_kills += 1
    assert child("parts.npz", None)
    whole, parts = np.load(tmp_path / "whole.npz"), np.load(tmp_path / "parts.npz")
    for name in whole:
        np.testing.assert_array_equal(parts[name], whole[name])


def test_where_no_checkpoint_can_be_written_nothing_is_learned(tmp_path: Path) -> None:
    for path, error, sentence in (
        (tmp_path, ValueError, "is a folder"),
        (
            tmp_path / "none" / "fit",
            FileNotFoundError,
            "none/fit' does not exist; make it",
        ),
        (3, ValueError, "checkpoint must be a path or None, got 3"),
    ):
        estimator = SDGMClassifier(2, random_state=0, checkpoint=path, teacher=None)
        with pytest.raises(error, match=sentence):
            estimator.fit(X, y)
        assert not hasattr(estimator, "coef_")


def test_a_mistake_that_is_found_at_once_leaves_no_checkpoint(tmp_path: Path) -> None:
    wrong = X.copy()
    wrong[7] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SDGMClassifier(2, random_state=0, checkpoint=tmp_path / "fit", teacher=None).fit(wrong, y)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_in_mid_fit_does_not_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = SDGMClassifier(2, random_state=0, teacher=None).fit(X, y)
    write, calls = Checkpoint.write, []

    def full(self: Checkpoint) -> None:
        calls.append(self)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        write(self)

    monkeypatch.setattr(Checkpoint, "write", full)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        fitted = SDGMClassifier(2, random_state=0, checkpoint=tmp_path / "fit", teacher=None).fit(
            X, y
        )
    assert_same(fitted, expected)


def kernel(A, B):
    return (A @ B.T + 1.0) ** 2


class Power:
    def __init__(self, degree: int) -> None:
        self.degree = degree

    def kernel(self, A, B):
        return (A @ B.T) ** self.degree


def recursive_kernel(base):
    def power(A, B, degree: int = 2):
        return (A @ B.T) * power(A, B, degree - 1) if degree > 1 else base(A, B)

    return power


def test_settings_have_the_same_mark_in_another_process() -> None:
    # addresses of objects differ between processes
    for value in (
        kernel,
        np.random.RandomState(1),
        np.random.default_rng(1),
        partial(kernel),
        Power(2).kernel,
    ):
        assert "0x" not in words_for(value)
    different = [
        kernel,
        print,
        lambda A, B: A @ B.T,
        lambda A, B: (A @ B.T) ** 2,
        lambda A, B: (A @ B.T) ** 3,
        partial(kernel),
        partial(kernel, B=1),
        partial(kernel, B=2),
        Power(2).kernel,
        Power(3).kernel,
        recursive_kernel(kernel),
    ]
    assert len(set(map(words_for, different))) == len(different)


def test_long_arrays_among_the_settings_are_looked_at_in_full() -> None:
    start = np.ones(5000)
    other = start.copy()
    other[2500] = 2.0
    marks = {fingerprint(SDGMClassifier(init=each), X, y, None) for each in (start, other)}
    assert len(marks) == 2


ONE = np.ones(1)
STATE = State(ONE, ONE, *(np.zeros(1, dtype=int),) * 2, ONE, np.zeros(1, dtype=int))


def learned(checkpoint: Checkpoint, stage: str) -> Result:
    """What a stage leads to, whatever its rows are."""
    rows: Any = None
    return checkpoint.learn(stage, FAST, rows, ONE, STATE, None, keep_states=False)


def test_a_candidate_that_was_refused_is_refused_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit_candidate, stages = choosing.candidate_fit, []

    def too_large_at_first(*arguments: Any) -> Any:
        run = arguments[-1]
        stages.append(run.stage)
        if run.stage == "fit/candidate 0":
            raise MemoryError
        return fit_candidate(*arguments)

    monkeypatch.setattr(choosing, "candidate_fit", too_large_at_first)
    expected = KernelSDGMClassifier(random_state=3).fit(X, y)
    assert len(expected.candidates_) == len(stages) - 1 >= 2
    path, write = tmp_path / "fit", Checkpoint.write

    def write_and_die(self: Checkpoint) -> None:
        write(self)
        if self.finished:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "write", write_and_die)
        with pytest.raises(Killed):
            KernelSDGMClassifier(random_state=3, checkpoint=path).fit(X, y)
    again = KernelSDGMClassifier(random_state=3, checkpoint=path).fit(X, y)
    assert_same(again, expected)
    assert again.candidates_ == expected.candidates_


def test_stages_are_known_by_name_whichever_was_refused_for_want_of_memory(tmp_path: Path) -> None:
    path = tmp_path / "fit"

    def refused() -> None:
        with kept_checkpoint(path, lambda: "mark"):
            raise MemoryError

    with pytest.raises(MemoryError):
        refused()
    checkpoint = Checkpoint(path, "mark")
    checkpoint.finished["candidate 1"] = Result(STATE, [], Stop.EMPTY)
    checkpoint.write()
    again = Checkpoint.opened(path, "mark")
    assert learned(again, "candidate 1").stop is Stop.EMPTY
    assert list(again.finished) == ["candidate 1"]


def test_trouble_that_was_overcome_is_met_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Result(STATE, [], Stop.EMPTY)
    began: list[int] = []

    def learn(*arguments: Any, **options: Any) -> Result:
        began.append(1)
        if len(began) == 2:
            raise FactorizationError("whatever was added")
        return done

    monkeypatch.setattr(Recipe, "learn", learn)

    def outcomes(checkpoint: Checkpoint, n_stages: int) -> list[str]:
        found = []
        for i in range(n_stages):
            try:
                found.append(learned(checkpoint, f"stage {i}").stop.value)
            except FactorizationError:
                found.append("trouble")
        return found

    path = tmp_path / "fit.checkpoint"
    first = outcomes(Checkpoint(path, "mark"), 3)
    assert first == [Stop.EMPTY.value, "trouble", Stop.EMPTY.value]
    assert outcomes(Checkpoint.opened(path, "mark"), 3) == first
    assert len(began) == 3  # nothing is learned twice
