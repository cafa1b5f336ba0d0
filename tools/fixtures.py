"""Write what this version of trimtab stores into ``tests/fixtures``: an archive, a plan and a session's state.

Each file has the number of its format in its name, and stays: a later version must read it. Run this when a number
has changed, and before a release: ``PYTHONPATH=tests python tools/fixtures.py``. A file that is there is not written
again.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import trimtab
from trimtab.archive import SqliteArchive
from trimtab.archive.sql.statements import migrations
from trimtab.session import state

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "fixtures"
MODEL = "claude-sonnet-4-5"
SESSION = "fixture"
FILES = {
    "archive": f"archive-{max(migrations('sqlite'))}.db.gz",
    "plan": f"plan-{trimtab.Plan.version}.json",
    "state": f"state-{state.VERSION}.json",
}
"""Names of the files of today's formats."""


def messages() -> list[dict[str, Any]]:
    """Return the transcript that the files are of."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Mend the parser. Never touch main.c."}]
    for n in range(12):
        use = {"type": "tool_use", "id": f"toolu_{n}", "name": "Read", "input": {"file_path": f"src/part_{n}.py"}}
        result = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{n}",
            "content": f"line {n} of the parser is read\n" * 20,
        }
        found += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return [*found, {"role": "assistant", "content": "Mended."}, {"role": "user", "content": "Go on with part 3."}]


def main() -> None:
    """Write the files that are not there."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "archive.db"
        with SqliteArchive(path) as archive:
            cm = trimtab.Compactor(MODEL, archive=archive)
            session = cm.session(SESSION)
            plan = session.plan(messages(), target_share=0.4)
            session.compact(messages(), target_share=0.4)
            written = {"plan": plan.to_json(), "state": json.dumps(session.state(), ensure_ascii=False)}
        for name, file in FILES.items():
            if (FOLDER / file).exists():
                print(f"{file} is there")
            elif name == "archive":
                packed = gzip.compress(path.read_bytes(), mtime=0)
                (FOLDER / file).write_bytes(packed)
                print(f"{file}: {len(packed):,} bytes")
            else:
                (FOLDER / file).write_text(written[name] + "\n", encoding="utf-8")
                print(f"{file}: {len(written[name]):,} bytes")


if __name__ == "__main__":
    main()
