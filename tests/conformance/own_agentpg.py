"""Our own cases of seed 002."""

from __future__ import annotations

from own import NINE, Own, order_of, row, rows

DEFAULTS = {
    "strategy": "hybrid",
    "trigger": 0.85,
    "target_tokens": 80_000,
    "preserve_last_n": 10,
    "protected_tokens": 40_000,
    "max_tokens_for_model": 200_000,
    "summarizer_model": "claude-3-5-haiku-20241022",
    "summarizer_max_tokens": 4_096,
    "preserve_tool_outputs": False,
    "use_token_counting_api": True,
}
SIX_ROWS = {"messages": rows(6), "protected_tokens": 110, "preserve_last_n": 0, "llm": {"text": "SUMMARY"}}
CALL = {"type": "tool_use", "id": "t", "name": "bash", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "x" * 8_000}
OF_TOOLS = {
    **SIX_ROWS,
    "messages": [
        row("q"),
        {"id": "c", "role": "assistant", "content": [CALL]},
        {"id": "r", "role": "user", "content": [RESULT]},
        *rows(6)[1:],
    ],
    "target_tokens": 1_000,
}
MARKED = [row("s", 40, "assistant", is_summary=True), row("p", 40, is_preserved=True), *rows(6)]

CASES = [
    Own("the defaults are those of the table", "R2.12", "default_config", {}, DEFAULTS),
    Own(
        "summarization takes all that may be compacted",
        "R2.18",
        "summarization",
        SIX_ROWS,
        {"archived_ids": ["0", "1", "2", "3", "4"], "summary": "SUMMARY", "path": "summarised", "error": None},
    ),
    Own(
        "what is at its target already is not summarized where nothing can be pruned",
        "R2.17 R2.30",
        "hybrid",
        {**SIX_ROWS, "target_tokens": 624},
        {"path": "noop", "tokens_saved": 0, "archived_ids": [], "events_created": 0, "error": None},
    ),
    Own(
        "one token over it, it is",
        "R2.17",
        "hybrid",
        {**SIX_ROWS, "target_tokens": 623},
        {"path": "summarised", "archived_ids": ["0", "1", "2", "3", "4"], "events_created": 1},
    ),
    Own(
        "what is protected altogether is nothing to compact, whatever the target",
        "R2.30 R2.47",
        "hybrid",
        {"messages": rows(6)},
        lambda r: r["error"]["kind"] == "NoMessagesToCompact" and r["error"]["op"] == "Compact",
    ),
    Own(
        "results are pruned where they need not be preserved",
        "R2.15",
        "hybrid",
        {**OF_TOOLS, "preserve_tool_outputs": False},
        {"path": "prune-only", "archived_ids": ["r"], "error": None},
    ),
    Own(
        "where they are to be preserved, nothing is pruned and the summary comes at once",
        "R2.16",
        "hybrid",
        {**OF_TOOLS, "preserve_tool_outputs": True},
        {"path": "summarised", "summary": "SUMMARY", "error": None},
    ),
    Own("nine sections are asked for, in order", "R2.19", "summary_system_prompt", {}, order_of(*NINE)),
    Own(
        "statistics say how full the window is and what may go",
        "R2.29 R2.26 R2.28",
        "stats",
        {
            "messages": MARKED,
            "max_tokens_for_model": 800,
            "protected_tokens": 110,
            "preserve_last_n": 2,
            "trigger": 0.81,
        },
        {
            "total_messages": 8,
            "total_tokens": 652,
            "usage_percent": 0.815,
            "protected_messages": 1,
            "recent_messages": 2,
            "preserved_messages": 4,
            "summary_messages": 1,
            "compactable_messages": 3,
            "needs_compaction": True,
        },
    ),
    Own(
        "a session of nothing has statistics",
        "R2.29",
        "stats",
        {"messages": []},
        {"total_tokens": 0, "usage_percent": 0.0},
    ),
    Own(
        "below the threshold nothing comes back, and no error",
        "R2.31",
        "compact_if_needed",
        {"messages": rows(3)},
        {"result": None, "error": None},
    ),
    Own(
        "above it something does",
        "R2.31 R2.50",
        "compact_if_needed",
        {"messages": [row(str(n), 40_000) for n in range(30)]},
        lambda r: r["result"].saved > 0 and r["error"] is None,
    ),
    Own(
        "the result says what it came to",
        "R2.33 R2.51",
        "compact",
        {**SIX_ROWS, "strategy": "summarization"},
        lambda r: (
            r["result"].items()
            >= {
                "original_tokens": 624,
                "messages_removed": 5,
                "preserved_message_ids": ["5"],
                "summary_created": True,
                "strategy": "summarization",
            }.items()
            and 104 < r["result"]["compacted_tokens"] < 200
        ),
    ),
    Own(
        "a reduction is a share of what there was",
        "R2.34",
        "reduction_percent",
        {"original": 80, "compacted": 60},
        25.0,
    ),
    Own("nothing reduced is no reduction", "R2.34", "reduction_percent", {"original": 0, "compacted": 0}, 0.0),
    Own(
        "the provider's count rules where it answers",
        "R2.35 R2.38",
        "count_tokens",
        {"messages": rows(2), "use_api": True, "api": {"input_tokens": 77}},
        {"total": 77, "used_api": True, "per_message": None},
    ),
    Own(
        "it is not asked where it is not to be",
        "R2.36 R2.38",
        "count_tokens",
        {"messages": rows(2), "use_api": False, "api": {"input_tokens": 77}},
        {"total": 208, "used_api": False, "per_message": [104, 104]},
    ),
    Own(
        "events have the columns of the document",
        "R2.39",
        "schema_columns",
        {"table": "compaction_events"},
        (
            "id session_id strategy original_tokens compacted_tokens messages_removed summary_content "
            "preserved_message_ids model_used duration_ms created_at"
        ).split(),
    ),
    Own(
        "what compactions took is added up by session",
        "R2.45",
        "session_totals",
        {
            "events": [
                {"original_tokens": 100, "compacted_tokens": 40, "messages_removed": 3},
                {"original_tokens": 50, "compacted_tokens": 20, "messages_removed": 2},
            ]
        },
        {"compaction_count": 2, "messages_archived": 5, "tokens_saved": 90},
    ),
    Own("a session without events has totals", "R2.45", "session_totals", {"events": []}, {"compaction_count": 0}),
    Own(
        "all that stays is told by id",
        "R2.51",
        "all_preserved_ids",
        {"protected": ["a", "b"], "preserved": [], "recent": ["c"], "summaries": ["d"]},
        ["a", "b", "c", "d"],
    ),
    Own(
        "a summary stands before what is kept, and in the event",
        "R2.52",
        "compact_then_read",
        {**SIX_ROWS, "strategy": "summarization"},
        {"order": ["summary", "5"]},
    ),
    Own(
        "the event holds the summary's text",
        "R2.52 R2.53",
        "compact",
        {**SIX_ROWS, "strategy": "summarization"},
        lambda r: r["event"]["summary_content"] == "SUMMARY" and r["event"]["strategy"] == "summarization",
    ),
    Own(
        "one summary is active, however often a session is compacted",
        "R2.52",
        "compact_times",
        {"times": 3, "llm": {"text": "S"}},
        lambda r: r["active_summaries"] == 1 and r["session"]["compaction_count"] == 3,
    ),
    Own("there are two strategies", "R2.53", "enum_values", {"enum": "strategy"}, ["hybrid", "summarization"]),
    Own(
        "the target is two fifths of the window",
        "R2.55",
        "recommended_target",
        {"max_tokens_for_model": 128_000},
        51_200,
    ),
    Own(
        "a blank summary is a failure",
        "R2.48",
        "summarize",
        {"llm": {"text": " \n"}},
        lambda r: r["error"]["kind"] == "SummarizationFailed",
    ),
    Own(
        "a session can be forgotten that holds nothing",
        "R2.43",
        "delete_session",
        {"events": 0, "archived": 0},
        {"events_left": 0},
    ),
]
