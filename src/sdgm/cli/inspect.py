"""``sdgm inspect``: the model as text."""

from __future__ import annotations

from typing import Annotated

import typer

from sdgm.cli.console import AsJson, ModelFile, console, friendly_errors, load_model, print_json


def inspect(
    model: ModelFile,
    everything: Annotated[
        bool, typer.Option("--all", help="All rows of long tables, not only the first.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Describe the model: the terms of every class and component, with their uncertainty."""
    with friendly_errors():
        from sdgm.words import describe
        from sdgm.words.text import MOST_LISTED, text

        description = describe(load_model(model))
        if as_json:
            print_json(description.as_dict())
        else:
            most = None if everything else MOST_LISTED
            width = min(console.width, 100)
            console.print(
                text(description, width, ascii=False, most=most), markup=False, soft_wrap=True
            )
