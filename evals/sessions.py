"""Compacts every recorded session to half its tokens and checks the result; ``make eval-sessions``.

Reads the session files of all agents in ``../shared/data/transcripts``. Prints a row a file, then the tokens of the
messages that ``read`` returns beside the billed ones, and by format the parts of the files that are never sent. Exits
with 1 if a session that is large enough misses its target, is invalid by ``tests/support/checker.py`` (which shares no
code with trimtab), is changed, is another list after it is written and read again, or cannot be restored.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import trimtab  # noqa: E402
from support import checker  # noqa: E402 - beside the tests, not in the package
from trimtab.cli.files import to_text  # noqa: E402
from trimtab.counting.counter import scan  # noqa: E402
from trimtab.planning.edits import Drop, Prune, Summarize, Truncate  # noqa: E402

SESSIONS = ROOT.parent / "shared" / "data" / "transcripts"
MODEL = "claude-sonnet-5-5"  # for files that name none
ENOUGH_TOKENS, ENOUGH_MESSAGES = 8_000, 12  # smaller sessions may be refused
LOWEST = 0.7  # of the target: a smaller result removed more than it had to


@dataclass
class Row:
    """The result of one file."""

    name: str
    format: str
    messages: int
    before: int
    after: int
    target: int
    shares: dict[str, float]
    seconds: float
    reason: str
    faults: list[str]

    @property
    def large(self) -> bool:
        return self.before > ENOUGH_TOKENS and self.messages > ENOUGH_MESSAGES

    @property
    def landing(self) -> float:
        return self.after / self.target


def shares(done: trimtab.Compaction, messages: list[dict], counter: trimtab.Counter) -> dict[str, float]:
    """Shares of the tokens that were pruned, dropped, summarized and kept."""
    ledger = scan(messages, counter, done.plan.provider)
    tokens, cost = ledger.tokens.astype(int), ledger.per_message.astype(int)
    out = dict.fromkeys(("pruned", "dropped", "summarized"), 0)
    for edit in done.plan.edits:
        match edit:
            case Prune(rows):
                out["pruned"] += int(tokens[list(rows)].sum())
            case Truncate(rows, most):
                out["pruned"] += int((tokens[list(rows)] - most).clip(min=0).sum())
            case Summarize(start, stop, _, keep) | Drop(start, stop, _, keep):
                left = int(cost[start:stop].sum() - cost[list(keep)].sum())
                out["summarized" if isinstance(edit, Summarize) else "dropped"] += left
            case _:
                pass
    total = max(ledger.total, 1)
    return {name: value / total for name, value in out.items()} | {"kept": 1 - sum(out.values()) / total}


def checked(found: trimtab.Transcript, name: str) -> Row:
    """Compacts a transcript twice, and collects the faults."""
    faults = [f"read: {f}" for f in checker.check(found.messages, found.provider)[:1]]
    cm = trimtab.Compactor(found.model or MODEL, provider=found.provider)
    body = json.dumps(found.messages)
    start = time.perf_counter()
    done = cm.compact(found.messages, target_share=0.5)
    seconds = time.perf_counter() - start
    again = cm.compact(done.messages, target_share=0.5)
    for what, result in (("once", done), ("twice", again)):
        faults += [f"{what}: {f}" for f in checker.check(list(result.messages), found.provider)[:1]]
    if json.dumps(found.messages) != body:
        faults.append("the messages were changed")
    if done.ref and json.dumps(cm.restore(done.ref)) != body:
        faults.append("the originals are not restored")
    again = trimtab.read(to_text(found.messages, name).encode(), format=found.provider)
    if (again.messages, again.repaired) != (found.messages, []):
        faults.append("writing and reading it again gives another list")
    counter = trimtab.Counter.for_model(found.model or MODEL)
    parts = shares(done, found.messages, counter)
    size = (done.tokens_before, done.tokens_after, done.plan.target)
    row = Row(name, found.format, len(found.messages), *size, parts, seconds, done.reason, faults)
    if row.large and not LOWEST <= row.landing <= 1.0:
        row.faults.append(f"landed at {row.landing:.2f} of its target")
    return row


def files() -> list[Path]:
    """The session files, sorted."""
    return sorted(p for p in SESSIONS.rglob("*") if p.is_file() and p.name != "manifest.csv")


def sessions() -> list[tuple[str, trimtab.Transcript]]:
    """All sessions, by name; one that cannot be read ends the run."""
    return [(f"{path.parent.name}/{path.name}", trimtab.read(path)) for path in files()]


def table(rows: list[Row]) -> None:
    print(
        f"{'file':46} {'msgs':>5} {'before':>8} {'after':>8} {'land':>5} "
        f"{'prun':>5} {'drop':>5} {'summ':>5} {'kept':>5} {'ms':>5}"
    )
    for row in rows:
        cells = " ".join(f"{100 * row.shares[n]:4.0f}%" for n in ("pruned", "dropped", "summarized", "kept"))
        note = "" if row.large else f"  small: {row.reason}"
        fault = f"  FAULT: {'; '.join(row.faults)}" if row.faults else ""
        print(
            f"{row.name[-46:]:46} {row.messages:5} {row.before:8,} {row.after:8,} {row.landing:5.2f} "
            f"{cells} {1000 * row.seconds:5.0f}{note}{fault}"
        )


def unseen(transcript: trimtab.Transcript, counter: trimtab.Counter) -> int:
    """Billed tokens of the first call beyond its messages: system text, tools, reminders."""
    first = transcript.usage[0]
    return max(first.prompt - scan(transcript.messages[: first.before], counter, transcript.provider).total, 0)


def charged(found: list[tuple[str, trimtab.Transcript]]) -> list[float]:
    """Prints the last billed prompt of each file beside the count of its messages. Returns the errors.

    A file does not hold the system text and the tool definitions. The surplus of its first billed call stands for them;
    nothing later is used.
    """
    print("\ntokens of the messages that read returns, beside the billed prompt of the next call")
    print(f"{'file':46} {'messages':>9} {'unseen':>8} {'sum':>9} {'billed':>9} {'error':>7}")
    errors = []
    for name, transcript in found:
        if (
            transcript.format not in {"claude_code", "codex"} or len(transcript.usage) < 2
        ):  # the first call is the anchor
            continue
        counter, last = trimtab.Counter.for_model(transcript.model or MODEL), transcript.usage[-1]
        messages = scan(transcript.messages[: last.before], counter, transcript.provider).total
        beyond = unseen(transcript, counter)
        error = (messages + beyond - last.prompt) / last.prompt
        errors.append(error)
        sum_ = messages + beyond
        print(f"{name[-46:]:46} {messages:9,} {beyond:8,} {sum_:9,} {last.prompt:9,} {100 * error:+6.1f}%")
    return errors


def skipped(found: list[tuple[str, trimtab.Transcript]]) -> None:
    print("\nfiles of which more than 1 % of the lines could not be read:")
    for name, transcript in found:
        if len(transcript.skipped) > 0.01 * max(transcript.lines, 1):
            lines = ", ".join(str(s.line) for s in transcript.skipped[:5])
            print(f"  {name[-60:]}: {len(transcript.skipped)} of {transcript.lines} (lines {lines})")


def left_out(found: list[tuple[str, trimtab.Transcript]]) -> None:
    print("\nby format: messages, lines that could not be read, and parts of the files that are never sent")
    for name in sorted({transcript.format for _, transcript in found}):
        read = [transcript for _, transcript in found if transcript.format == name]
        kinds = Counter()
        for transcript in read:
            kinds.update(transcript.left_out)
        messages, usage, lost = (sum(len(getattr(t, of)) for t in read) for of in ("messages", "usage", "skipped"))
        print(f"{name}: {len(read)} files, {messages:,} messages, {usage:,} billed calls, {lost:,} lines skipped")
        print(f"  left out {kinds.total():,}: " + ", ".join(f"{kind} {many:,}" for kind, many in kinds.most_common()))


def main() -> int:
    if not SESSIONS.is_dir():
        print(f"skipped: no recorded sessions at {SESSIONS.relative_to(ROOT.parent)}")
        return 0
    start = time.process_time()
    found = sessions()
    counts = [
        trimtab.Counter.for_model(t.model or MODEL).per_message(t.messages, provider=t.provider) for _, t in found
    ]
    reading = time.process_time() - start
    rows = [checked(transcript, name) for name, transcript in found]
    table(rows)
    errors = charged(found)
    skipped(found)
    left_out(found)
    large = [row for row in rows if row.large]
    faults = [row for row in rows if row.faults]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files())).hexdigest()[:12]
    before, after = sum(r.before for r in large), sum(r.after for r in large)
    print(
        f"\n{len(rows)} files, {sum(int(c.sum()) for c in counts):,} tokens; "
        f"trimtab {trimtab.__version__}, input {digest}"
    )
    print(
        f"{len(large)} large enough: {before:,} -> {after:,} tokens, landing "
        f"{min(r.landing for r in large):.2f} to {max(r.landing for r in large):.2f} of the target"
    )
    print(f"billed prompts: median error {100 * statistics.median(map(abs, errors)):.1f} % over {len(errors)} files")
    print(f"read and counted in {reading:.1f} s of one core; compacted in {sum(r.seconds for r in rows):.1f} s")
    print(f"faults: {len(faults)}")
    return int(bool(faults) or statistics.median(map(abs, errors)) > 0.25 or reading > 10)


if __name__ == "__main__":
    sys.exit(main())
