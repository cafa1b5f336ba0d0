"""The document on summarizers: its code runs, and its names are those that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import trimtab
from support.releases import RELEASES
from trimtab import summarize
from trimtab.summarize import Limits

DOCS = (Path(__file__).parents[2] / "docs" / "summarizers.md").read_text(encoding="utf-8")


def test_its_numbers_and_names_are_the_defaults() -> None:
    limits = Limits()
    assert f"At most {limits.tries} calls inside one deadline of {limits.seconds:g} seconds" in DOCS
    assert f"random part of {limits.pause:g} s" in DOCS
    assert summarize.Anthropic.cheap in DOCS
    for name in ("Anthropic", "OpenAI", "Command", "Function", "Limits"):
        assert name in summarize.__all__
        assert name in DOCS
    assert all(f"trimtab[{name}]" in DOCS for name in ("anthropic", "openai"))
    assert trimtab.SummaryError.__name__ in DOCS


def test_the_releases_that_it_names_are_those_that_are_tried() -> None:
    named = re.search(r"stands below: anthropic\n(.*?); openai (.*?)\.\n", DOCS, flags=re.S)
    both = (("anthropic", named[1]), ("openai", named[2]))
    assert [f"{package}=={release}" for package, text in both for release in text.split(", ")] == RELEASES


def test_its_commands_are_ones_that_the_command_line_takes() -> None:
    from trimtab import cli

    commands = re.findall(r"^\$ trimtab (.*)$", DOCS, flags=re.M)
    assert len(commands) >= 3
    for command in commands:
        options = cli.parser().parse_args(shlex.split(command))
        assert options.summarizer != "offline"
    assert f"exit code {cli.UNAVAILABLE}" in DOCS
