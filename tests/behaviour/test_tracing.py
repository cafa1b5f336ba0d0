"""The span of a compaction, seen by the real OpenTelemetry SDK: names and numbers, and no content."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import trimtab
from support.models import CLAUDE_MILLION
from trimtab import Compactor, Verdict
from trimtab.policies import POLICIES

MODEL = CLAUDE_MILLION
EXPORTER = InMemorySpanExporter()


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """The spans that are exported; a process has one provider, so it is installed once."""
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        trace.set_tracer_provider(TracerProvider())
    provider: Any = trace.get_tracer_provider()
    if EXPORTER not in getattr(provider, "exporters_of_tests", []):
        provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
        provider.exporters_of_tests = [EXPORTER]
    EXPORTER.clear()
    yield EXPORTER
    EXPORTER.clear()


def ours(spans: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name == "compact_context"]


def talk(count: int = 60) -> list[Any]:
    return [{"role": "user", "content": f"secretmarker step {n}: " + "words " * 60} for n in range(count)]


def small(**options: Any) -> Compactor:
    return Compactor(MODEL, window=4_000, max_output=400, **options)


def test_a_compaction_has_a_span_with_numbers_and_names(spans: InMemorySpanExporter) -> None:
    session = small().session("user 7")
    done = session.fit(talk()).compaction
    assert done is not None
    (span,) = ours(spans)
    zone = done.plan.zone()
    assert zone
    assert dict(span.attributes or {}) == {
        "trimtab.trigger": "auto",
        "trimtab.policy": "default",
        "gen_ai.conversation.id": "user 7",
        "trimtab.outcome": "compacted",
        "trimtab.strategy": "hybrid",
        "trimtab.summarizer": "offline",
        "trimtab.tokens.before": done.tokens_before,
        "trimtab.tokens.after": done.tokens_after,
        "trimtab.messages.removed": zone.stop - zone.start - len(zone.keep),
    }
    assert span.kind is trace.SpanKind.INTERNAL
    assert span.instrumentation_scope is not None
    assert (span.instrumentation_scope.name, span.instrumentation_scope.version) == ("trimtab", trimtab.__version__)
    assert "secretmarker" not in span.to_json()


@pytest.mark.parametrize("method", ["compact", "acompact"])
def test_spans_of_the_summarizer_are_its_children_and_the_caller_s_span_is_its_parent(
    method: str, spans: InMemorySpanExporter
) -> None:
    tracer = trace.get_tracer("test")

    def plain(_: trimtab.summarize.Ask) -> str:
        with tracer.start_as_current_span("chat"):
            return "what was done"

    async def later(ask: trimtab.summarize.Ask) -> str:
        await asyncio.sleep(0)
        return plain(ask)

    with tracer.start_as_current_span("agent") as agent:
        cm = small(summarizer=later if method == "acompact" else plain)
        found: Any = getattr(cm, method)(talk(), target_share=0.4)
        if method == "acompact":
            asyncio.run(found)
        assert trace.get_current_span() is agent
    by_name = {span.name: span for span in spans.get_finished_spans()}
    outer, own, inner = by_name["agent"], by_name["compact_context"], by_name["chat"]
    assert inner.parent is not None
    assert own.parent is not None
    assert inner.parent.span_id == own.context.span_id
    assert own.parent.span_id == outer.context.span_id
    assert not any(str(key).startswith("gen_ai.usage") for key in own.attributes or {})


def test_sessions_at_the_same_time_have_spans_of_their_own(spans: InMemorySpanExporter) -> None:
    async def later(_: trimtab.summarize.Ask) -> str:
        await asyncio.sleep(0.01)
        return "what was done"

    cm, tracer = small(summarizer=later), trace.get_tracer("test")

    async def one(name: str) -> None:
        with tracer.start_as_current_span(name):
            await cm.session(name).afit(talk())

    async def run() -> None:
        await asyncio.gather(*(one(f"s{n}") for n in range(5)))

    asyncio.run(run())
    callers = {span.context.span_id: span.name for span in spans.get_finished_spans() if span.name[0] == "s"}
    assert sorted(callers.values()) == [f"s{n}" for n in range(5)]
    for span in ours(spans):
        assert span.parent is not None
        assert (span.attributes or {})["gen_ai.conversation.id"] == callers[span.parent.span_id]


def test_outcomes_are_told_without_their_words(spans: InMemorySpanExporter) -> None:
    small(pre_compact=lambda _: Verdict(refuse="secretmarker")).compact(talk(), target_share=0.4)
    small().compact(talk(1))

    def fails(_: trimtab.summarize.Ask) -> str:
        raise RuntimeError("secretmarker")

    small(summarizer=fails).compact(talk(), target_share=0.4)
    with pytest.raises(trimtab.SummaryError):
        small(policy=replace(POLICIES["default"], fallback=("error",)), summarizer=fails).compact(
            talk(), target_share=0.4
        )
    refused, unchanged, fallback, failed = (dict(span.attributes or {}) for span in ours(spans))
    assert refused["trimtab.outcome"] == "refused"
    assert unchanged["trimtab.outcome"] == "unchanged"
    assert (fallback["trimtab.outcome"], fallback["trimtab.summarizer"]) == ("compacted", "offline")
    assert fallback["trimtab.fallback"] is True
    assert (failed["trimtab.outcome"], failed["error.type"]) == ("failed", "SummaryError")
    assert [span.status.status_code is trace.StatusCode.ERROR for span in ours(spans)] == [False, False, False, True]
    assert "secretmarker" not in "".join(span.to_json() for span in ours(spans))


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_no_policy_puts_content_into_a_span(policy: str, spans: InMemorySpanExporter) -> None:
    cm = small(policy=policy, summarizer=lambda _: "secretmarker summary")
    try:
        cm.fit(talk(), when=cm.policy.trigger.when[0])  # type: ignore[arg-type]
        cm.compact(talk())
    except trimtab.Error:
        pass
    assert ours(spans)
    assert "secretmarker" not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_the_next_inference_span_is_marked_as_compacted_and_never_as_not(spans: InMemorySpanExporter) -> None:
    tracer, cm = trace.get_tracer("test"), small()
    found = []
    for count in (2, 60, 61):
        fitted = cm.fit(talk(count))
        with tracer.start_as_current_span(f"chat {MODEL}", attributes=fitted.span_attributes):
            pass
        found.append(dict(spans.get_finished_spans()[-1].attributes or {}))
    assert found == [{}, {"gen_ai.conversation.compacted": True}, {"gen_ai.conversation.compacted": True}]
    kept = list(cm.fit(talk(61)).messages)
    assert cm.fit(kept).span_attributes == {}


def test_trimtab_never_imports_opentelemetry() -> None:
    code = (
        "import sys, trimtab; cm = trimtab.Compactor('claude-sonnet-4-6', window=4_000, max_output=400)\n"
        "cm.fit([{'role': 'user', 'content': 'words ' * 80} for _ in range(60)]).compaction.ref\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
