"""A tool's output on its way in: cut by one unit, archived whole, restored as it was."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import trimtab
from support.models import CLAUDE, GEMINI_UNSIGNED, GPT, GPT_SMALL
from support.scale import scaled
from trimtab import Compactor, Kind, Policy
from trimtab.archive import open_archive
from trimtab.planning import Ingest
from trimtab.policies import POLICIES

MODEL = CLAUDE
COUNTER = trimtab.Counter.for_model(MODEL)
SHARED = Path(__file__).parents[3] / "shared" / "data" / "transcripts"
TOOLS = {"shell": "head-tail", "grep": "match-list", "read_file": "file-content", "other": "generic"}
REF = re.compile(r"; recall or restore ([0-9a-f]{20})\]\n")
SPEC = "[42 lines, 18340 bytes omitted; recall or restore 0123456789abcdef0123]\n"
"""A notice of ours in somebody's output."""

WORDS = {
    "ascii": ("word ", "x" * 30, "1 + 1", "\n", "\n"),
    "russian": ("слово ", "ошибка: нет файла ", "\n"),
    "japanese": ("日本語のテキスト。", "エラー", "\n"),
    "emoji": ("👩‍👩‍👧", "🇩🇪", "👍🏽", "😀 ", "\n"),
    "mixed": ("word ", "слово ", "日本語", "👩‍👩‍👧", "e\u0301", "\r\n", "\x1b[31m", "\x1b[0m", "omitted", SPEC),
}
TEXTS = st.sampled_from(tuple(WORDS)).flatmap(
    lambda name: st.tuples(st.lists(st.sampled_from(WORDS[name]), min_size=1, max_size=40), st.integers(1, 12)).map(
        lambda made: "".join(made[0]) * made[1]
    )
)


def capped(name: str, tokens: int) -> Policy:
    """A preset with this cap: its own rule in its own unit where it has one, else a rule in the model's tokens."""
    policy = POLICIES[name]
    own = policy.ingest or Ingest(0, POLICIES["sven"].ingest.categories)
    return replace(policy, ingest=replace(own, tokens=tokens))


@pytest.fixture(scope="module")
def agents() -> dict[Any, Compactor]:
    caps = (0, 1, 5, 12, 20, 48, 200, 1_000)
    return {(name, cap): Compactor(MODEL, policy=capped(name, cap)) for name in POLICIES for cap in caps}


@settings(max_examples=scaled(300))
@given(
    TEXTS,
    st.sampled_from(sorted(POLICIES)),
    st.sampled_from((0, 1, 5, 12, 20, 48, 200, 1_000)),
    st.sampled_from([*TOOLS]),
)
def test_any_output_is_cut_to_the_cap_of_any_policy_and_restored(agents, text, name, cap, tool) -> None:
    cm = agents[name, cap]
    count = oracle_bytes if cm.policy.ingest.unit == "bytes" else COUNTER.count
    most = cap * 4 if cm.policy.ingest.unit == "bytes" else cap
    short = cm.ingest(tool, text)
    if cap == 0 or count(text) <= most:
        assert short is text
        return
    assert count(short) <= most, "the notice counts"
    assert cm.ingest(tool, short) is short, "idempotent"
    assert cm.ingest(tool, text) == short, "equal outputs have equal results"
    found = [ref for ref in REF.findall(short) if ref not in SPEC]
    for ref in found or [past.ref for past in cm.history(None)]:
        if cm.restore(ref) == [{"role": "tool", "content": text}]:
            break
    else:
        pytest.fail("no ref restores the output")
    more = f"recall or restore {ref}"
    assert oracle.truncation(text, short, TOOLS[tool], more), short
    if cm.policy.ingest.unit == "bytes":
        lines = 101 if tool == "shell" else None
        assert short == oracle.truncated(text, TOOLS[tool], lines, size=most, more=more)


def oracle_bytes(text: str) -> int:
    return len(text.encode())


RUSSIAN = "Строка журнала сборки без единой ошибки. " * 359
JAPANESE = "日本語の長い出力です。" * 4_000


@pytest.mark.parametrize("tool", [*TOOLS])
def test_sven_keeps_as_much_of_a_russian_output_as_of_an_english_one(tool) -> None:
    assert len(RUSSIAN) > 14_700
    short = Compactor(MODEL, policy="sven").ingest(tool, RUSSIAN)
    if tool == "grep":  # one line without end is one match, and a match is shown whole or not at all
        assert short.startswith("[1 line, ")
    else:
        assert 15_500 <= len(short.encode()) <= 16_000


def test_sven_holds_its_cap_for_a_japanese_output() -> None:
    assert len(JAPANESE.encode()) > 2.8 * 16_000
    assert 15_900 <= len(Compactor(MODEL, policy="sven").ingest("other", JAPANESE).encode()) <= 16_000


@pytest.mark.parametrize("quoted", ["omitted", SPEC, "[27300 bytes omitted]\n"])
@pytest.mark.parametrize("name", ["sven", "sven_narrative"])
def test_an_output_that_quotes_a_notice_is_cut_like_any_other(name, quoted) -> None:
    text = f"{quoted}{'ы' * 20_000}\n{quoted}"
    cm = Compactor(MODEL, policy=name)
    short = cm.ingest("other", text)
    assert len(short.encode()) <= 16_000
    assert cm.restore(REF.findall(short)[-1]) == [{"role": "tool", "content": text}]


def test_a_cut_output_says_how_to_read_the_rest_and_the_recall_tool_reads_it() -> None:
    cm = Compactor(MODEL, policy="sven").session("build")
    log = "".join(f"строка {n}\n" for n in range(9_000))
    [ref] = REF.findall(cm.ingest("shell", log))
    assert cm.restore(ref) == [{"role": "tool", "content": log}]
    recall = cm.recall_tool()
    parts, offset = [], 0
    while offset is not None:
        part, _, follows = recall({"ref": ref, "offset": offset}).partition("\n[")
        parts.append(part)
        offset = int(follows.rpartition(" ")[2].rstrip("]")) if follows else None
    assert "".join(parts) == log.rstrip("\n") or "".join(parts) == log
    assert recall({"query": "строка 4500"}).startswith("[1] tool")
    assert cm.history()[0].strategy == "ingest"
    assert cm.archive.verify() == []
    assert "no compaction" in Compactor(MODEL, archive=cm.archive).session("other").recall_tool()({"ref": ref})


def test_an_output_of_parity_has_the_documents_notice_and_is_archived() -> None:
    cm = Compactor(MODEL, policy=replace(POLICIES["sven"], parity=True))
    log = "line\n" * 9_000
    assert re.search(r"\n\[\d+ lines, \d+ bytes omitted; read on with offset/limit\]\n", cm.ingest("read_file", log))
    assert cm.restore(cm.history()[0].ref) == [{"role": "tool", "content": log}]


def test_an_output_may_be_cut_while_its_session_is_compacted(tmp_path) -> None:
    policy = replace(POLICIES["default"], ingest=Ingest(100))
    messages = [{"role": "user", "content": f"step {n} " + "word " * 60} for n in range(60)]
    with Compactor(MODEL, policy=policy, archive=f"sqlite:///{tmp_path}/a.db") as shared:
        other = shared.session("s")

        def write(_: object) -> str:
            other.ingest("Bash", "line\n" * 900)
            return "what happened"

        with Compactor(MODEL, policy=policy, archive=f"sqlite:///{tmp_path}/a.db", summarizer=write) as later:
            cm = later.session("s")
            done = cm.compact(messages, target_share=0.4)
            assert done.summarizer
            assert cm.archive.prune(keep=1).events == (), "the output stands in the list that the compaction archived"
            cm.ingest("Bash", "other\n" * 900)
            again = cm.compact(
                [*done.messages, *({"role": "user", "content": "more " + "word " * 90},) * 9], target_share=0.5
            )
            assert again.ref
            assert sum("trimtab-summary" in json.dumps(message) for message in again.messages) == 1
            assert {past.strategy for past in cm.history()} >= {"ingest"}
            assert cm.archive.verify() == []


def test_an_output_that_retention_removed_is_archived_anew(tmp_path) -> None:
    with Compactor(MODEL, policy="sven", archive=f"sqlite:///{tmp_path}/a.db") as shared:
        cm = shared.session("s")
        [first] = REF.findall(cm.ingest("other", RUSSIAN))
        assert cm.archive.prune(older_than=timedelta(0)).events == (first,)
        [second] = REF.findall(cm.ingest("other", RUSSIAN))
        assert cm.restore(second) == [{"role": "tool", "content": RUSSIAN}]
        assert [second] == REF.findall(cm.ingest("other", RUSSIAN))


def test_a_cut_output_is_archived_as_redact_leaves_it() -> None:
    cm = Compactor(MODEL, policy="sven", redact=lambda text: text.replace("пароль", "***"))
    [ref] = REF.findall(cm.ingest("other", "пароль " * 9_000))
    assert cm.restore(ref) == [{"role": "tool", "content": "*** " * 9_000}]


def test_an_archive_that_cannot_store_leaves_the_output_to_the_caller() -> None:
    archive = open_archive("memory")
    archive.close()
    cm = Compactor(MODEL, policy="sven", archive=archive)
    assert cm.ingest("other", "short") == "short"
    with pytest.raises(trimtab.ArchiveError):
        cm.ingest("other", RUSSIAN)


@pytest.mark.parametrize("content", ["text", "blocks"])
def test_a_result_that_a_compaction_truncates_says_how_to_read_the_rest(content) -> None:
    log = "".join(f"строка {n}: {SPEC}" for n in range(900))
    result = log if content == "text" else [{"type": "text", "text": log}, {"type": "text", "text": "конец"}]
    messages: list[Any] = [{"role": "user", "content": "go"}]
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}} for n in range(2)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": result} for n in range(2)]
    messages += [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    cm = Compactor(MODEL)
    done = cm.compact(messages, target_share=0.4)
    assert any(isinstance(edit, trimtab.planning.Truncate) for edit in done.plan.edits)
    assert f"recall or restore {done.ref}]" in json.dumps(done.messages)
    assert cm.restore(done.ref) == messages


def outputs() -> list[str]:
    """Tool outputs of recorded sessions, a few of each format."""
    found = []
    for folder in sorted(path for path in SHARED.iterdir() if path.is_dir()) if SHARED.exists() else ():
        files = [path for path in sorted(folder.rglob("*")) if path.suffix in {".jsonl", ".json"}][:2]
        for file in files:
            read = trimtab.read(file.read_bytes())
            texts = [text for message in read.messages for text in texts_in(message)]
            found += sorted(texts, key=len)[-6:]
    return found


def texts_in(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if len(value) > 2_000 else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in texts_in(part)]


@pytest.mark.shared
@pytest.mark.parametrize("name", ["sven", "default"])
def test_recorded_outputs_are_cut_and_restored(name) -> None:
    cm = Compactor(MODEL, policy=capped(name, 400))
    texts = outputs()
    assert len(texts) > 20
    for text in texts:
        short = cm.ingest("shell", text)
        size, most = (len(short.encode()), 1_600) if name == "sven" else (COUNTER.count(short), 400)
        assert size <= most
        assert cm.ingest("shell", short) is short
        if short is not text:
            assert cm.restore(REF.findall(short)[-1])[0]["content"] == text


def conversation(text: str, provider: str) -> list[Any]:
    """A request, two calls and their results, each with this text, in a provider's shape."""
    ids = ("t1", "t2")
    if provider == "anthropic":
        calls = [{"type": "tool_use", "id": name, "name": "f", "input": {}} for name in ids]
        results = [{"type": "tool_result", "tool_use_id": name, "content": text} for name in ids]
    elif provider == "bedrock":
        calls = [{"toolUse": {"toolUseId": name, "name": "f", "input": {}}} for name in ids]
        results = [{"toolResult": {"toolUseId": name, "content": [{"text": text}]}} for name in ids]
    if provider in {"anthropic", "bedrock"}:
        go: Any = "go" if provider == "anthropic" else [{"text": "go"}]
        return [
            {"role": "user", "content": go},
            {"role": "assistant", "content": calls},
            {"role": "user", "content": results},
        ]
    if provider == "openai_chat":
        invoked = [{"id": n, "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in ids]
        answers = [{"role": "tool", "tool_call_id": name, "content": text} for name in ids]
        return [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": invoked},
            *answers,
        ]
    if provider == "openai_responses":
        asked = [{"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"} for name in ids]
        answered = [{"type": "function_call_output", "call_id": name, "output": text} for name in ids]
        return [{"role": "user", "content": "go"}, *asked, *answered]
    responses = [{"functionResponse": {"name": "f", "response": {"result": text}}} for _ in ids]
    return [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}} for _ in ids]},
        {"role": "user", "parts": responses},
    ]


MODELS = {
    "anthropic": MODEL,
    "bedrock": "anthropic.claude-sonnet-4-5-20250929-v1:0",
    "openai_chat": GPT_SMALL,
    "openai_responses": GPT,
    "gemini": GEMINI_UNSIGNED,
}


@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize("provider", sorted(MODELS))
def test_a_truncation_takes_what_its_plan_says(provider, name) -> None:
    cm = Compactor(MODELS[provider], provider=provider, policy=POLICIES[name], window=200_000)
    messages = conversation("".join(f'строка {n} of a "log"\n' for n in range(900)), provider)
    bare = cm.plan(messages, target_share=0.9)
    ledger = trimtab.Ledger.of(messages, counter=cm._session._memory.settings.counter, provider=provider)
    rows = tuple(ledger.kind.tolist().index(Kind.RESULT) + n for n in range(2))
    for most in (60, 300, 2_000):
        after = ledger.total - sum(max(int(ledger.tokens[row]) - most, 0) for row in rows)
        plan = replace(bare, edits=(trimtab.planning.Truncate(rows, most),), tokens_after=after)
        done = cm.compact(messages, plan=plan)
        assert done.ref, done.reason
        assert done.tokens_after <= plan.tokens_after
