"""``python -m trimtab`` and the ``trimtab`` command."""

import gc
import os
import signal
import sys

INTERRUPTED = 130


def run() -> None:
    """Runs the command line and exits with its code."""
    _open_streams()
    gc.disable()  # a command makes no garbage in circles, and collections are a fifth of the time to read a session
    try:
        code = _main(sys.argv[1:])
    except KeyboardInterrupt:  # while it loads, or while it says what went wrong
        code = INTERRUPTED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: what would be interrupted is Python's own leaving
    sys.exit(code)


def _open_streams() -> None:
    """Opens the null device for each standard stream that is closed; a file would get its number otherwise.

    On stdout, a character that its encoding lacks becomes an escape, as on stderr: a pipe may have one of 256.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - stays open
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _main(arguments: list[str]) -> int:
    """Runs a command; nothing is loaded by importing this module."""
    if arguments == ["statusline"]:  # Claude Code runs it after each message: the parser would take a third of its time
        from trimtab.adapters.claude_code.statusline import print_status  # noqa: PLC0415

        return print_status()
    from trimtab.cli import main  # noqa: PLC0415

    return main(arguments)


if __name__ == "__main__":
    run()
