"""The command ``trimtab count`` with its peak memory, and compactions as agents write them."""

import json
import subprocess
import sys

from support.models import GPT

COUNTED = """import re, sys
from trimtab.cli import main
code = main(sys.argv[1:])
with open("/proc/self/status") as file: print(re.search(r"VmHWM:\\s+(\\d+)", file.read())[1], file=sys.stderr)
sys.exit(code)"""


def counted(path, *, piped=False):
    """Return the output of `trimtab count` for a file or a pipe, and its peak memory in MB."""
    name = "-" if piped else str(path)
    command = [sys.executable, "-c", COUNTED, "count", name, "--json", "--model", GPT]
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as cat:
        done = subprocess.run(command, stdin=cat.stdout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), int(done.stderr.split()[-1]) / 1_024, done.stderr


COMPACTED = {
    "claude_code": {
        "type": "user",
        "uuid": "u0",
        "parentUuid": None,
        "isCompactSummary": True,
        "message": {"role": "user", "content": "summary"},
    },
    "codex": {"type": "compacted", "payload": {"message": "summary", "replacement_history": []}},
    "pi": {"type": "compaction", "summary": "summary"},
    "copilot_cli": {"type": "session.compaction_complete", "data": {"success": True, "summaryContent": "summary"}},
}
"""A compaction as each agent writes it: what stands before it is no longer live."""
