"""``python -m sdgm`` is the ``sdgm`` command."""

from sdgm.cli import main

if __name__ == "__main__":
    main()
