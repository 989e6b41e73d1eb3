"""The ``sdgm`` command (extra ``cli``)."""

from __future__ import annotations

import sys

from sdgm.cli import imports, interrupts


def main() -> None:
    """Run the command with the arguments of the process, and exit."""
    imports.shorten()
    with interrupts.remembered():
        try:
            from sdgm.cli.app import app

            interrupts.check()
        except BaseException as error:
            if interrupts.seen():  # whatever an import made of it
                raise SystemExit(interrupts.INTERRUPTED) from None
            name = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
            if name.split(".")[0] not in ("typer", "rich"):
                raise
            problem = f'needs {name}, which is not installed: pip install "sdgm[cli]"'
            print(f"The sdgm command {problem}", file=sys.stderr)
            raise SystemExit(1) from None
        try:
            app()
        except Exception as error:  # outside of what a command guards
            from sdgm.cli import bugs
            from sdgm.cli.console import error_console

            bugs.report(error, error_console)
            raise SystemExit(bugs.INTERNAL) from None
