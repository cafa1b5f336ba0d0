"""The verb demo: write the example session, and say what to type next."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ..formats import EXAMPLE
from .files import write
from .output import print_line

if TYPE_CHECKING:
    import argparse

DESCRIPTION = "Write the example session that comes with trimtab, and print four commands to try on it."
EXAMPLES = ("trimtab demo", "trimtab demo ~/try")

NEXT = (
    ("what fills it", "show {file} --window 100k"),
    ("what a compaction would do, and why", "plan {file} --window 100k"),
    ("do it; the last line brings the original back", "compact {file} --window 100k -o {smaller}"),
    ("what an agent's own compaction of it loses", "audit {compacted}"),
)
"""What to type next, and what it answers."""

COMPACTED = 150
"""Lines of the session in front of the agent's compaction; a user's message follows."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("folder", metavar="DIR", nargs="?", default="trimtab-demo", help="folder; default: %(default)s")


def run(options: argparse.Namespace) -> int:
    """Write ``session.jsonl``, and the same with a compaction of the agent, into the folder; print what to type next.

    Raises:
        FileExistsError: another file of such a name is there; it stays as it is.
    """
    folder, text = Path(options.folder), EXAMPLE.read_bytes()
    file, compacted = folder / EXAMPLE.name.replace("example", "session"), folder / "compacted.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    texts = {file: text, compacted: _compacted(text, EXAMPLE.with_name("example_summary.md").read_text("utf-8"))}
    for each, content in texts.items():
        if each.exists() and each.read_bytes() != content:
            raise FileExistsError(f"{each} is another file: name another folder, as in trimtab demo DIR")
    for each, content in texts.items():
        write(str(each), content.decode())
    print_line(f"wrote {file}: a coding agent's session of 141 messages. Try next:")
    names = {"file": file, "smaller": folder / "smaller.json", "compacted": compacted}
    quoted = {name: shlex.quote(str(path)) for name, path in names.items()}
    for answers, command in NEXT:
        print_line(f"  {answers}:")
        print_line(f"    trimtab {command.format(**quoted)}")
    return 0


def _compacted(text: bytes, summary: str) -> bytes:
    """Return the session with a compaction in the middle, as Claude Code writes one, with this summary."""
    lines = text.splitlines(keepends=True)
    last, following = json.loads(lines[COMPACTED - 1]), json.loads(lines[COMPACTED])
    shared = {key: last[key] for key in ("isSidechain", "cwd", "sessionId", "timestamp")}
    boundary = {
        "parentUuid": None,
        "logicalParentUuid": last["uuid"],
        "uuid": "c0000000-0000-4000-8000-000000000000",
        "type": "system",
        "subtype": "compact_boundary",
        "compactMetadata": {"trigger": "manual"},
        **shared,
    }
    told = {
        "parentUuid": boundary["uuid"],
        "uuid": "c0000001-0000-4000-8000-000000000000",
        "type": "user",
        "message": {"role": "user", "content": summary},
        "isCompactSummary": True,
        **shared,
    }
    following["parentUuid"] = told["uuid"]
    made = [json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in (boundary, told, following)]
    return b"".join([*lines[:COMPACTED], *made, *lines[COMPACTED + 1 :]])
