"""Our own cases of seeds 003 and 004."""

from __future__ import annotations

from own import MARKER, SIX, Own, lines, order_of, ran, stored

TURNS = [stored("u2"), stored("u3")]
FULL = {"model": {"context": 100_000, "output": 32_000}, "tokens": {"input": 90_000, "output": 0}}
BULLETS = (
    "What was done",
    "currently being worked on",
    "files are being modified",
    "needs to be done next",
    "requests, constraints, or preferences",
    "technical decisions",
)


def said(last: int, part: str) -> object:
    """Whether one of the messages that a model is sent has these words; counted from the end."""
    return lambda r: part in r["messages"][last]["text"]


CASES = [
    Own("a checkpoint is the default", "R3.14", "config_default", {"key": "compaction_strategy"}, "structured"),
    Own("a tenth is the default reserve", "R3.16", "config_default", {"key": "compaction_overhead_reserve"}, 0.1),
    Own(
        "between the trigger and 95 % the model summarizes",
        "R3.17",
        "ensure_fits_budget_then_submit",
        {"messages": [{"role": "user", "text": "x" * 400}] * 20, "max_tokens": 2_500, "llm": {"text": "S"}},
        lambda r: r["event"]["strategy"] == "structured" and r["plan"] == "summarised",
    ),
    Own(
        "a model without a window never overflows",
        "R4.2",
        "is_overflow_seed004",
        {"model": {"context": 0, "output": 32_000}, "tokens": {"input": 10**9}},
        False,
    ),
    Own(
        "a limit of the input goes before window less output, a larger one too",
        "R4.4",
        "is_overflow_seed004",
        {"model": {"context": 100_000, "input": 90_000, "output": 32_000}, "tokens": {"input": 80_000}},
        False,
    ),
    Own(
        "what the cache gave and the answer count",
        "R4.5",
        "is_overflow_seed004",
        {
            "model": {"context": 100_000, "output": 32_000},
            "tokens": {"input": 60_000, "cache_read": 8_000, "output": 1},
        },
        True,
    ),
    Own(
        "pruning stops at a part that is pruned already",
        "R4.26",
        "prune",
        {
            "messages": [
                stored("a0", ran("c0", 200_000), role="assistant"),
                stored("a1", ran("c1", 200_000, compacted=1), role="assistant"),
                stored("u1"),
                stored("a2", ran("c2", 200_000), role="assistant"),
                *TURNS,
            ]
        },
        {"pruned_ids": ["c2"]},
    ),
    Own("a factor begins at one", "R3.4", "session", {"max_tokens": 1000}, {"calibration_factor": 1.0}),
    Own(
        "what a cache gave was sent as well",
        "R3.7 R3.45 R3.5",
        "agent_turn",
        {"submit": "x" * 400, "usage": {"input": 100, "output": 5, "cache_read": 30, "cache_write": 0}},
        lambda r: abs(r["calibration_factor"] - 1.06) < 1e-9,
    ),
    Own(
        "what a cache took is not counted twice",
        "R3.7",
        "agent_turn",
        {"submit": "x" * 400, "usage": {"input": 100, "output": 5, "cache_read": 0, "cache_write": 30}},
        {"calibration_factor": 1.0},
    ),
    Own(
        "the gate is before the turn and behind every batch of results",
        "R3.10 R3.38 R3.39 R3.43",
        "agent_trace",
        {"first_turn": True, "tool_rounds": 1},
        {
            "order": [
                "gate(0)",
                "push system",
                "push user",
                "model",
                "calibrate",
                "tools",
                "truncate+push",
                "gate(1)",
                "model",
                "calibrate",
            ]
        },
    ),
    Own(
        "a later turn has its system text already",
        "R3.43",
        "agent_trace",
        {"first_turn": False, "tool_rounds": 0},
        {"order": ["gate(0)", "push user", "model", "calibrate"]},
    ),
    Own(
        "a checkpoint has six sections",
        "R3.27",
        "compact_session",
        {"messages": [{"role": "user", "text": "u"}], "strategy": "structured"},
        lambda r: order_of(*SIX)(r["messages"][0]["text"]) and r["messages"][0]["text"].count("\n## ") == 6,
    ),
    Own(
        "a narrative has none",
        "R3.28",
        "compact_session",
        {"messages": [{"role": "user", "text": "u"}], "strategy": "narrative"},
        lambda r: "## " not in r["messages"][0]["text"],
    ),
    Own(
        "only the tools that the document names have a category of their own",
        "R3.37",
        "output_category",
        {"tool": "gdb_start_server"},
        "Generic",
    ),
    Own("a debugger's command says most at both ends", "R3.37", "output_category", {"tool": "gdb_command"}, "HeadTail"),
    Own(
        "a call that says nothing of what it was charged teaches nothing",
        "R3.5",
        "session",
        {"max_tokens": 1000, "token_count": 100, "ops": [["usage", {"input": 0, "cache_read": 0}]]},
        {"calibration_factor": 1.0},
    ),
    Own(
        "a section of nothing but remarks leaves the defaults",
        "R3.41",
        "config_yaml",
        {"yaml": "# sven\n", "key": "compaction_threshold"},
        0.85,
    ),
    Own(
        "of a command's output sixty lines of the head and forty of the tail stay",
        "R3.31 R3.35",
        "smart_truncate",
        {"content": lines(200), "category": "HeadTail", "cap_tokens": 300},
        lambda r: (
            r.startswith(lines(60) + "\n[100 lines, 860 bytes omitted]\nline 160\n")
            and r.endswith("line 199")
            and len(r.splitlines()) == 101
        ),
    ),
    Own(
        "of matches the leading ones stay",
        "R3.32",
        "smart_truncate",
        {"content": lines(500, "match {}: words"), "category": "MatchList", "cap_tokens": 50},
        lambda r: r.startswith("match 0: words\nmatch 1") and "match 499" not in r and "omitted" in r.splitlines()[-1],
    ),
    Own(
        "of a file both ends stay, in equal parts",
        "R3.33",
        "smart_truncate",
        {"content": lines(1000), "category": "FileContent", "cap_tokens": 100},
        lambda r: r.startswith("line 0\n") and r.endswith("line 999") and 0.4 < r.find("[") / len(r) < 0.5,
    ),
    Own(
        "anything else is cut at the end of a line",
        "R3.34",
        "smart_truncate",
        {"content": lines(1000), "category": "Generic", "cap_tokens": 100},
        lambda r: (
            all(line.startswith("line ") for line in r.splitlines()[:-1]) and r.splitlines()[-1].endswith("omitted]")
        ),
    ),
    Own(
        "a cut parts no code point",
        "R3.34",
        "smart_truncate",
        {"content": "\u65e5" * 999, "category": "Generic", "cap_tokens": 10},
        lambda r: set(r.partition("\n")[0]) == {"\u65e5"} and "omitted" in r,
    ),
    Own(
        "a checkpoint or a narrative",
        "R3.42",
        "enum_values",
        {"enum": "compaction_strategy"},
        ["structured", "narrative"],
    ),
    Own(
        "the threshold never falls below a tenth, not even from nothing",
        "R3.11",
        "trigger_threshold",
        {"compaction_threshold": 0.0, "compaction_overhead_reserve": 0.1},
        0.1,
    ),
    Own(
        "a marker, a summary and a pruned result are known by what is stored",
        "R4.1",
        "stored_shapes",
        {},
        lambda r: (
            r["marker"]["role"] == "user"
            and r["marker"]["parts"] == [MARKER]
            and r["summary"]["role"] == "assistant"
            and r["summary"]["summary"] is True
            and r["tool"]["time"]["compacted"] > 0
            and len(r["tool"]["output"]) > 100_000
        ),
    ),
    Own("switched off, nothing overflows", "R4.8", "is_overflow_seed004", {**FULL, "auto": False}, False),
    Own("switched on, and by default, it does", "R4.8", "is_overflow_seed004", FULL, True),
    Own(
        "a manual marker says so",
        "R4.11 R4.39",
        "create_compaction",
        {"auto": False},
        {"messages": [{"role": "user", "parts": [{"type": "compaction", "auto": False}]}]},
    ),
    Own("the summarizer has no tools", "R4.13 R4.15", "compaction_request", {"messages": TURNS}, {"tools": []}),
    Own(
        "it is sent what was said since the last pivot, and no more",
        "R4.15 R4.35",
        "compaction_request",
        {
            "messages": [
                stored("u0"),
                stored("c0", MARKER),
                stored("s0", role="assistant", parent="c0", summary=True, finish="stop"),
                stored("u1"),
                stored("c1", MARKER),
            ]
        },
        lambda r: (
            [m["text"] for m in r["messages"]][:-1] == ["What did we do so far?", "s0", "u1", "What did we do so far?"]
        ),
    ),
    Own(
        "a marker is the question what was done",
        "R4.35",
        "compaction_request",
        {"messages": [stored("u0"), stored("c0", MARKER)]},
        said(-2, "What did we do so far?"),
    ),
    Own(
        "a prompt for going on is asked for",
        "R4.33",
        "compaction_request",
        {},
        said(-1, "new session will not have access"),
    ),
    Own("a plugin may ask in its own words", "R4.34", "compaction_request", {"plugin": {"prompt": "P"}}, said(-1, "P")),
    Own("six things are to be told", "R4.32 R4.13", "compaction_system_prompt", {}, order_of(*BULLETS)),
    Own(
        "that it was compacted is told",
        "R4.17 R4.16",
        "process_compaction",
        {"messages": [stored("u1")], "parent": "u1", "auto": False, "llm": [{"text": "S"}]},
        {"events": ["emit:compacted"], "synthetic_user_texts": [], "summary": "S", "error": None},
    ),
    Own(
        "the outputs of protected tools stay",
        "R4.23",
        "prune",
        {
            "messages": [
                stored("u1"),
                stored("a1", ran("s", 400_000, "skill"), ran("b", 400_000), role="assistant"),
                *TURNS,
            ]
        },
        {"pruned_ids": ["b"]},
    ),
]
