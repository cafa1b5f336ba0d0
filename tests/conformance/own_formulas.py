"""Our own cases of seeds 000 and 001."""

from __future__ import annotations

from own import CUT, DONE, TOOL, Own, talk, text

BOUNDARY = {"type": "system", "subtype": "compact_boundary", "session_id": "s"}

RESULT = {"role": "tool", "content": "r" * 2_000, "tool_call_id": "c"}
LONG_AGO = [*talk(8), {"role": "assistant", "content": "", **TOOL}, RESULT, text(400), *talk(10)]
"""A long result with more than ten messages behind it."""

CASES = [
    Own(
        "the hook is asked with the trigger and the instructions, and told before the split",
        "R0.10",
        "compact_seed000",
        {"messages": talk(6), "preserve_budget": 250, "trigger": "manual", "custom_instructions": "CI"},
        lambda r: (
            r["hook_inputs"] == [{"trigger": "manual", "custom_instructions": "CI"}]
            and r["order"][:2] == ["hook:PreCompact", "split"]
        ),
    ),
    Own(
        "a token above 80 % compacts",
        "R0.34 R0.6",
        "should_compact",
        {"budget": {"context_limit": 1_000, "message_tokens": 801, "max_output_tokens": 0}},
        True,
    ),
    Own(
        "two fifths of the messages stay where no share is named",
        "R1.15",
        "split_by_message_ratio",
        {"messages": talk(10)},
        {"split": 6},
    ),
    Own(
        "a newest message over the budget stays alone",
        "R0.15",
        "split_point_seed000",
        {"messages": [text(400), text(40_000)], "preserve_budget": 100},
        1,
    ),
    Own(
        "what does not fit the budget is the compact zone, the rest is kept as it is",
        "R0.12 R0.41",
        "compact_seed000",
        {"messages": talk(6), "preserve_budget": 250, "llm": {"text": "S"}},
        {"compact_zone": talk(6)[:4], "preserve_zone": talk(6)[4:], "strategy": "summary", "error": None},
    ),
    Own(
        "a failed summary is an error where errors are asked for",
        "R0.16",
        "compact_seed000",
        {"llm": {"error": "boom"}, "strict_errors": True},
        lambda r: r["error"].startswith("compaction summary failed: ") and "boom" in r["error"] and not r["order"],
    ),
    Own(
        "the boundary is a system message with trigger, tokens, uuid and session",
        "R0.18 R0.31",
        "boundary_event",
        {"trigger": "manual", "pre_tokens": 1234, "session_id": "s"},
        lambda r: (
            r.items() >= {**BOUNDARY, "compact_metadata": {"trigger": "manual", "pre_tokens": 1234}}.items()
            and len(r["uuid"]) == 36
        ),
    ),
    Own(
        "a cheap model is asked, at once and without tools",
        "R0.22 R0.23 R0.43",
        "summary_request_seed000",
        {"messages": talk(2)},
        {"model": "claude-haiku-4-5-20251001", "max_tokens": 4096, "stream": False, "tools": []},
    ),
    Own(
        "a beta flag widens every Sonnet, one of tomorrow too, and nothing else",
        "R1.7 R0.2",
        "get_context_limit",
        {"model": "my-sonnet-of-tomorrow", "betas": ["context-1m-2025-08-07"]},
        1_000_000,
    ),
    Own(
        "without room for anything every call is an overflow",
        "R0.4",
        "budget_is_overflow",
        {"context_limit": 0, "system_tokens": 0, "message_tokens": 1, "max_output_tokens": 0},
        True,
    ),
    Own(
        "an estimator of one's own moves the split",
        "R0.30",
        "split_point_custom_estimator",
        {
            "messages": [text(6), text(6), text(4)],
            "estimator": "chars",
            "per_message_overhead": 0,
            "preserve_budget": 10,
        },
        1,
    ),
    Own(
        "so does a tokenizer",
        "R0.30",
        "split_point_custom_estimator",
        {
            "messages": [{"role": "user", "content": "hello world"}, {"role": "user", "content": "hello world"}],
            "estimator": "cl100k_base",
            "per_message_overhead": 1,
            "preserve_budget": 5,
        },
        1,
    ),
    Own(
        "the document's own estimator is what is used where none is named",
        "R0.30",
        "split_point_custom_estimator",
        {"messages": [text(400), text(400)], "preserve_budget": 207},
        1,
    ),
    Own(
        "a split of nothing is nowhere",
        "R0.14",
        "split_point_custom_estimator",
        {"messages": [], "preserve_budget": 9},
        0,
    ),
    Own(
        "the budget is looked at before every call, and what is too full compacted",
        "R1.1 R1.25",
        "agent_loop_seed001",
        {"should_compact": True, "responses": [TOOL, TOOL, DONE]},
        {"exit": "end_turn", "compact_calls": 3},
    ),
    Own(
        "before the call SessionStart is told, then the boundary",
        "R1.2 R1.22",
        "agent_loop_seed001",
        {"should_compact": True, "responses": [DONE]},
        {
            "order": [
                "budget",
                "hook:PreCompact",
                "llm:summary",
                "hook:SessionStart(compact)",
                "emit:compact_boundary",
                "llm",
            ]
        },
    ),
    Own(
        "a cut answer loses its broken call, the budget is looked at anew, and the loop goes on",
        "R1.3 R1.4 R1.5",
        "agent_loop_seed001",
        {"should_compact": True, "responses": [CUT, DONE]},
        lambda r: r["exit"] == "end_turn" and r["compact_calls"] == 3 and r["order"][6:8] == ["discard", "budget"],
    ),
    Own(
        "a cut answer ends the loop where there is nothing to compact for",
        "R1.6",
        "agent_loop_seed001",
        {"should_compact": False, "responses": [CUT, DONE]},
        {"exit": "max_tokens", "compact_calls": 0, "order": ["budget", "llm", "discard", "budget"]},
    ),
    Own(
        "below the trigger the loop just calls",
        "R1.26",
        "agent_loop_seed001",
        {"should_compact": False, "responses": [TOOL, DONE]},
        {"exit": "end_turn", "compact_calls": 0, "order": ["budget", "llm", "budget", "llm"]},
    ),
    Own(
        "a loop without answers does nothing",
        "R1.25",
        "agent_loop_seed001",
        {"responses": []},
        {"order": [], "exit": None},
    ),
    Own(
        "only the messages before the split are shown to the summarizer",
        "R1.17",
        "compact_seed001",
        {"messages": talk(5), "preserve_ratio": 0.4, "llm": {"text": "S"}},
        lambda r: (
            all(c * 400 in r["llm_prompts"][0] for c in "abc") and not any(c * 400 in r["llm_prompts"][0] for c in "de")
        ),
    ),
    Own(
        "what is kept is kept verbatim, and the list can be sent",
        "R1.23 R1.24",
        "compact_seed001",
        {"messages": talk(5), "preserve_ratio": 0.4, "llm": {"text": "S"}},
        {"preserved": talk(5)[3:], "provider_valid": True, "strategy": "summary"},
    ),
    Own(
        "an old result that is kept is kept as it is: pruning is no part of a compaction",
        "R0.41 R0.33",
        "compact_seed000",
        {"messages": LONG_AGO, "preserve_budget": 1_700, "llm": {"text": "S"}},
        lambda r: r["llm_calls"] == 1 and r["split"] == 8 and r["preserved"] == LONG_AGO[8:],
    ),
    Own(
        "nor does it take the summary's place where it would be enough",
        "R1.17 R1.23",
        "compact_seed001",
        {"messages": LONG_AGO, "preserve_ratio": 0.75, "llm": {"text": "S"}},
        lambda r: r["strategy"] == "summary" and r["summary"] == "S" and r["preserved"] == LONG_AGO[r["split"] :],
    ),
    Own(
        "the way without a summary can be sent as well",
        "R1.24 R1.20",
        "compact_seed001",
        {"messages": talk(5), "preserve_ratio": 0.4, "llm": {"text": " \n"}},
        {"preserved": talk(5)[3:], "provider_valid": True, "strategy": "truncate", "error": None},
    ),
    Own(
        "an answer's texts are put together, and nothing else of it",
        "R1.18",
        "accumulate_summary",
        {
            "blocks": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "a"},
                {"type": "tool_use", "id": "t", "name": "n", "input": {}},
                {"type": "text", "text": "b"},
            ]
        },
        "ab",
    ),
    Own("no blocks are no text", "R1.18", "accumulate_summary", {"blocks": []}, ""),
    Own(
        "what the model wrote is the summary",
        "R1.19",
        "generate_summary",
        {"messages": talk(4), "llm": {"text": "## Done\nall of it"}},
        {"summary": "## Done\nall of it", "llm_calls": 1},
    ),
    Own(
        "utilisation is of what system and answer leave",
        "R1.12",
        "budget_utilization_seed001",
        {"context_limit": 1000, "system_tokens": 100, "message_tokens": 300, "max_output_tokens": 300},
        0.5,
    ),
]
