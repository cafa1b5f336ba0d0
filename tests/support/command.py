"""The command line, called in this process: a start of Python costs a test a quarter of a second."""

from __future__ import annotations

import argparse
import io
import os
import pty
import subprocess
import sys
from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import pytest

from trimtab.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(*words: str, stdin: str | bytes = "") -> CompletedProcess[str]:
    """The exit code of a command, with the text that it wrote to stdout and to stderr."""
    given = stdin.encode(errors="surrogateescape") if isinstance(stdin, str) else stdin
    files = {"stdin": io.BytesIO(given), "stdout": io.BytesIO(), "stderr": io.BytesIO()}
    with pytest.MonkeyPatch.context() as patch:
        for name, file in files.items():
            patch.setattr(
                sys, name, io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", write_through=True)
            )
        code = main(words)
        told = [files[name].getvalue().decode() for name in ("stdout", "stderr")]
        for name in ("stdout", "stderr"):
            getattr(sys, name).detach()
    return CompletedProcess(words, code, *told)


def commands(found: argparse.ArgumentParser, words: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each verb and action, with its parser."""
    yield words, found
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield from commands(child, f"{words} {name}".strip())


def on_terminal(*words: str, **environment: str) -> str:
    """What a command writes to a terminal of 80 columns."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "trimtab", *words]
    with subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm", **environment}
    ) as process:
        os.close(slave)
        told = b""
        while True:
            try:
                part = os.read(master, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            told += part
        process.wait()
    os.close(master)
    return told.decode()
