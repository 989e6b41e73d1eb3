"""``python -m reproduction`` makes the paper's tables and figures (extras ``cli`` and ``plot``)."""

from reproduction.app import app

if __name__ == "__main__":
    app()
