"""A span for each compaction, in processes that use OpenTelemetry; it holds numbers and names, and no content.

OpenTelemetry is never imported here: a process that has not imported it has no provider, and so no spans.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import _core
from .._mask import mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .request import CompactionRequest
    from .result import Compaction

SPAN = "compact_context"
"""Name of the span; the conventions for generative AI have none for a compaction by a framework."""


@contextmanager
def traced(request: CompactionRequest) -> Iterator[Callable[[Compaction[Any]], None]]:
    """Open the span of a compaction, parent of the summarizer's own spans; give the function that takes its result."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield _ignore
        return
    settings = request.settings
    known = {"trimtab.trigger": request.trigger, "trimtab.policy": settings.policy.name}
    if settings.exclusive:
        known["gen_ai.conversation.id"] = settings.session
    tracer = trace.get_tracer("trimtab", _core.__version__)
    with tracer.start_as_current_span(
        SPAN, attributes=known, record_exception=False, set_status_on_exception=False
    ) as at:
        try:
            yield partial(_record, at)
        except Exception as error:  # an exception's text may quote a message: its class alone is recorded
            at.set_attributes({"trimtab.outcome": "failed", "error.type": type(error).__name__})
            at.set_status(trace.StatusCode.ERROR)
            raise


def _ignore(_: Compaction[Any]) -> None:
    """Record nothing."""


def _record(span: Any, done: Compaction[Any]) -> None:
    """Set the attributes of a result."""
    zone = done.plan.zone()
    found: dict[str, str | int] = {
        "trimtab.outcome": done.outcome,
        "trimtab.tokens.before": done.tokens_before,
        "trimtab.tokens.after": done.tokens_after,
        "trimtab.messages.removed": zone.stop - zone.start - len(zone.keep) if zone else 0,
    }
    if done.strategy:
        found["trimtab.strategy"] = done.strategy
    if done.summarizer:
        found["trimtab.summarizer"] = mask(done.summarizer)
    if done.failed:
        found["trimtab.fallback"] = True
    span.set_attributes(found)
