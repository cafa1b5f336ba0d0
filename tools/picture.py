"""Writes docs/show.svg: what ``trimtab show`` prints of the example session, in its colours; part of ``make docs``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "docs" / "show.svg"
COMMANDS = ("demo", "show trimtab-demo/session.jsonl --window 100k --top 6")
STYLES = {
    "1": "font-weight='bold'",
    "2": "opacity='0.6'",
    "31": "fill='#f47067'",
    "32": "fill='#57ab5a'",
    "33": "fill='#c69026'",
}
"""Attributes of a text by the number of its style in the terminal."""

LINE, WIDTH, LEFT, TOP = 19, 8.4, 16, 30
"""Pixels of a line's height, of a character's width in the font's size, and of the margins."""


def printed() -> str:
    """What the last command prints, with the terminal's codes of its styles."""
    with tempfile.TemporaryDirectory() as folder:
        more = {"FORCE_COLOR": "1", "COLUMNS": "80", "TRIMTAB_HOME": f"{folder}/home"}
        for command in COMMANDS:
            words = [sys.executable, "-m", "trimtab", *command.split()]
            done = subprocess.run(words, cwd=folder, env=os.environ | more, capture_output=True, text=True, check=True)
    return done.stdout


def spans(line: str) -> str:
    """A line as SVG, with a span for each style."""
    made, style = [], ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if code := re.fullmatch(r"\x1b\[([0-9;]*)m", part):
            style = STYLES.get(code[1], "")
        elif part:
            made.append(f"<tspan {style}>{escape(part)}</tspan>" if style else escape(part))
    return "".join(made)


def picture(text: str) -> str:
    """The picture of a terminal that shows a command and what it printed."""
    lines = [f"$ trimtab {COMMANDS[-1]}", *text.rstrip("\n").split("\n")]
    longest = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
    width, height = round(2 * LEFT + WIDTH * longest), 2 * TOP + LINE * (len(lines) - 1)
    rows = [
        f'<text x="{LEFT}" y="{TOP + LINE * n}" xml:space="preserve">{spans(line)}</text>'
        for n, line in enumerate(lines)
    ]
    font = "font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            "<title>What trimtab show prints of a session</title>",
            f'<rect width="100%" height="100%" rx="8" fill="#22272e"/><g style="{font}" fill="#cdd9e5">',
            *rows,
            "</g></svg>\n",
        ]
    )


if __name__ == "__main__":
    FILE.write_text(picture(printed()))
