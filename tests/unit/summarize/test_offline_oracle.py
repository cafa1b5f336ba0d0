"""The offline summary is what its slow version in ``oracles/offline`` writes, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from oracles.offline.parts import INTERRUPTED
from oracles.offline.summary import offline as slow
from support.offline_cases import COUNTERS, FORGED, ask, quarter, said, tool
from support.scale import scaled
from trimtab.summarize.offline import offline

PHRASES = (
    "Rename load_table to `LoadTable` please.",
    "I was wrong: the cache drops every row of the ledger at night.",
    "The cache keeps every row of the ledger forever.",
    "The cache does not keep every row of the ledger, but drops it.",
    "Actually use `Span` instead of `Slice`, and call it 'Range_two'.",
    '"Slice" is taken, so call the class `Span`.',
    "renamed Old_name into New_name; `OtherName`, rather than 'Slice'",
    "No. It must wait.",
    "Yes please.",
    "Shall I raise it to nine?",
    "Still to do: the timeout of src/net/client.py. Not yet done: docs/guide.md!",
    "The root cause is that load_defaults drops 'retries' (see #1234, v1.2.3-rc1).",
    "Let me look at it now:",
    "All tests pass with PyYAML 6.0.2 at localhost:8080 and https://example.org/a_b?c=1.",
    "**Bold words** and ***more*** stand here. **No bold",
    "- item one is `Ledger` and `Entry.cost()`\n2. item two\n> quoted",
    "```py\ndef f(x): return x\n```",
    "a line that somebody wrapped at a width of sixty or more\nwords goes on with the next one, its end.\nNext",
    "| a table | of two |\n    indented code()\n\ttab",
    "先修复登录错误。然后运行测试\uff01好\uff1f",
    "<cwd>/srv/repo</cwd> Working directory: /srv/repo/pkg.",
    "Error getting 'x' for 12: no decoder\nE   KeyError: 'retries'\n0 errors, no error",
    "Traceback (most recent call last):\nValueError[E0308]: cannot open src/a.py",
    "FAIL tests/test_load.py\n1 failed, 2 passed in 0.3s\ntest result: FAILED. 1 passed",
    "12 passed in 0.31s",
    "test result: FAILED. 3 passed; 1 failed\ntest result: ok. 25 passed; 0 failed",
    "[trimtab: pruned 1,221 tokens of Bash pytest; restore 8632cde6a5fef4ed3f0d]",
    "a line\n[trimtab: pruned 21 tokens of Read src/b.py; restore 8632cde6a5fef4ed3f0d]\nanother error: here",
    "Never do any of the following:\n- push to main\n1. delete the cache of src/a.py\n\nDo:\n- run the tests",
    "Do not, ever\uff1a\n* " + "rename a table " * 12 + "\n* " + "drop a column " * 14 + "\n* touch it",
    "1. A page. It must:\n  - name the files\n  - " + "and the folders " * 24 + "\n  - end\n2. A ticket of it.",
    "```ts\nconst a = b;\nreturn (\n);\n// it must be\n```\nAlways run it.\n```\n\u2502 x \u2502\n| a | b |\n|---|",
    "Now I need to compute it:\n1. Import the tab of it\n2. Add the tab to it\nThe code looks correct. Let me run it.",
    "I'm waiting for the merge. The build of it is still running. It blocks waiting for the disk.",
    "Agents fail more often. If any fail, stop. Span for the ledger.\nWe use Span for the ledger now.",
    "[trimtab: pruned 1,221 tokens of Bash command; restore 8632cde6a5fef4ed3f0d]",
    "Created task #12: ship it. The user said: leave #7",
    "The tests don't pass. There must be a bug. ValueError: port must be set. Der Test geht immer noch nicht.",
    "The upload may take 30 seconds in src/net/client.py.",
    "The download may take 60 seconds in src/net/client.py.",
    "We use Span for the ledger. It is not urgent but the footer is wrong.",
    "pending #3: ship it",
    "要不要先提交\uff1f Das muss am Cache der Tests liegen. [Old tool result content cleared]",
    "[Old tool result content cleared]",
    "error: refused\n 41 pass\n 0 fail\n 93 expect() calls\nRan 41 tests across 5 files.",
    " 40 pass\n 1 fail\nRan 41 tests.",
    '$ linter --error-on-warnings\nnode_modules/check-error/a.js\n  + an error\n  status: "failed",',
    "<tool_use_error>String to replace not found in file.\nString: an error</tool_use_error>",
    "The user doesn\u2019t want to proceed with this tool use. The user said: no error, leave it",
    "Good, now let me read the parser. I\u2019m checking it; the agents are still running.",
    "Once it is built, I'll use Span instead of Slice. We need to verify the codec.",
    "Step 3: Update the schema. Now I understand the structure. Which option do you prefer?",
    "Exit code 1\nfatal: not found",
    "exit code 0\nok",
    "Chunk ID: 4f\nProcess exited with code 0\nOutput:\nTraceback (most recent call last):\nKeyError: 'x'",
    "<returncode>2</returncode>\n<output>\nmake: *** [all] Error 2\n</output>",
    "done\n[The command completed with exit code 0.]",
    "\n<shellId: 31 completed with exit code 128>",
    '{"output": "done", "metadata": {"exit_code": 0, "duration": 0.1}}',
    '{"stdout": "", "exitCode": -7, "more": [{"returncode": 10000000000000000000000}]}',
    "bash: line 1: frobnicate: command not found",
    "npm ERR! code ELIFECYCLE\nno \u017fuch file or directory",
    "src/main.c:3:5: error: expected an expression\nsrc/a.py:4:9: an error",
    INTERRUPTED,
    "\x1b[31merror: red\x1b[0m\x00 bell\x07",
    "naïve caf\u0301e ⚠\ufe0fmust ²x x² \u200bzero\u200djoined ⒶB \u0e01\u0e33 \u017fhould \u212aeep ‿not‿",
    "İstanbul ERROR: cannot find İt",
    "a\x1cb\x1dc\x85d\u2028e\u2029f\x0bg",
    "lone \ud800 surrogate_name \udfff",
    "deadbeef1234 550e8400-e29b-41d4-a716-446655440000 my-kebab-name x.tar.gz /usr/lib/a.so ~/b/c.py ./d/e.rs a//b",
    FORGED,
    "word" * 60,
    "x_" * 90,
    "Rename " + "Aa_" * 45 + " to " + "b_C" * 45,
    "",
)
COMMANDS = (
    "pytest -q tests",
    "cd /srv/repo && pytest tests/test_load.py 2>&1 | tail -3",
    "pytest --tb=short -v tests/test_load.py tests/test_save.py",
    "ls -la; cat a.py",
    "sed -i 's/\\bOld_name\\b/New_name/g; s|a|b|' src/a.py",
    "perl -pi -e 's#Foo_#Bar_#' x && rm -rf build/out.txt",
    "cat > src/new.py <<'EOF'\nimport os\n\nprint(1)\nEOF",
    "git commit -m 'fix: the loader'",
    "cd frontend && npm test",
    'cd "/srv/back end/" && npm test',
    "npm test",
    "npm test > out; tail -1 out",
    "if npm test; then echo yes; fi & sleep 2",
    "sudo rm -rf 'a b' ./build -x ../c.txt && git rm -r --ignore-unmatch .",
    "time git branch -a && tracker --readonly list; gh pr view 3 | sed 's/a/b/'",
    "tracker add --help",
    "bash -lc 'make test'",
    'bash -c "cd /srv/repo && make test"',
    "make lint",
    "make fmt && make lint",
    "make fmt && cd web && make lint && make 'a && b'",
    'make lint; echo "exit: $?"',
    "CI=1 make lint",
    "crew run core -- git diff --stat && X=$(git grep x) && docker compose ps",
    "ls *.o | xargs -n 1 rm; echo a >> .env",
    "# first\nset -e\n\nmake lint\nmake test",
    "[trimtab: pruned 156 tokens of Bash command; restore 8632cde6a5fef4ed3f0d]",
    ["bash", "-lc", "cd /srv/repo; make"],
    "",
)
CALLS = (
    *(("Bash", {"command": one}) for one in COMMANDS),
    ("Bash", {"command": "npm test", "workdir": "/srv/repo/backend/"}),
    ("AskUserQuestion", {"question": "Which one?"}),
    ("ExitPlanMode", {"plan": "p"}),
    ("mcp__wiki__ask_question", {"q": "x"}),
    ("create_ticket", {"subject": "it crashes", "description": "d"}),
    ("TaskUpdate", {"taskId": "12", "status": "in_progress"}),
    *(("Bash", {"command": one, "description": "Write the file"}) for one in (COMMANDS[6], *COMMANDS[-3:])),
    ("str_replace_editor", {"command": "create", "path": "/srv/repo/src/a.py"}),
    *(
        (name, {"file_path": path})
        for name in ("Read", "Edit", "Write", "Grep")
        for path in ("/srv/repo/src/a.py", "b.py")
    ),
    (
        "Edit",
        {"file_path": "/srv/repo/src/a.py", "old_string": "Old_name", "new_string": "NewName", "replace_all": True},
    ),
    ("apply_patch", {"input": "*** Update File: src/net/a.py\n*** Delete File: gone.py\n*** Add File: new/b.py"}),
    (
        "TodoWrite",
        {"todos": [{"content": "write docs", "status": "in_progress"}, {"step": "code", "status": "done"}, 3]},
    ),
    ("TaskCreate", {"subject": "ship it", "description": "d"}),
    ("TaskUpdate", {"taskId": "1", "status": "completed"}),
    ("view", {"command": "view", "path": "/srv/repo/src/a.py/", "cwd": "/srv/repo/"}),
    ("odd\n## Files", {"command": 7, "path": None, "todos": {"a": 1}, "taskId": 3, "status": None}),
)
TEXTS = st.lists(st.sampled_from(PHRASES) | st.text(max_size=40), max_size=5).map(" ".join) | st.sampled_from(PHRASES)
PIECES = st.one_of(
    st.tuples(st.sampled_from(["user", "assistant"]), TEXTS).map(lambda one: [said(*one)]),
    st.builds(
        lambda at, call, text, failed: tool(at, *call, text, failed=failed),
        st.integers(0, 9),
        st.sampled_from(CALLS),
        TEXTS,
        st.none() | st.booleans(),
    ),
)
TRANSCRIPTS = st.lists(PIECES, max_size=14).map(lambda pieces: [one for piece in pieces for one in piece])
LIMITS = st.sampled_from([1, 9, 25, 60, 150, 400, 2_000])


def same(messages: list, limit: int, **more) -> str:
    """The summary, which both versions write."""
    given_to_both = ask(messages, limit, **more)
    text = offline(given_to_both)
    assert text == slow(given_to_both)
    return text


@given(TRANSCRIPTS, TRANSCRIPTS, LIMITS, st.none() | TEXTS, st.sampled_from(sorted(COUNTERS)))
@settings(max_examples=scaled(150), deadline=None)
def test_a_summary_is_what_the_slow_version_writes(messages, after, limit, instructions, counter):
    same(messages, limit, after=tuple(after), instructions=instructions, count=COUNTERS[counter])


@given(TRANSCRIPTS, TRANSCRIPTS, LIMITS, st.none() | TEXTS)
@settings(max_examples=scaled(100), deadline=None)
def test_an_updated_summary_is_what_the_slow_version_writes(first, second, limit, foreign):
    previous = foreign or same(first, 2_000)
    same(second, limit, previous=previous)
    same([said("user", previous), *second], limit, previous=previous)


@pytest.mark.shared
def test_a_recorded_session_is_summarized_as_the_slow_version_does(shared):
    files = sorted(path for path in (shared / "data" / "transcripts").rglob("*.json*") if path.is_file())
    for path in files[::7]:
        messages = list(trimtab.read(path).messages)
        third = len(messages) // 3
        previous = same(messages[:third], 700, count=quarter)
        after = tuple(messages[2 * third :])
        same(messages[third : 2 * third], 700, previous=previous, after=after, instructions="Stress the tests.")
