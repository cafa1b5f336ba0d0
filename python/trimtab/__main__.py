"""``python -m trimtab`` and the ``trimtab`` command."""

import gc
import signal
import sys

INTERRUPTED = 130


def run() -> None:
    """Runs the command line and exits with its code."""
    code = INTERRUPTED
    gc.disable()  # a command makes no garbage in circles, and collections are a fifth of the time to read a session
    try:
        from trimtab.cli import main  # noqa: PLC0415 - nothing is loaded by importing this module

        code = main(sys.argv[1:])
    except KeyboardInterrupt:  # while it loads, or while it says what went wrong
        pass
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: what would be interrupted is Python's own leaving
    sys.exit(code)


if __name__ == "__main__":
    run()
