"""Emulated microcontrollers: programs for bare Cortex-M, run by qemu-system-arm.

An image is `board.c`, which moves rows and answers through files of the host, and C sources that
define ``ask``. Instructions come from the processor's own timer, while QEMU lets the same time
pass for each of them; the stack is painted before every question.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

HERE = Path(__file__).parent
COMPILER, SIZE, EMULATOR = "arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm"
# virtual nanoseconds of an instruction, as a power of two: two ticks of the slowest timer, so that
# single instructions are seen, and five million before 24 bits of ticks are full
ICOUNT_SHIFT = 7
# seconds; 10,000 rows take about ten
TIMEOUT = 300.0


@dataclass(frozen=True)
class Board:
    """A processor and the machine that has it."""

    name: str
    machine: str
    flags: tuple[str, ...]
    tick: float  # nanoseconds of its timer

    def instructions(self, ticks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """How many took so many ticks."""
        return np.asarray(np.rint(ticks * self.tick / 2**ICOUNT_SHIFT))


SOFT = ("-mfloat-abi=soft",)
BOARDS = {
    board.name: board
    for board in (
        Board("Cortex-M0", "microbit", ("-mcpu=cortex-m0", *SOFT), 1000 / 16),
        Board("Cortex-M3", "mps2-an385", ("-mcpu=cortex-m3", *SOFT), 1000 / 25),
        Board(
            "Cortex-M4F",
            "mps2-an386",
            ("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
            1000 / 25,
        ),
    )
}


@dataclass(frozen=True, eq=False)
class Run:
    """What an image answered, and what it cost beyond the same image without a model."""

    answers: np.ndarray[Any, Any]
    instructions: np.ndarray[Any, Any]  # (N,)
    stack: int  # bytes, the most of all rows
    flash: int  # bytes of code, constants and initial values, with what the library adds
    ram: int  # static bytes

    @property
    def typical(self) -> int:
        """Instructions of a question, on average."""
        return round(float(self.instructions.mean()))


def missing_tools() -> list[str]:
    """Programs that are not installed."""
    return [tool for tool in (COMPILER, SIZE, EMULATOR) if shutil.which(tool) is None]


@cache
def versions() -> str:
    """Of compiler and emulator."""
    first = [_checked([tool, "--version"], HERE).splitlines()[0] for tool in (COMPILER, EMULATOR)]
    return ", ".join(first)


def build(
    board: Board, folder: Path, sources: Sequence[str | Path], n_in: int, n_out: int, *flags: str
) -> tuple[Path, int, int]:
    """An image, its bytes of flash and its static bytes of RAM; without sources, an empty one."""
    image = folder / "image.elf"
    command = [COMPILER, *board.flags, "-mthumb", "-std=c99", "-Os", "--specs=nano.specs"]
    command += ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-nostartfiles"]
    command += [f"-DN_IN={n_in}", f"-DN_OUT={n_out}", f"-I{folder}", *flags]
    command += [] if sources else ["-DNO_MODEL"]
    command += [f"-T{HERE / 'board.ld'}", str(HERE / "board.c"), *map(str, sources), "-lm"]
    _checked([*command, "-o", str(image)], folder)
    counts = _checked([SIZE, str(image)], folder).splitlines()[1].split()
    text, data, bss = map(int, counts[:3])
    return image, text + data, data + bss


def run(
    board: Board,
    folder: Path,
    sources: Sequence[str | Path],
    rows: np.ndarray[Any, Any],
    answer: np.dtype[Any],
    *flags: str,
) -> Run:
    """Ask the sources about rows of a type that C reads as it is; files go to the folder."""
    n_in, n_out = rows.dtype.itemsize * rows[0].size, answer.itemsize
    idle = _idle(board, n_in, n_out)
    image, flash, ram = build(board, folder, sources, n_in, n_out, *flags)
    answers, costs = _asked(board, folder, image, rows, answer)
    spent = board.instructions(costs[:, 0]) - idle.instructions
    stack = int(costs[:, 1].max()) - idle.stack
    return Run(answers, spent, stack, flash - idle.flash, ram - idle.ram)


@cache
def _idle(board: Board, n_in: int, n_out: int) -> Run:
    """The image without a model, asked once."""
    with TemporaryDirectory() as name:
        image, flash, ram = build(board, Path(name), [], n_in, n_out)
        row, answer = np.zeros((1, n_in), dtype=np.uint8), np.dtype((np.uint8, (n_out,)))
        answers, costs = _asked(board, Path(name), image, row, answer)
    return Run(answers, board.instructions(costs[:, 0]), int(costs[0, 1]), flash, ram)


def _asked(
    board: Board, folder: Path, image: Path, rows: np.ndarray[Any, Any], answer: np.dtype[Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Answers, and ticks and bytes of stack of every row."""
    rows.tofile(folder / "rows")
    command = [EMULATOR, "-M", board.machine, "-nographic", "-monitor", "none", "-serial", "none"]
    command += ["-semihosting-config", "enable=on,target=native"]
    _checked([*command, "-icount", f"shift={ICOUNT_SHIFT}", "-kernel", str(image)], folder)
    answers = np.fromfile(folder / "answers", dtype=answer)
    if len(answers) != len(rows):
        raise RuntimeError(f"{board.machine} answered {len(answers)} of {len(rows)} rows.")
    return answers, np.fromfile(folder / "costs", dtype=np.uint32).reshape(-1, 2)


def _checked(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {(done.stderr or done.stdout)[-3000:]}")
    return done.stdout
