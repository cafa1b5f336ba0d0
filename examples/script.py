"""The steps of the example session, which ``record.py`` carries out.

The words of user and agent are made up. The outputs of the tools are not in here: they are real, from the recording.
``expect`` is a text that an output must contain for the words after it to be true.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

MODEL = "claude-sonnet-5-5"


@dataclass(frozen=True)
class Call:
    """A tool call, and the text that its output must contain."""

    name: str
    input: dict[str, Any]
    expect: str = ""
    fails: bool = False


@dataclass(frozen=True)
class User:
    """A message of the user."""

    text: str


@dataclass(frozen=True)
class Agent:
    """A message of the agent, with its parallel calls."""

    text: str
    calls: tuple[Call, ...] = field(default=())


def user(text: str) -> User:
    """A message whose paragraphs are a line each, as people type them."""
    lines = re.sub(r"(?<!\n)\n(?![\n-])", " ", text.strip())
    return User(lines)


def agent(text: str, *calls: Call) -> Agent:
    return Agent(text.strip(), calls)


def read(path: str, *, offset: int | None = None, limit: int | None = None, expect: str = "") -> Call:
    pages = {name: value for name, value in (("offset", offset), ("limit", limit)) if value}
    return Call("Read", {"file_path": f"/repo/{path}"} | pages, expect)


def grep(pattern: str, path: str, glob: str = "*", *, files: bool = False, expect: str = "") -> Call:
    mode = "files_with_matches" if files else "content"
    return Call("Grep", {"pattern": pattern, "path": f"/repo/{path}", "glob": glob, "output_mode": mode}, expect)


def glob(pattern: str, path: str) -> Call:
    return Call("Glob", {"pattern": pattern, "path": f"/repo/{path}"})


def bash(command: str, why: str, *, expect: str = "", fails: bool = False) -> Call:
    return Call("Bash", {"command": command.strip(), "description": why}, expect, fails)


def write(path: str, content: str) -> Call:
    return Call("Write", {"file_path": f"/repo/{path}", "content": content.lstrip("\n")})


def edit(path: str, old: str, new: str, *, fails: bool = False) -> Call:
    expect = "not found in file" if fails else "has been updated"
    return Call("Edit", {"file_path": f"/repo/{path}", "old_string": old, "new_string": new}, expect, fails)


def script(code: str, why: str, *, expect: str = "", fails: bool = False) -> Call:
    return bash(f"python - <<'EOF'\n{code.strip()}\nEOF", why, expect=expect, fails=fails)


def pytest(target: str, *, expect: str = "", fails: bool = False) -> Call:
    return bash(f"python -m pytest -q --tb=short {target}", f"Run {target}", expect=expect, fails=fails)


# Why split gives None

SPLIT = [
    user("""
Two things today, both under ticket TT-318. Some rules for both:

- never touch the public names: `__all__` in python/trimtab/__init__.py stays exactly as it is
- functions stay under 40 lines, and there is no new dependency
- show me a failing test before you fix anything, and run what you write

The first thing: in a running agent loop `_core.split` gave me None where I had expected a position. Find out why, write
a test that shows it, and make the documentation say so. Do not change what split does.
"""),
    agent(
        "I'll look for the function and for everybody who calls it, and whether a test knows it.",
        grep(r"\bsplit\(", "python/trimtab", "*.py", expect="_core.split"),
        grep(r"fn split|split\(", "rust/core/src/ledger", "*.rs", expect="pub fn split"),
        glob("**/*cut*", ""),
    ),
    agent(
        "Two callers in Python, one definition in Rust. The definition first, with what it takes for safe.",
        read("rust/core/src/ledger/cut.rs", expect="None if no safe cut fits"),
        read("rust/core/src/ledger/groups.rs", expect="straddling"),
    ),
    agent(
        "",
        read("python/trimtab/planning/stages/keep.py", expect="costs.last_group if cut is None"),
        read("python/trimtab/planning/stages/summarize.py", expect="_core.split"),
    ),
    agent(
        "`safe` shuts the end while a call has no result. So my reading is: an open call means None. I'll look at one.",
        script(
            """
from trimtab import Counter, _core

messages = [
    {"role": "user", "content": "Which tests fail?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "pytest"}}]},
]
ledger = _core.Ledger.of(messages, counter=Counter.for_model("claude-sonnet-5-5"))
print("safe", ledger.safe.tolist())
print("split", _core.split(ledger.per_message, ledger.safe, keep=0))
""",
            "Split a transcript whose last call is open",
            expect="safe [True, True, False]\nsplit None",
        ),
    ),
    agent(
        "That is your None. I'll write it down as a test: an open call at the end, whatever `keep` is.",
        write(
            "tests/test_split_end.py",
            '''
"""Splits of a list with an open call."""

import pytest

from trimtab import Counter, _core

OPEN = [
    {"role": "user", "content": "Which tests fail?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "pytest"}}]},
]


def split(messages, keep):
    ledger = _core.Ledger.of(messages, counter=Counter.for_model("claude-sonnet-5-5"))
    return _core.split(ledger.per_message, ledger.safe, keep=keep)


@pytest.mark.parametrize("keep", [0, 1, 100_000])
def test_an_open_call_has_no_split(keep):
    assert split(OPEN, keep) is None
''',
        ),
    ),
    agent("", pytest("tests/test_split_end.py", expect="assert 0 is None", fails=True)),
    agent(
        "I was wrong, and the test says where: with `keep=100_000` the answer is 0, not None. The cut at the end is shut, "
        "but the cuts in front of the open call are not. I'll look at the whole range instead of guessing again.",
        script(
            """
from tests.test_split_end import OPEN, split
from trimtab import Counter, _core

ledger = _core.Ledger.of(OPEN, counter=Counter.for_model("claude-sonnet-5-5"))
request, call = (int(cost) for cost in ledger.per_message)
for name, keep in [("0", 0), ("call - 1", call - 1), ("call", call), ("all - 1", call + request - 1), ("all", call + request)]:
    print(f"keep = {name:8} split = {split(OPEN, keep)}")
""",
            "Split at the edges of each cost",
            expect="keep = call - 1 split = None\nkeep = call     split = 1",
        ),
    ),
    agent(
        "So the rule is finer: None if and only if the end is shut *and* the open group alone costs more than `keep`. "
        "Before I put that into a test I want it for every small transcript, not for one.",
        script(
            """
from itertools import product

import numpy as np

from trimtab import _core

tokens = np.array([3, 5, 2, 7, 1], dtype=np.uint32)
none = wrong = cases = 0
for mask in product([True, False], repeat=6):
    safe = np.array(mask)
    for keep in range(20):
        cases += 1
        got = _core.split(tokens, safe, keep=keep)
        last = max((cut for cut in range(6) if safe[cut]), default=None)  # the open group starts here
        want_none = last is None or int(tokens[last:].sum()) > keep
        none += got is None
        wrong += (got is None) != want_none
print(f"{cases} cases, None in {none}, rule wrong in {wrong}")
print("None although the end is safe:", _core.split(tokens, np.array([True] * 6), keep=0) is None)
""",
            "Check the rule on every mask of five messages",
            expect="rule wrong in 0\nNone although the end is safe: False",
        ),
    ),
    agent(
        "The rule holds in all cases, and with a safe end there is never a None. Now the test says that.",
        edit(
            "tests/test_split_end.py",
            """@pytest.mark.parametrize("keep", [0, 1, 100_000])
def test_an_open_call_has_no_split(keep):
    assert split(OPEN, keep) is None
""",
            """def cost(message):
    return int(Counter.for_model("claude-sonnet-5-5").per_message(OPEN)[message])


def test_an_open_call_that_costs_more_than_keep_has_no_split():
    assert split(OPEN, cost(1) - 1) is None


def test_an_open_call_that_fits_is_split_in_front_of():
    assert split(OPEN, cost(1)) == 1


@pytest.mark.parametrize("keep", [0, 1, 100_000])
def test_a_closed_transcript_always_has_a_split(keep):
    closed = [*OPEN, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "none"}]}]
    assert split(closed, keep) is not None
""",
        ),
    ),
    agent("", pytest("tests/test_split_end.py", expect="....")),
    agent(
        "Green. Now the documentation, in both languages. The Rust one half says it; the Python caller turns None into "
        "something and does not say into what.",
        edit(
            "rust/core/src/ledger/cut.rs",
            "/// None if no safe cut fits: an open call keeps the end shut.",
            "/// None if no safe cut fits, which needs an open call: it keeps the end shut, and its group alone costs more than\n"
            "/// `keep`. A transcript without an open call always has a split, its end at worst.\n///",
        ),
        edit(
            "python/trimtab/planning/stages/keep.py",
            '"""First message that is not pruned."""',
            '"""Return the first message that is not pruned; the last group if an open call leaves no split."""',
            fails=True,
        ),
    ),
    agent(
        "The first edit went in, the second did not match. I quoted the docstring from memory.",
        grep('"""Return the first', "python/trimtab/planning/stages", "*.py", expect="the last group is never pruned."),
    ),
    agent(
        "",
        edit(
            "python/trimtab/planning/stages/keep.py",
            '"""Return the first message that is not pruned; the last group is never pruned."""',
            '"""Return the first message that is not pruned; the last group if an open call leaves no split."""',
        ),
    ),
    agent(
        "",
        bash(
            "ruff check --select E,F,W python/trimtab/planning/stages tests/test_split_end.py",
            "Lint what changed",
            expect="passed",
        ),
        bash("ruff format --diff python/trimtab/planning/stages tests/test_split_end.py", "Check the format"),
        bash("sed -n '1,12p' rust/core/src/ledger/cut.rs", "Look at the new doc comment", expect="its end at worst"),
        pytest("tests/test_split_end.py"),
    ),
    agent("""
The first thing is done.

Why None: `safe` has one entry per cut. While a call is open, the cut at the end is shut. `split` looks for the earliest safe cut whose tail costs at most `keep`; if already the open group alone costs more, there is none. I had believed that an open call always means None. That was wrong: with enough `keep` the split is in front of the open call.

Decision: I left `split` as it is, as you asked. Both callers already fall back to `last_group`, so nothing downstream breaks.

- tests/test_split_end.py: `test_an_open_call_that_costs_more_than_keep_has_no_split` is your case, two more hold the edges
- rust/core/src/ledger/cut.rs: the doc comment gives the exact condition
- python/trimtab/planning/stages/keep.py: `recent_from` says what None turns into
"""),
]

# How a row comes to be pruned

WALK = [
    user("""
Good, and thanks for not papering over the wrong guess. Before you start on the second thing: walk me through how a row
comes to be pruned, from `Compactor.plan` to the placeholder in the message. Files and functions. I want to know that
you have read it before you build on it.
"""),
    agent(
        "I'll read it from the outside in.",
        bash(
            "sed -n '/    def plan/,/    def stats/p' python/trimtab/session/compactor.py",
            "Read plan",
            expect=".decide()",
        ),
        read("python/trimtab/compaction/request.py", expect="def decide"),
        read("python/trimtab/planning/decide.py", expect="def decide"),
    ),
    agent(
        "",
        read("python/trimtab/planning/stages/prune.py", expect="def candidates"),
        bash(
            "sed -n '/def results/,/return/p' python/trimtab/planning/stages/costs.py",
            "Read which rows are results",
            expect="def results",
        ),
        read("python/trimtab/planning/stages/sizes.py", expect="PLACEHOLDER"),
    ),
    agent(
        "The deciding half is clear. Now what carries it out.",
        read("python/trimtab/planning/edits.py", expect="class Prune"),
        bash(
            "sed -n '/^def _edit_rows/,/^def _began/p' python/trimtab/compaction/apply.py",
            "Read how rows are edited",
            expect="_core.PRUNED",
        ),
    ),
    agent(
        "One thing is still open: what the placeholder says, and whether a pruned result is recognised the next time.",
        grep("PRUNED", "rust", "*.rs", expect="PRUNED"),
        grep("PRUNED", "python/trimtab", "*.py*", expect="_core.PRUNED"),
    ),
    agent("""
From the outside in:

1. `Compactor.plan` (python/trimtab/session/compactor.py) makes a `Request`: the messages scanned once into a ledger, and the target. It returns `request.decide()`, which calls `decide`.
2. `decide` (python/trimtab/planning/decide.py) wraps the ledger in `Costs` and asks `_reach_target`. That takes the messages that stay verbatim from `Keep.verbatim`, and the candidates from `PruneResults.candidates`: rows of kind result, at least `min_tokens`, in front of `Keep.recent_from`, not pruned already.
3. If the candidates hold enough, `PruneResults.enough_of` takes the oldest first and truncates the one that tips the scale. If not, `SummarizeZone.edits` finds the cut where the tail just fits, prunes inside the tail and gives back the tokens that are left.
4. The answer is a `Plan`: `Prune(rows)` and `Truncate(rows, max_tokens)` with positions of the original transcript.
5. `apply` (python/trimtab/compaction/apply.py) goes through the edits; `_edit_rows` finds the message by `owner` and the block by `row - first`, and `_like` puts the placeholder where the content was, in the form that the content had.

The placeholder begins with the core's `PRUNED`, and the ledger sets a flag on rows that begin so: that is how a result is not pruned twice.

What matters for the second thing: a row is a position in the ledger, `owner` and `first` lead back to the block. Nothing in a plan knows the tool.
"""),
]

# The preview

PREVIEW = [
    user("""
That is it. The second thing: `trimtab plan` says "prune 12 tool results (rows 4 to 80)", and nobody can look a row up.
Write a private module python/trimtab/planning/preview.py with `preview(plan, ledger, messages)`. It gives a list of frozen
values, one for each result that the plan shortens: position of the message, name of the tool, what it was called with on
one line, tokens before and after. Values only, it prints nothing; no clock and no file in it. The command line will
call it later, not now.
"""),
    agent(
        "I'll check what a ledger can tell about a row before I write anything, and that the module's name is free.",
        glob("*.py", "python/trimtab/planning"),
        bash("grep -n 'def \\|class ' python/trimtab/_core.pyi", "List what the core offers", expect="name_of"),
        read("python/trimtab/ledger/columns.py", expect="class Kind"),
    ),
    agent(
        "`name_of(row)` gives the name of a tool, `pair` leads from a result to its call. A short look at real rows.",
        script(
            """
from trimtab import Counter, Kind
from trimtab.counting.counter import scan

messages = [
    {"role": "user", "content": "What is in the log?"},
    {"role": "assistant", "content": [{"type": "text", "text": "I'll look."},
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "tail build.log"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]},
]
ledger = scan(messages, Counter.for_model("claude-sonnet-5-5"))
for row, kind in enumerate(ledger.kind):
    print(row, Kind(kind).name, repr(ledger.name_of(row)), repr(ledger.id_of(row)), "owner", int(ledger.owner[row]))
""",
            "Print the rows of a short transcript",
            expect="2 CALL 'Bash' 'a' owner 1\n3 RESULT 'tool_result' 'a' owner 2",
        ),
    ),
    agent(
        "A result stands right behind its call, so the call is the row in front of it. I'll write the module with that: "
        "no look-up is needed, and the positions stay plain arithmetic.",
        write(
            "python/trimtab/planning/preview.py",
            '''
"""Describes a plan by tool results, for readers who do not count rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .edits import Prune, Truncate
from .stages.sizes import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from .plan import Plan


@dataclass(frozen=True, slots=True)
class Cut:
    """A tool result that a plan shortens.

    Attributes:
        message: position of the message that holds it.
        tool: name of the tool that was called.
        about: what it was called with, on one line.
        before: tokens of the result now.
        after: tokens that it keeps at most.
    """

    message: int
    tool: str
    about: str
    before: int
    after: int


def preview(plan: Plan, ledger: Ledger, messages: Sequence[Message]) -> list[Cut]:
    """The results that ``plan`` shortens, in the order of the transcript."""
    after: dict[int, int] = {}
    for edit in plan.edits:
        match edit:
            case Prune(rows):
                after |= dict.fromkeys(rows, PLACEHOLDER)
            case Truncate(rows, most):
                after |= dict.fromkeys(rows, most)
            case _:
                pass
    return [_cut(row, after[row], ledger, messages) for row in sorted(after)]


def _cut(row: int, after: int, ledger: Ledger, messages: Sequence[Message]) -> Cut:
    call = row - 1
    owner = int(ledger.owner[call])
    block = messages[owner]["content"][call - int(ledger.first[owner])]
    return Cut(int(ledger.owner[row]), ledger.name_of(call), _line(block["input"]), int(ledger.tokens[row]), after)


def _line(arguments: dict[str, Any]) -> str:
    first = next(iter(arguments.values()), "")
    return " ".join(str(first).split())[:60]
''',
        ),
        write(
            "tests/test_preview.py",
            '''
"""A preview says what a plan takes, from which call."""

import trimtab
from trimtab.counting.counter import scan
from trimtab.planning.preview import preview

MODEL = "claude-sonnet-5-5"


def call(id, name, **arguments):
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def result(id, words):
    return {"type": "tool_result", "tool_use_id": id, "content": "word " * words}


def previewed(messages, target_share=0.2):
    plan = trimtab.Compactor(MODEL).plan(messages, target_share=target_share)
    return preview(plan, scan(messages, trimtab.Counter.for_model(MODEL)), messages)


def test_a_pruned_result_is_told_with_the_call_that_asked_for_it():
    messages = [
        {"role": "user", "content": "What is in the log?"},
        {"role": "assistant", "content": [call("a", "Bash", command="tail -n 400 build.log")]},
        {"role": "user", "content": [result("a", 900)]},
        {"role": "assistant", "content": "Nothing of note."},
        {"role": "user", "content": "And now?"},
    ]
    (only,) = previewed(messages)
    assert (only.message, only.tool, only.about) == (2, "Bash", "tail -n 400 build.log")
    assert only.before > only.after > 0
''',
        ),
    ),
    agent("", pytest("tests/test_preview.py", expect=".")),
    agent(
        "It passes. To make it easy to reach I'll put both names where the other ones are.",
        edit(
            "python/trimtab/__init__.py",
            '    "Counter",\n    "Drop",\n',
            '    "Counter",\n    "Cut",\n    "Drop",\n',
        ),
        edit(
            "python/trimtab/__init__.py",
            '    "policies",\n    "read",\n',
            '    "policies",\n    "preview",\n    "read",\n',
        ),
        edit(
            "python/trimtab/__init__.py",
            '    "planning.plan": ("Plan",),\n',
            '    "planning.plan": ("Plan",),\n    "planning.preview": ("Cut", "preview"),\n',
        ),
    ),
    agent(
        "",
        bash(
            "python -c 'from trimtab import Cut, preview; print(Cut.__name__, preview.__name__)'",
            "Import the new names",
            expect="Cut preview",
        ),
    ),
    agent("""
The module is there: python/trimtab/planning/preview.py with `Cut` and `preview`, tests/test_preview.py with one test, which passes. `trimtab.preview` and `trimtab.Cut` can be imported from the package. The call is found as the row in front of the result.
"""),
    user("""
No. Three things are wrong. I said that the public names stay as they are: take both out of `__all__` and out of the
table again. "Cut" is taken: in this code base a cut is a place between messages, see rust/core/src/ledger/cut.rs, so
call the class `Loss`. And I do not believe the `row - 1`: show me what it does with parallel calls.
"""),
    agent(
        "You are right on the names: your first rule said so, and I broke it for convenience. That goes out first.",
        edit(
            "python/trimtab/__init__.py",
            '    "Counter",\n    "Cut",\n    "Drop",\n',
            '    "Counter",\n    "Drop",\n',
        ),
        edit(
            "python/trimtab/__init__.py",
            '    "policies",\n    "preview",\n    "read",\n',
            '    "policies",\n    "read",\n',
        ),
        edit("python/trimtab/__init__.py", '    "planning.preview": ("Cut", "preview"),\n', ""),
    ),
    agent(
        "",
        bash(
            "sed -i 's/\\bCut\\b/Loss/g; s/\\b_cut\\b/_loss/g' python/trimtab/planning/preview.py && "
            "grep -n 'Loss\\|_loss' python/trimtab/planning/preview.py",
            "Rename Cut to Loss",
            expect="class Loss:",
        ),
        bash(
            'python -c \'import trimtab; print(sorted({"preview", "Cut", "Loss"} & set(dir(trimtab))))\'',
            "See that no new name is public",
            expect="[]",
        ),
    ),
    agent(
        "The public names are as they were. Now the parallel calls, as a test, before I touch the `row - 1`.",
        edit(
            "tests/test_preview.py",
            "    assert only.before > only.after > 0\n",
            """    assert only.before > only.after > 0


def test_parallel_calls_keep_their_own_results():
    messages = [
        {"role": "user", "content": "Where is it?"},
        {"role": "assistant", "content": [call("a", "Read", file_path="log.py"), call("b", "Grep", pattern="warn")]},
        {"role": "user", "content": [result("b", 500), result("a", 700)]},
        {"role": "assistant", "content": "In log.py."},
        {"role": "user", "content": "And now?"},
    ]
    assert [(one.tool, one.about) for one in previewed(messages)] == [("Grep", "warn"), ("Read", "log.py")]
""",
        ),
    ),
    agent("", pytest("tests/test_preview.py", expect="KeyError: 'input'", fails=True)),
    agent(
        "There it is: with two calls the row in front of the second result is the first result, which has no input. With "
        "the first result it would have been worse, the wrong call and no error. How does the core pair them?",
        grep(r"pair", "rust/core/src/ledger", "*.rs", expect="UNPAIRED"),
        bash(
            "sed -n '/^pub fn pairs/,/^}/p' rust/core/src/ledger/groups.rs",
            "Read how rows are paired",
            expect="UNPAIRED",
        ),
    ),
    agent(
        "`pair` is by id, the latest open call of that id, and -1 where there is none. That is the look-up I wanted to save.",
        edit("python/trimtab/planning/preview.py", "    call = row - 1\n", "    call = int(ledger.pair[row])\n"),
    ),
    agent("", pytest("tests/test_preview.py", expect="..")),
    agent(
        "Both pass. But -1 is a position as well in Python: a result without a call would be told with the last row's "
        "message. Can such a transcript get here? A test that says how it should be told.",
        edit(
            "tests/test_preview.py",
            "def test_parallel_calls_keep_their_own_results():",
            """def test_a_result_without_a_call_is_told_without_a_tool():
    messages = [
        {"role": "user", "content": [result("gone", 900)]},
        {"role": "assistant", "content": "Nothing of note."},
        {"role": "user", "content": "And now?"},
    ]
    assert [(one.message, one.tool, one.about) for one in previewed(messages)] == [(0, "", "")]


def test_parallel_calls_keep_their_own_results():""",
        ),
    ),
    agent("", pytest("tests/test_preview.py", expect="unexpected_tool_use_id", fails=True)),
    agent(
        "It cannot: `plan` refuses it in the provider's words, before a row is looked at. My test was wrong, not the "
        "module. It says just that now, and `preview` needs no branch for -1.",
        edit(
            "tests/test_preview.py",
            """def test_a_result_without_a_call_is_told_without_a_tool():""",
            """def test_a_result_without_a_call_is_refused_by_the_plan():""",
        ),
        edit(
            "tests/test_preview.py",
            '    assert [(one.message, one.tool, one.about) for one in previewed(messages)] == [(0, "", "")]\n',
            '    with pytest.raises(trimtab.MessageError, match="unexpected_tool_use_id"):\n        previewed(messages)\n',
        ),
        edit("tests/test_preview.py", "import trimtab\n", "import pytest\n\nimport trimtab\n"),
    ),
    agent("", pytest("tests/test_preview.py", expect="...")),
    agent("""
All three are done.

- `__all__` and the table in python/trimtab/__init__.py are as they were before; no name of the preview is public.
- The class is `Loss`.
- `row - 1` was wrong. With parallel calls it raised `KeyError: 'input'`, and for the first result of a group it would have named the wrong call. The call now comes from `ledger.pair`, by id. A result without a call never gets there: `plan` refuses it.

Decision: `preview` has no check of its own, because `plan` has it. tests/test_preview.py has three tests; two of them failed before something was mended.
"""),
]

# Costs and restore

COST = [
    user("""
Better. What does it cost on a long transcript? No timings please, this machine is busy and they would be noise. Count
how often a column crosses the border from Rust.
"""),
    agent(
        "A column is a property, so first whether each access makes a new array.",
        script(
            """
from trimtab import Counter
from trimtab.counting.counter import scan

ledger = scan([{"role": "user", "content": "hello"}], Counter.for_model("claude-sonnet-5-5"))
print("the same array twice:", ledger.pair is ledger.pair)
""",
            "See whether a column is copied",
            expect="the same array twice: False",
        ),
        read("rust/python/src/ledger.rs", expect="pair"),
    ),
    agent(
        "Each access copies the whole column. I'll count them with a ledger that keeps a tally.",
        write(
            "tests/test_preview_cost.py",
            '''
"""A preview reads each column once, however many results there are."""

from collections import Counter

import trimtab
from trimtab.counting.counter import scan
from trimtab.planning.preview import preview

MODEL = "claude-sonnet-5-5"


class Tally:
    """A ledger that counts what is asked of it."""

    def __init__(self, ledger):
        self.ledger = ledger
        self.asked = Counter()

    def __getattr__(self, name):
        self.asked[name] += 1
        return getattr(self.ledger, name)


def session(turns):
    yield {"role": "user", "content": "Read them all."}
    for turn in range(turns):
        use = {"type": "tool_use", "id": f"t{turn}", "name": "Read", "input": {"file_path": f"{turn}.py"}}
        yield {"role": "assistant", "content": [use]}
        yield {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{turn}", "content": "word " * 300}]}
    yield {"role": "assistant", "content": "Read."}
    yield {"role": "user", "content": "And now?"}


def test_no_column_is_read_twice():
    messages = list(session(100))
    tally = Tally(scan(messages, trimtab.Counter.for_model(MODEL)))
    losses = preview(trimtab.Compactor(MODEL).plan(messages, target_share=0.6), tally, messages)
    assert len(losses) > 50
    columns = {name: times for name, times in tally.asked.items() if name != "name_of"}
    assert columns == {"owner": 1, "first": 1, "pair": 1, "tokens": 1}
''',
        ),
    ),
    agent("", pytest("tests/test_preview_cost.py", expect="'owner': 1", fails=True)),
    agent(
        "Several copies of whole columns for each result: rows times results, so quadratic. I'll read the columns once, "
        "in a value of their own.",
        bash(
            "sed -n '/^def preview/,$p' python/trimtab/planning/preview.py",
            "Look at the code as it is",
            expect="def _loss",
        ),
    ),
    agent(
        "",
        write(
            "python/trimtab/planning/preview.py",
            '''
"""Describes a plan by tool results, for readers who do not count rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .edits import Prune, Truncate
from .stages.sizes import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from .plan import Plan


@dataclass(frozen=True, slots=True)
class Loss:
    """A tool result that a plan shortens.

    Attributes:
        message: position of the message that holds it.
        tool: name of the tool that was called.
        about: what it was called with, on one line.
        before: tokens of the result now.
        after: tokens that it keeps at most.
    """

    message: int
    tool: str
    about: str
    before: int
    after: int


def preview(plan: Plan, ledger: Ledger, messages: Sequence[Message]) -> list[Loss]:
    """The results that ``plan`` shortens, in the order of the transcript.

    Each column is read once: every access copies it over the border.
    """
    owner, first, pair, tokens = ledger.owner, ledger.first, ledger.pair, ledger.tokens
    losses = []
    for row, after in sorted(_kept(plan).items()):
        call = int(pair[row])
        tool = about = ""
        if call >= 0:
            asked = int(owner[call])
            tool, about = ledger.name_of(call), _line(messages[asked]["content"][call - int(first[asked])]["input"])
        losses.append(Loss(int(owner[row]), tool, about, int(tokens[row]), after))
    return losses


def _kept(plan: Plan) -> dict[int, int]:
    """Tokens that each shortened row keeps at most."""
    kept: dict[int, int] = {}
    for edit in plan.edits:
        match edit:
            case Prune(rows):
                kept |= dict.fromkeys(rows, PLACEHOLDER)
            case Truncate(rows, most):
                kept |= dict.fromkeys(rows, most)
            case _:
                pass
    return kept


def _line(arguments: dict[str, Any]) -> str:
    first = next(iter(arguments.values()), "")
    return " ".join(str(first).split())[:60]
''',
        ),
    ),
    agent("", pytest("tests/test_preview.py tests/test_preview_cost.py", expect="....")),
    agent("""
It was quadratic: `pair`, `owner`, `first` and `tokens` were each copied over the border for every single result. Now each of the four columns is read once, and tests/test_preview_cost.py holds that with a ledger that keeps a tally, so there is no timing in it. `name_of` is still one call for each result; it gives one short string, so I left it.
"""),
    user("""
Good. One more doubt: what is pruned must come back. Do not tell me, show me: the list that `restore` gives, against the
one that went in.
"""),
    agent(
        "I'll read how it is kept, then run it on a session with pruned results.",
        read("python/trimtab/archive/sql/codec.py", expect="def encode"),
        bash(
            "sed -n '/^def store/,/^def commit/p' python/trimtab/archive/sql/write.py",
            "Read how originals are stored",
            expect="def store",
        ),
        read("python/trimtab/compaction/flow.py", expect="yield Store"),
    ),
    agent(
        "`Store` is yielded before anything is written or asked, and the originals are addressed by content. Now for real.",
        script(
            """
import json

import trimtab
from tests.test_preview_cost import MODEL, session
from trimtab.counting.counter import scan
from trimtab.planning.preview import preview

messages = list(session(40))
cm = trimtab.Compactor(MODEL)
losses = preview(cm.plan(messages, target_share=0.5), scan(messages, trimtab.Counter.for_model(MODEL)), messages)
done = cm.compact(messages, target_share=0.5)
back = cm.restore(done.ref)
gone = [loss.message for loss in losses]
print("edits:", ", ".join(type(edit).__name__ for edit in done.plan.edits))
print("every loss is a changed message:", all(done.messages[n] != messages[n] for n in gone))
print("nothing else is:", all(done.messages[n] is messages[n] for n in range(len(messages)) if n not in gone))
print("the first loss now reads:", done.messages[gone[-2]]["content"][0]["content"][:48])
print("back, equal:", back == messages, "- as JSON:", json.dumps(back) == json.dumps(messages))
print("half of the tokens at most:", done.tokens_after * 2 <= done.tokens_before)
""",
            "Compact, preview and restore a session",
            expect="every loss is a changed message: True\nnothing else is: True",
        ),
    ),
    agent("""
It comes back: the restored list is equal to the one that went in, and so is its JSON, byte for byte. In between, every message that `preview` named was changed, and every other one was the very same object. So the preview tells exactly what a pruning plan does, no more and no less.

One limit that I noticed: a plan that summarizes also removes messages. Their results are not in the preview, because `Prune` and `Truncate` only name what stays shortened. I take that for right, as you asked for results that are shortened, and leave it.
"""),
]

# Sizes, lint, the other shape

POLISH = [
    user("""
Agreed, leave it. Now my second rule: no function over 40 lines. Check it for the whole package, not only for your own
file, and lint what you wrote.
"""),
    agent(
        "There is a parser in the standard library, so no new dependency.",
        script(
            """
import ast
from pathlib import Path

sizes = []
for path in sorted(Path("python/trimtab").rglob("*.py")):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            sizes.append((node.end_lineno - node.lineno + 1, f"{path}:{node.name}"))
sizes.sort(key=lambda size: (-size[0], size[1]))
for lines, name in sizes[:12]:
    print(f"{lines:4} {name}")
print(len(sizes), "functions,", sum(lines > 40 for lines, _ in sizes), "over 40 lines")
print([size for size in sizes if "preview" in size[1]])
""",
            "List the longest functions",
            expect="functions,",
        ),
        bash(
            "ruff check --select E,F,W python/trimtab/planning/preview.py tests/test_preview*.py",
            "Lint",
            expect="E501",
            fails=True,
        ),
    ),
    agent(
        "The list has the longest functions of the package; mine are short. The linter has one finding, and it is mine: a "
        "line too long.",
        edit(
            "tests/test_preview_cost.py",
            """        yield {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{turn}", "content": "word " * 300}]}
""",
            """        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": "word " * 300}
        yield {"role": "user", "content": [result]}
""",
        ),
    ),
    agent(
        "",
        bash(
            "ruff check --select E,F,W python/trimtab/planning/preview.py tests/test_preview*.py",
            "Lint again",
            expect="passed",
        ),
        bash("ruff format --diff python/trimtab/planning/preview.py tests/test_preview*.py", "Check the format"),
        pytest("tests/test_preview_cost.py"),
    ),
    agent("""
The second rule: the longest function of mine has less than half of the 40 lines, and the list above says how the rest of the package stands; I changed nothing there. The lint is clean after one line of a test that was too long.
"""),
    user("""
Good. And what does the preview say about a transcript in OpenAI's chat shape? `plan` takes both.
"""),
    agent(
        "I have only ever tried the Messages shape. I'll run it before I say anything.",
        script(
            """
from tests.test_preview import previewed

called = {"id": "a", "type": "function", "function": {"name": "shell", "arguments": '{"command": "make check"}'}}
messages = [
    {"role": "user", "content": "Does it build?"},
    {"role": "assistant", "content": None, "tool_calls": [called]},
    {"role": "tool", "tool_call_id": "a", "content": "word " * 900},
    {"role": "assistant", "content": "It does."},
    {"role": "user", "content": "And now?"},
]
print(previewed(messages))
""",
            "Preview a chat transcript",
            expect="TypeError: 'NoneType' object is not subscriptable",
            fails=True,
        ),
    ),
    agent(
        "It falls over: there a call is not a block of the content, it stands in `tool_calls`. How does the core read it?",
        read("rust/core/src/shape/openai_chat.rs", expect="tool_calls"),
        grep(r"fn id_of|fn name_of", "rust/python/src", "*.rs", expect="fn id_of"),
    ),
    agent(
        "The core gives every call its id in both shapes. So I'll find the arguments by id instead of by arithmetic on "
        "rows, which is the same mistake as `row - 1` in a better suit. The test first.",
        edit(
            "tests/test_preview.py",
            "def test_parallel_calls_keep_their_own_results():",
            """def test_a_call_in_the_chat_shape_is_told_as_well():
    made = {"name": "shell", "arguments": \'{"command": "make check"}\'}
    messages = [
        {"role": "user", "content": "Does it build?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": made}]},
        {"role": "tool", "tool_call_id": "a", "content": "word " * 900},
        {"role": "assistant", "content": "It does."},
        {"role": "user", "content": "And now?"},
    ]
    assert [(one.message, one.tool, one.about) for one in previewed(messages)] == [(2, "shell", "make check")]


def test_parallel_calls_keep_their_own_results():""",
        ),
    ),
    agent("", pytest("tests/test_preview.py", expect="TypeError", fails=True)),
    agent(
        "",
        edit(
            "python/trimtab/planning/preview.py",
            "            asked = int(owner[call])\n"
            '            tool, about = ledger.name_of(call), _line(messages[asked]["content"][call - int(first[asked])]["input"])\n',
            "            arguments = _arguments(messages[int(owner[call])], ledger.id_of(call))\n"
            "            tool, about = ledger.name_of(call), _line(arguments)\n",
        ),
        edit(
            "python/trimtab/planning/preview.py",
            "    owner, first, pair, tokens = ledger.owner, ledger.first, ledger.pair, ledger.tokens\n",
            "    owner, pair, tokens = ledger.owner, ledger.pair, ledger.tokens\n",
        ),
        edit(
            "python/trimtab/planning/preview.py",
            """def _line(arguments: dict[str, Any]) -> str:
    first = next(iter(arguments.values()), "")
    return " ".join(str(first).split())[:60]
""",
            '''def _arguments(message: Message, id: str) -> Any:
    """Return a call's arguments by its id, in the Messages and the Chat shape; None in any other."""
    for made in message.get("tool_calls") or ():
        if made.get("id") == id:
            return made["function"]["arguments"]
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if block.get("type") == "tool_use" and block.get("id") == id:
            return block["input"]
    return None


def _line(arguments: Any) -> str:
    """The first argument on one line; text that is no JSON object as it stands."""
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments)
    first = next(iter(arguments.values()), "") if isinstance(arguments, dict) else arguments or ""
    return " ".join(str(first).split())[:60]
''',
        ),
        edit(
            "python/trimtab/planning/preview.py",
            "from dataclasses import dataclass\n",
            "import json\nfrom contextlib import suppress\nfrom dataclasses import dataclass\n",
        ),
    ),
    agent("", pytest("tests/test_preview.py tests/test_preview_cost.py", expect="'id_of'", fails=True)),
    agent(
        "The chat test passes. What fails is the cost test, for two good reasons: `first` is no longer read, and `id_of` is "
        "asked once for each result, like `name_of`. Both give one short string, no column. The test has to say that.",
        edit(
            "tests/test_preview_cost.py",
            """    columns = {name: times for name, times in tally.asked.items() if name != "name_of"}
    assert columns == {"owner": 1, "first": 1, "pair": 1, "tokens": 1}
""",
            """    words = {"name_of", "id_of"}  # a short string each, no column
    columns = {name: times for name, times in tally.asked.items() if name not in words}
    assert columns == {"owner": 1, "pair": 1, "tokens": 1}
""",
        ),
    ),
    agent(
        "",
        pytest("tests/test_preview.py tests/test_preview_cost.py", expect="....."),
        bash(
            "ruff check --select E,F,W python/trimtab/planning/preview.py tests/test_preview*.py",
            "Lint",
            expect="passed",
        ),
    ),
    agent("""
It raised a TypeError; now it tells calls of the chat shape as well. Decision: arguments are found by the call's id, not by counting rows, so both shapes go the same way and one column less crosses the border. Arguments that are no valid JSON are shown as they stand instead of failing: a model can break off in the middle of them.

Still open: the Responses shape, Bedrock and Gemini. There `about` is empty, but tool and tokens are right.
"""),
    user("""
Leave those three open, but name them in the write-up. One thing I see in `_line`: it keeps the first 60 characters. Of a
long path that is the part that all paths share. For a path keep the end, for everything else the beginning.
"""),
    agent(
        "A path is text with a slash and no space; that is a guess, but a wrong one only costs the other end. Test first.",
        edit(
            "tests/test_preview.py",
            "def test_parallel_calls_keep_their_own_results():",
            """@pytest.mark.parametrize(
    ("argument", "about"),
    [
        ("/srv/app/" + "deep/" * 20 + "ledger.rs", "..." + ("deep/" * 20)[-48:] + "ledger.rs"),
        ("grep -rn warn " + "src/ " * 20, ("grep -rn warn " + "src/ " * 20)[:57] + "..."),
        ("ls\\n  -l", "ls -l"),
    ],
)
def test_of_a_long_path_the_end_is_told_and_of_all_else_the_beginning(argument, about):
    messages = [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": [call("a", "Any", argument=argument)]},
        {"role": "user", "content": [result("a", 900)]},
        {"role": "assistant", "content": "There."},
        {"role": "user", "content": "And now?"},
    ]
    assert [(one.about, len(one.about) <= 60) for one in previewed(messages)] == [(about, True)]


def test_parallel_calls_keep_their_own_results():""",
        ),
    ),
    agent("", pytest("tests/test_preview.py", expect="ledger.rs", fails=True)),
    agent(
        "The two long ones fail, the short one passes. Now the code.",
        edit(
            "python/trimtab/planning/preview.py",
            '    return " ".join(str(first).split())[:60]\n',
            '    return _short(" ".join(str(first).split()))\n\n\n'
            "def _short(text: str) -> str:\n"
            '    """At most ``WIDTH`` characters: the end of a path, the beginning of anything else."""\n'
            "    if len(text) <= WIDTH:\n"
            "        return text\n"
            '    if "/" in text and " " not in text:\n'
            '        return "..." + text[3 - WIDTH :]\n'
            '    return text[: WIDTH - 3] + "..."\n',
        ),
        edit(
            "python/trimtab/planning/preview.py",
            "\n\n@dataclass(frozen=True, slots=True)\nclass Loss:",
            '\n\nWIDTH = 60\n"""Most characters of what a call was made with: a line of 80 has room for it, its tool and its tokens."""\n'
            "\n\n@dataclass(frozen=True, slots=True)\nclass Loss:",
        ),
    ),
    agent("", pytest("tests/test_preview.py tests/test_preview_cost.py", expect="........")),
    agent(
        "Green. The module is new, so the tests of the layers have something to say about it as well.",
        pytest("-k 'preview or deciding' tests/test_house.py", expect="."),
    ),
    agent(
        "Once more everything that I touched, with the rules that you gave at the start.",
        bash(
            "ruff check --select E,F,W python/trimtab tests/test_preview*.py tests/test_split_end.py",
            "Lint",
            expect="passed",
        ),
        bash("ruff format --diff python/trimtab/planning/preview.py tests/test_preview*.py", "Check the format"),
        bash(
            'python -c \'import trimtab; print({"preview", "Cut", "Loss"} & set(trimtab.__all__) or "no new name")\'',
            "See that the public names are the old ones",
            expect="no new name",
        ),
        pytest("tests/test_split_end.py tests/test_preview.py tests/test_preview_cost.py", expect="............."),
    ),
    agent("", read("python/trimtab/planning/preview.py", expect="def _short")),
    agent("""
Done. `_short` keeps the end of a path and the beginning of anything else, at most `WIDTH` = 60 characters. tests/test_house.py takes the module where it is: it imports from lower packages only, and reads no clock and no file. All tests of today pass, the lint is clean, no public name is new, and the longest function of mine has well under 40 lines.
"""),
    user("""
That is what I wanted. Last: write the text of the pull request. Title with the ticket from my first message; what changed
and why, which test shows what, what is still open. Keep to my rules in it: nothing about public names that is not so.
"""),
]

STEPS: list[User | Agent] = [*SPLIT, *WALK, *PREVIEW, *COST, *POLISH]
