"""The ``sdgm`` command (extra ``cli``)."""

from __future__ import annotations

import sys

# exit code of a command that the user interrupted, as shells say it
INTERRUPTED = 130


def main() -> None:
    """Run the command with the arguments of the process, and exit."""
    try:
        from sdgm.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich"):
            raise
        print(
            f'The sdgm command needs {error.name}, which is not installed: pip install "sdgm[cli]"',
            file=sys.stderr,
        )
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    app()
