"""What a session asks of its provider's server, and what it knows of the answers.

``fit`` decides as it always does. Where the server can carry the plan out, the originals are archived, and the request
asks for it; what the server cannot do is done here. Cleared results stay cleared in every later call, and the list that
the caller holds stays whole. ``record`` reads the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._log import log
from ..errors import MessageError
from ..events import FellBack, ServerCompacted
from ..ledger.columns import Kind, Role, RowFlag
from ..messages.objects import plain
from ..messages.usage import Usage
from ..planning.due import pressure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..compaction.effects import Flow
    from ..compaction.on_server import Archived
    from ..compaction.request import CompactionRequest
    from ..compaction.view import View
    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from ..server.answer import ServerAnswer
    from ..server.call import Clearing, ServerCall, Way
    from ..server.translate import Work
    from ..server.ways import WayCost
    from .call import Call, Size
    from .memory import Memory

CHEAP = ("claude-haiku-5-5", "gpt-5.4-mini")
"""Models by which a summary here is priced where no summarizer is chosen: the cheap ones of both providers."""

PATIENCE = 2
"""Requests for a compaction alone whose answer never came; then it is done here."""


@dataclass
class OnServer:
    """What a session has asked of its provider's server.

    Attributes:
        why: why the server is asked no more; empty if it is.
        refused: types of edits that the server has refused.
        clearing: the results that it clears in every call; None without any.
        sent: what the last request asked; None if nothing.
        waiting: the compaction that is asked for, until its answer; None without one.
        unanswered: requests for a compaction alone without an answer.
        settled: digest of the message with the server's newest compaction, once the list behind it is as it should be.
        prompt: tokens of the last prompt without what the server leaves out.
    """

    why: str = ""
    refused: frozenset[str] = frozenset()
    clearing: Clearing | None = None
    sent: ServerCall | None = None
    waiting: Archived | None = None
    unanswered: int = 0
    settled: str = ""
    prompt: int = 0

    def stop(self, why: str) -> None:
        """Ask the server no more: everything is done here from now on."""
        log.warning("the provider's server is not asked to compact any more: %s", why)
        self.why, self.clearing, self.sent, self.waiting = why, None, None, None

    def standing(self, ledger: Ledger) -> Clearing | None:
        """Return the clearing, if it is of these messages and nothing took its place."""
        known = self.clearing
        if known is None:
            return None
        is_same = known.messages <= len(ledger) and ledger.digest_until(known.messages) == known.digest
        row = compaction_in(ledger) if is_same else None
        if not is_same or (row is not None and int(ledger.owner[row]) >= known.messages):
            self.clearing = None
        return self.clearing

    def cleared(self, ledger: Ledger) -> dict[int, int]:
        """Return the tokens that the server leaves out, by row of the ledger."""
        known = self.standing(ledger)
        if known is None:
            return {}
        from ..server.translate import cleared_rows  # noqa: PLC0415 - loaded with the first clearing

        return cleared_rows(known, ledger)

    def less(self, at: Memory, size: Size, ledger: Ledger) -> Size:
        """Return the sizes of the prompt without what the server leaves out of it; nothing is asked for it yet."""
        self.prompt, self.sent = size.prompt, None
        known = self.standing(ledger)
        if known is None or size.prompt <= known.trigger:
            return size
        terms = replace(size.terms, messages=max(size.terms.messages - known.tokens, 0))
        prompt, counted = max(size.prompt - known.tokens, 0), max(size.counted - known.tokens, 0)
        pressed = pressure(at.policy, terms, prompt, size.bytes, size.bytes_limit)
        return replace(size, terms=terms, prompt=prompt, counted=counted, pressure=pressed)

    def keeps(self, ledger: Ledger) -> ServerCall | None:
        """Return what a request asks that asks nothing new: that cleared results stay cleared."""
        self.sent, known = None, self.standing(ledger)
        if known is not None:
            from ..server.anthropic import clearing  # noqa: PLC0415 - loaded with the first clearing
            from ..server.translate import uses  # noqa: PLC0415

            self.sent = clearing(known, len(uses(ledger.kind, ledger.pair)))
        return self.sent


def compaction_in(ledger: Ledger) -> int | None:
    """Return the row of the provider's own newest compaction that did not fail; None without one."""
    rows = ((ledger.kind == Kind.COMPACTION) & ((ledger.flags & (RowFlag.HIDES | RowFlag.SIGNED)) != 0)).nonzero()[0]
    return int(rows[-1]) if len(rows) else None


def ask(
    at: Memory, call: Call, size: Size, request: CompactionRequest, *, here: bool
) -> Flow[tuple[ServerCall | None, CompactionRequest]]:
    """Return what asks the server for a compaction that is due, its originals archived; else None, and one for here.

    Args:
        at: the session.
        call: the call.
        size: of its prompt.
        request: the compaction.
        here: whether it is done here, whatever the server can do.

    Raises:
        ArchiveError: the originals cannot be stored.
        BusyError: another compaction of the named session is under way.
    """
    asked, why = (None, "") if here else (yield from _ask(at, call, size, request))
    if why:
        log.debug("done here, not by the provider's server: %s", why)
    return asked, request.here()


def _ask(at: Memory, call: Call, size: Size, request: CompactionRequest) -> Flow[tuple[ServerCall | None, str]]:
    """Return what asks the server; or None, and why it is not asked, empty where nothing can leave."""
    from ..compaction.on_server import archived  # noqa: PLC0415 - numpy comes with the first plan
    from ..server.translate import asked  # noqa: PLC0415

    server, plan = at.server, request.decide()
    if not plan.edits:
        return None, ""
    if server.unanswered >= PATIENCE:
        server.stop(f"{PATIENCE} requests for a compaction had no answer that record was told of")
        return None, server.why
    work = _work(at, call, size, request)
    if at.policy.server == "auto":
        from ..server.ways import cheapest  # noqa: PLC0415 - for those who leave the choice

        best = cheapest(costs_of(at, work, request))
        if best is None or best.name not in _WAYS:
            return None, "the prices are unknown" if best is None else f"{best.name} costs least: {best}"
        work = replace(work, way=_WAYS[best.name])
    found = asked(work)
    if isinstance(found, str):
        return None, found
    made, clearing = found
    after = server.prompt - made.clears
    if not made.is_pass and after > at.settings.limits.input_budget:
        return None, f"the server would leave {after:,} tokens"
    with at.alone():
        kept = yield from archived(request, plan)
        if isinstance(kept, str):
            return None, kept
        if kept.request.instructions != request.instructions:  # the hook's
            renewed = asked(replace(work, instructions=kept.request.instructions))
            made = made if isinstance(renewed, str) else renewed[0]
        if not made.is_pass:
            view = at.standin.view
            told = None if view is None else _stored(request, view)
            yield kept.commit(max(request.ledger.total - made.clears, 0), None, told)
    made = replace(made, ref=kept.ref)
    server.waiting, server.clearing, server.sent = kept, clearing or work.clearing, made
    server.unanswered += made.is_pass
    at.own.refs[kept.ref] = True
    return made, ""


_WAYS: dict[str, Way] = {"on the server, in the call": "call", "on demand": "pass"}
"""The server's ways by the names of their costs."""


def _work(at: Memory, call: Call, size: Size, request: CompactionRequest) -> Work:
    """Return what a compaction asks of the server."""
    from ..server.translate import Work  # noqa: PLC0415 - numpy comes with the first plan

    server, plan = at.server, request.decide()
    return Work(
        plan,
        request.costs(plan.target),
        at.policy,
        "pass" if at.policy.server == "pass" else "call",
        server.prompt or size.prompt,
        size.beside,
        at.settings.budget(*size.fixed).trigger + size.beside,
        at.settings.limits.input_budget,
        server.standing(request.ledger),
        request.instructions,
        server.refused,
        is_signed(call.messages, request.ledger),
    )


def costs_of(at: Memory, work: Work, request: CompactionRequest) -> tuple[WayCost, ...]:
    """Return what each way to carry out a compaction costs."""
    from ..server.ways import Market, ways  # noqa: PLC0415 - for those who ask

    settings = at.settings
    writer = settings.writer
    author = (
        getattr(writer, "model", None) or getattr(writer, "cheap", "") or CHEAP[settings.model.provider != "anthropic"]
    )
    market = Market(settings.model, settings.model_id, at.rates(), author, request.cached)
    return ways(replace(work, way="call"), replace(work, way="pass"), market)


def ways_of(at: Memory, call: Call) -> tuple[WayCost, ...]:
    """Return what each way to compact these messages costs; none where nothing can leave."""
    call, ledger = at.resume(call)
    size = at.look(call, ledger)
    request = at.request(call, copies=False)
    if not request.decide().edits:
        return ()
    return costs_of(at, replace(_work(at, call, size, request), prompt=size.prompt), request)


def _stored(request: CompactionRequest, view: View) -> str | None:
    from ..compaction.flow import stored_view  # noqa: PLC0415 - a compaction has loaded it

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


def recorded(at: Memory, value: object) -> Flow[None]:
    """Learn from an answer, or from a usage alone.

    Raises:
        ArchiveError: the compaction cannot be recorded.
        ValueError: the usage has no prompt tokens, or one of its numbers is no integer from 0 to 2**53.
    """
    from ..server.answer import is_compacted, server_answer  # noqa: PLC0415 - for answers alone

    answer = server_answer(value)
    if answer is not None:
        yield from answered(at, answer)
    elif is_compacted(value):
        at.forecast.forget(at.forecast.beyond)  # the prompt that it is of is not the list that was counted
        at.server.clearing = at.server.waiting = None
    else:
        known, server = at.server.clearing, at.server
        cleared = known.tokens if known and server.sent and server.prompt > known.trigger else 0
        at.record(value, cleared=cleared)


def unserved(at: Memory, error: object) -> Flow[bool]:
    """Return whether an error refuses what the last request asked of the server; then it is asked no more."""
    from ..server.refusal import refused, refuses_thinking  # noqa: PLC0415 - loaded with the first refused call
    from ..validity.parameters import CLEAR_THINKING  # noqa: PLC0415

    server, words = at.server, refused(error)
    if server.sent is not None and server.sent.is_pass and not words and _status(error) in {400, 404, 405, 422, 501}:
        words = " ".join(str(error).split())[:200]
    if not words:
        return False
    if refuses_thinking(words) and server.clearing is not None:
        log.warning("the provider's server does not clear thinking: %s", words)
        server.refused |= {CLEAR_THINKING}
        server.clearing = replace(server.clearing, thinking=0)
        return True
    server.stop(words)
    yield FellBack("server", words, "here")
    return True


def _status(error: object) -> object:
    return getattr(error, "status_code", getattr(error, "status", None))


def answered(at: Memory, answer: ServerAnswer) -> Flow[None]:
    """Learn from an answer: its usage, and what the server did.

    Raises:
        ArchiveError: the compaction cannot be recorded.
        ValueError: the usage has no prompt tokens.
    """
    server, sent, waiting = at.server, at.server.sent, at.server.waiting
    if sent is not None and sent.is_pass:
        yield from _passed(at, answer, sent)
        return
    before = waiting.request.ledger.total if waiting else at.forecast.own
    if answer.compacted:
        at.forecast.forget(at.forecast.beyond)
        server.clearing = server.waiting = None
    else:
        charged = Usage.of(answer.usage)
        at.record(charged, cleared=answer.cleared or 0)
        yield from _cleared(at, answer)
    if answer.compacted or (answer.cleared and waiting):  # not in each later call that clears the same again
        ref = waiting.ref if waiting else ""
        after = None if answer.compacted else before - (answer.cleared or 0)
        server.waiting = None
        yield ServerCompacted(ref, before, after, answer.cleared, answer.edits, answer.billed, answer.text)


def _cleared(at: Memory, answer: ServerAnswer) -> Flow[None]:
    """Compare what the server cleared with what was asked of it."""
    server = at.server
    known, sent = server.clearing, server.sent
    if sent is None or known is None or server.prompt <= known.trigger:
        return
    if answer.cleared:
        server.clearing = replace(known, tokens=answer.cleared)
    else:
        why = "it has cleared nothing, and said so" if answer.cleared == 0 else "its answer names no applied edits"
        server.stop(why)
        yield FellBack("server", why, "here")


def _passed(at: Memory, answer: ServerAnswer, sent: ServerCall) -> Flow[None]:
    """Put the answer of a request for a compaction alone in the place of the messages that it is of."""
    server, waiting = at.server, at.server.waiting
    server.sent = server.waiting = None
    server.unanswered = 0
    if waiting is None or not answer.messages:
        why = "its compaction failed" if answer.failed else "the answer is no compaction"
        server.stop(why)
        yield FellBack("server", why, "here")
        return
    there, ledger = at.scan(answer.messages), waiting.request.ledger
    known = {there.digest_of(n) for n in range(len(there))}  # OpenAI's has the user's messages, the pinned ones too
    pins = [pin for pin in waiting.request.pins if pin < sent.cut and ledger.digest_of(pin) not in known]
    made = _restored(at, waiting.edited(sent.cut), answer.messages, pins, sent.cut)
    try:
        view, after = waiting.placed(made)
    except MessageError as error:
        server.stop(f"the provider would refuse its compaction: {error}")
        yield FellBack("server", str(error), "here")
        return
    yield waiting.commit(after, view, None, answer.text or None)
    remember(at, waiting.ref, view)
    billed = answer.billed or ((answer.usage,) if isinstance(answer.usage, dict) else ())
    yield ServerCompacted(waiting.ref, waiting.request.ledger.total, after, None, answer.edits, billed, answer.text)


def remember(at: Memory, ref: str, view: View) -> None:
    """Let a list stand in for the one that it was made of."""
    at.rounds += 1
    at.looks_at = 0
    at.forecast.forget(at.forecast.beyond)
    at.own.remember(ref, (), view)
    at.standin.remember(view)


def _restored(
    at: Memory, messages: Sequence[Message], placed: Sequence[Message], pins: Sequence[int], cut: int
) -> list[Message]:
    """Return the list with a compaction in front, and the pinned messages that it stands for behind it.

    A pin in front of later thinking makes that invalid, where the model binds it: then it leaves.
    """
    made = [*placed, *(messages[pin] for pin in pins), *messages[cut:]]
    if not pins or not at.settings.strips:
        return made
    from ..compaction.apply import without_thinking  # noqa: PLC0415 - numpy comes with the first plan

    return without_thinking(made, at.scan(made), len(placed) + len(pins))


def put_back(at: Memory, begun: Call, call: Call, ledger: Ledger) -> Flow[tuple[Call, Ledger]]:
    """Put the pins back that a server's compaction stands for, and leave out what the server reads no more.

    Args:
        at: the session.
        begun: the call with the caller's own list.
        call: the call with the last result in its place.
        ledger: ledger of its messages.

    Returns:
        The call and its ledger with that result; as they are where the list is as it should be.

    Raises:
        ArchiveError: the originals cannot be stored.
        BusyError: another compaction of the named session is under way.
    """
    server, row = at.server, compaction_in(ledger)
    owner = 0 if row is None else int(ledger.owner[row])
    if owner == 0 or (name := ledger.digest_of(owner)) == server.settled:
        return call, ledger
    server.settled, server.clearing = name, None
    request = at.request(call, trigger="auto")
    costs = request.costs(request.target)
    pins = [pin for pin in request.pins if pin < owner]
    skips = ledger.provider != "anthropic"  # the user's words are read there too, and stay; the rest may leave
    said = [n for n in range(owner) if skips and ledger.role[n] in {Role.SYSTEM, Role.USER} and n not in pins]
    if not pins and not (skips and len(said) < owner):
        return call, ledger
    kept = yield from _archived_anyhow(at, request)
    messages = kept.request.messages
    made = _restored(at, messages, [*(messages[n] for n in said), *messages[owner : costs.head]], pins, costs.head)
    try:
        view, after = kept.placed(made)
    except MessageError as error:
        log.warning("pinned messages cannot be put behind the server's compaction: %s", error)
        return call, ledger
    yield kept.commit(after, view, None)
    remember(at, kept.ref, view)
    return at.resume(begun)


def _archived_anyhow(at: Memory, request: CompactionRequest) -> Flow[Archived]:
    """Store the originals of a list that the server has compacted already: no hook is asked."""
    from ..compaction.effects import Store  # noqa: PLC0415 - a compaction has loaded it
    from ..compaction.flow import ref_of  # noqa: PLC0415
    from ..compaction.on_server import Archived  # noqa: PLC0415
    from ..planning.plan import Plan  # noqa: PLC0415

    request = request.archivable()
    total, ledger = request.ledger.total, request.ledger
    about = (len(ledger), ledger.digest, ledger.provider, at.policy.name)
    plan = Plan((), total, total, total, "the server has compacted", *about, keep_tag=at.policy.keep_tag)
    with at.alone():
        stored, since = yield Store(request.stored, at.settings.session)
    return Archived(request, plan, stored, since, ref_of(request, stored, plan, "put back"))


__all__ = ["OnServer", "answered", "ask", "compaction_in", "put_back"]
