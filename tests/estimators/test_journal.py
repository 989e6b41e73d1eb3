"""Claims about fits that are killed and started again."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons

from sdgm import KernelSDGMClassifier, SDGMClassifier
from sdgm.estimators import journal as journal_module
from sdgm.estimators.journal import Journal

X, y = make_moons(200, noise=0.3, random_state=0)
FITS = {
    "original form, several starts": lambda **k: SDGMClassifier(2, n_init=3, random_state=0, **k),
    "dual form, seeds drawn": lambda **k: KernelSDGMClassifier(2, n_init=2, **k),
    "automatic": lambda **k: KernelSDGMClassifier(random_state=3, **k),
    "paper": lambda **k: SDGMClassifier(2, preset="paper", max_iter=40, random_state=0, **k),
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
    np.random.seed(5)  # noqa: NPY002 - the seeds that are drawn
    expected = FITS[name](checkpoint=tmp_path / "other").fit(X, y)
    monkeypatch.setattr(journal_module, "WRITE_EVERY", 0.0)
    write = Journal.write
    rng = random.Random(0)
    left = rng.randint(1, 12)

    def write_and_die(self: Journal) -> None:
        nonlocal left
        write(self)
        left -= 1
        if not left:
            raise Killed

    monkeypatch.setattr(Journal, "write", write_and_die)
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


def test_without_a_checkpoint_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain = SDGMClassifier(2, random_state=0).fit(X, y)
    kept = SDGMClassifier(2, random_state=0, checkpoint="fit").fit(X, y)
    assert list(tmp_path.iterdir()) == []
    assert_same(kept, plain)


def interrupted(path: Path) -> None:
    """Leave a checkpoint behind."""

    def stop(record) -> bool:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sdgm.estimators.progress.print_line", stop)
        with pytest.raises(KeyboardInterrupt):
            SDGMClassifier(2, random_state=0, checkpoint=path, verbose=2).fit(X, y)
    assert path.exists()


def test_an_interrupt_leaves_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    interrupted(path)
    again = SDGMClassifier(2, random_state=0, checkpoint=path).fit(X, y)
    assert_same(again, SDGMClassifier(2, random_state=0).fit(X, y))
    assert not path.exists()


def test_a_checkpoint_of_other_data_or_settings_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    interrupted(path)
    for estimator, rows in (
        (SDGMClassifier(3, random_state=0, checkpoint=path), X),
        (SDGMClassifier(2, random_state=0, checkpoint=path), X + 1e-9),
        (KernelSDGMClassifier(2, random_state=0, checkpoint=path), X),
    ):
        with pytest.raises(ValueError, match="belongs to another fit"):
            estimator.fit(rows, y)
    assert path.exists()
    # what does not change the model may differ
    SDGMClassifier(2, random_state=0, checkpoint=path, n_jobs=2).fit(X, y)


def test_damaged_checkpoints_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    interrupted(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for damage in (b"", b"no", content[: len(content) // 2], rng.bytes(1000)):
        path.write_bytes(damage)
        with pytest.raises(ValueError, match=r"cannot be read .* remove it to start anew"):
            SDGMClassifier(2, random_state=0, checkpoint=path).fit(X, y)


CHILD = """
import sys
import numpy as np
from sklearn.datasets import make_classification
import sdgm.estimators.journal as journal
from sdgm import SDGMClassifier

journal.WRITE_EVERY = 0.02
X, y = make_classification(3000, 12, n_informative=8, n_classes=3, random_state=0)
print("ready", flush=True)
model = SDGMClassifier(2, n_init=2, random_state=0, checkpoint=sys.argv[1]).fit(X, y)
np.savez(sys.argv[2], coef=model.coef_, intercept=model.intercept_, P=model.predict_proba(X))
"""


@pytest.mark.slow
def test_a_fit_killed_at_twenty_random_moments_resumes_to_the_same_model(tmp_path: Path) -> None:
    def child(result: str, seconds: float | None) -> bool:
        """Whether it came to its end."""
        command = [sys.executable, "-c", CHILD, str(tmp_path / "fit"), str(tmp_path / result)]
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
