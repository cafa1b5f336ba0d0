"""Asks the provider's server for a compaction that is due, and says what each way costs.

``fit`` decides as it always does. Where the server can carry the plan out, the originals are archived, and the request
asks for it; what the server cannot do is done here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._log import log
from ..compaction.flow import stored_view
from ..compaction.on_server import archived
from ..messages.objects import plain
from ..server.translate import Work, asked
from ..server.ways import Market, cheapest, ways
from ..summarize.writers.anthropic import Anthropic
from ..summarize.writers.openai import OpenAI
from .on_server import compaction_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..compaction.effects import Flow
    from ..compaction.request import CompactionRequest
    from ..compaction.view import View
    from ..ledger.columns import Ledger
    from ..server.call import ServerCall
    from ..server.ways import WayCost
    from .call import Call, Size, When
    from .memory import Memory

LATER = "before the next call"
"""Why the server is not asked yet."""

NOTHING = "nothing can leave"
"""Why the server is not asked for anything."""

PATIENCE = 2
"""Requests for a compaction alone whose answer never came; then it is done here."""


def ask(
    memory: Memory, call: Call, size: Size, request: CompactionRequest, *, here: bool, when: When
) -> Flow[tuple[ServerCall | None, CompactionRequest | None]]:
    """Return what asks the server for a compaction that is due, its originals archived; else None, and one for here.

    The server is asked where a call is about to be sent; at another moment that is put off until then.

    Args:
        memory: of the session.
        call: the call.
        size: of its prompt.
        request: the compaction.
        here: whether it is done here, whatever the server can do.
        when: the moment.

    Raises:
        ArchiveError: the originals cannot be stored.
        BusyError: another compaction of the named session is under way.
    """
    cleared = memory.server.cleared(request.ledger)
    if cleared and not request.cleared:
        request = replace(request, cleared=cleared, plan=None)  # the server's plan leaves alone what is gone already
    asked, why = (None, "") if here else (yield from _ask(memory, call, size, request, sends=when == "before_call"))
    if why == LATER:
        memory.server.due = when
        return None, None
    if why == NOTHING and cleared:
        return None, None
    if why and why != NOTHING:
        log.debug("done here, not by the provider's server: %s", why)
    return asked, request.here()


def _ask(
    memory: Memory, call: Call, size: Size, request: CompactionRequest, *, sends: bool
) -> Flow[tuple[ServerCall | None, str]]:
    """Return what asks the server; or None, and why it is not asked, empty where nothing can leave."""
    server, plan = memory.server, request.decide()
    if not plan.edits:
        return None, NOTHING
    if size.pressure.is_past_bytes:
        return None, "the request has too many bytes as it is sent"
    if server.unanswered >= PATIENCE:
        server.stop(f"{PATIENCE} requests for a compaction had no answer that record was told of")
        return None, server.why
    work = _chosen(memory, _work(memory, call, size, request), request)
    found = work if isinstance(work, str) else asked(work)
    if isinstance(work, str) or isinstance(found, str):
        return None, str(found)
    made, clearing = found
    if not sends:
        return None, LATER
    after = server.prompt - made.clears
    if not made.is_pass and after > memory.settings.limits.input_budget:
        return None, f"the server would leave {after:,} tokens"
    with memory.alone():
        kept = yield from archived(request, plan)
        if isinstance(kept, str):
            return None, kept
        if kept.request.instructions != request.instructions:  # the hook's
            renewed = asked(replace(work, instructions=kept.request.instructions))
            made = made if isinstance(renewed, str) else renewed[0]
        if not made.is_pass:
            view = memory.standin.view
            told = None if view is None else _stored(request, view)
            yield kept.commit(max(request.ledger.total - made.clears, 0), None, told)
    made = replace(made, ref=kept.ref)
    server.waiting, server.clearing, server.sent = kept, clearing or work.clearing, made
    server.passing, server.due = made if made.is_pass else None, ""
    server.unanswered += made.is_pass
    memory.own.refs[kept.ref] = True
    return made, ""


def _chosen(memory: Memory, work: Work, request: CompactionRequest) -> Work | str:
    """Return the work in the way that costs least, where the policy leaves that open; or why it is done here."""
    if memory.policy.server != "auto":
        return work

    best = cheapest(costs_of(memory, work, request))
    if best is None:
        return "the prices are unknown"
    return replace(work, way=best.way) if best.way else f"{best.name} costs least: {best}"


def _work(memory: Memory, call: Call, size: Size, request: CompactionRequest) -> Work:
    """Return what a compaction asks of the server."""
    server, plan = memory.server, request.decide()
    return Work(
        plan,
        request.costs(plan.target),
        memory.policy,
        "pass" if memory.policy.server == "pass" else "call",
        server.prompt or size.prompt,
        size.beside,
        memory.settings.budget(*size.fixed).trigger + size.beside,
        memory.settings.limits.input_budget,
        server.standing(request.ledger),
        request.instructions,
        server.refused,
        is_signed(call.messages, request.ledger),
    )


def costs_of(memory: Memory, work: Work, request: CompactionRequest) -> tuple[WayCost, ...]:
    """Return what each way to carry out a compaction costs."""
    settings, writer = memory.settings, memory.settings.writer
    usual = Anthropic if settings.model.provider == "anthropic" else OpenAI  # where no summarizer is chosen
    author = str(getattr(writer, "model", None) or getattr(writer, "cheap", usual.cheap))
    market = Market(settings.model_id, memory.rates(), author, request.cached)
    return ways(replace(work, way="call"), replace(work, way="pass"), market)


def ways_of(memory: Memory, call: Call) -> tuple[WayCost, ...]:
    """Return what each way to compact these messages costs; none where nothing can leave."""
    call = memory.resume(call)
    ledger, size = call.ledger, memory.look(call)
    request = replace(memory.request(call, copies=False), cleared=memory.server.cleared(ledger))
    if not request.decide().edits:
        return ()
    known = memory.server.standing(ledger)
    whole = size.prompt + (known.tokens if known else 0)
    return costs_of(memory, replace(_work(memory, call, size, request), prompt=whole), request)


def explained(memory: Memory, call: Call | None) -> Iterator[str]:
    """Yield what is done on the server and what here, and what each way costs, a line each."""
    server = memory.server
    if server.why:
        yield f"{'done here':14} {server.why}"
    elif server.sent:
        yield server.sent.explain()
    for way in () if call is None else ways_of(memory, call):
        yield f"{'compacted':14} {way}"


def _stored(request: CompactionRequest, view: View) -> str | None:

    return stored_view(request, view)


def is_signed(messages: Sequence[Any], ledger: Ledger) -> bool:
    """Return whether the provider's newest compaction was asked for on demand: then it has a signature."""
    row = compaction_in(ledger)
    if row is None:
        return False
    message: Any = messages[int(ledger.owner[row])]
    content = message.get("content") if isinstance(message, dict) else getattr(message, "content", None)
    blocks = plain([*content]) if isinstance(content, list | tuple) else ()
    return any(block.get("type") == "compaction" and block.get("signature") for block in blocks)
