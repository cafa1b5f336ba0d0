"""The command line, called in this process: a start of Python costs a test a quarter of a second."""

from __future__ import annotations

import io
import sys
from subprocess import CompletedProcess

import pytest

from trimtab.cli import main


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
