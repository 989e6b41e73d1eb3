"""What goes along with a fit: its checkpoint, the lines it prints, who is told, and where it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from sdgm.core.inference.learning import Result
from sdgm.core.inference.recipe import Callback, Recipe
from sdgm.core.model.state import Record
from sdgm.estimators.progress import LINE_EVERY, Task, print_line
from sdgm.scale.checkpoint import Checkpoint, NoCheckpoint


@dataclass(frozen=True)
class Run:
    """Handed down from `fit` to every stage of it.

    Attributes
    ----------
    checkpoint : Checkpoint or NoCheckpoint
        Keeps what stages have learned, by their names.
    verbose : int
        Zero for silence, one for a line now and then, two for a line per pass.
    task : Task
        Who is told.
    stage : str
        Name of the stage at work.
    """

    checkpoint: Checkpoint | NoCheckpoint = field(default_factory=NoCheckpoint)
    verbose: int = 0
    task: Task = field(default_factory=Task)
    stage: str = "fit"

    def at(self, stage: str) -> Run:
        """The run of a stage within this one."""
        return replace(self, stage=f"{self.stage}/{stage}")

    def seeds(self, draw: Callable[[], list[int]]) -> list[int]:
        """Seeds of this stage: those of the checkpoint, or new ones."""
        return self.checkpoint.drawn(self.stage, draw)

    @property
    def can_be_parallel(self) -> bool:
        """Whether several starts can run side by side: nobody watches, and nothing is kept."""
        return not (self.task.is_watched or self.checkpoint.is_kept)

    def learning(self, recipe: Recipe) -> Callable[..., Result]:
        """`Recipe.learn`, or in its place what the checkpoint knows of this stage."""
        return self.checkpoint.learning(self.stage, recipe)

    def observer(self, attributes: Callable[[Record], dict[str, Any]]) -> Callback | None:
        """Prints lines and tells callbacks, with the fitted attributes at a record."""
        if not (self.verbose or self.task.is_watched):
            return None

        def look(record: Record) -> bool:
            if self.verbose > 1 or (self.verbose == 1 and record.iteration % LINE_EVERY == 1):
                print_line(record)
            return self.task.iteration(attributes, record)

        return look
