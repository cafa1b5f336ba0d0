"""``python -m trimtab`` and the ``trimtab`` command."""

import sys


def run() -> None:
    """Runs the command line and exits with its code."""
    from trimtab.cli import main  # noqa: PLC0415 - nothing is loaded by importing this module

    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
