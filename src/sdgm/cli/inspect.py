"""``sdgm inspect``: the model as text."""

from __future__ import annotations

from typing import Annotated

import typer

from sdgm.cli.console import AsJson, ModelFile, console, friendly_errors, load_model, print_json


def inspect(
    model: ModelFile,
    everything: Annotated[bool, typer.Option("--all", help="Print long tables in full.")] = False,
    as_json: AsJson = False,
) -> None:
    """Describe a model: the terms of every class and component, with their uncertainty."""
    with friendly_errors():
        loaded = load_model(model)
        from sdgm.description import describe

        description = describe(loaded)
        if as_json:
            print_json(description.as_dict())
        else:
            width = min(console.width, 100)
            text = description.text(width, most=None) if everything else description.text(width)
            console.print(text, markup=False, soft_wrap=True)
