"""Reads the provider's answers: what its server has cleared or compacted, and the list that a session goes on with.

Cleared results stay cleared in every later call, and the list that the caller holds stays whole. A compaction stands
for the messages that it was made of; pins that it stands for are put behind it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._log import log
from ..compaction.effects import Store
from ..compaction.flow import own_ref
from ..compaction.on_server import Archived
from ..compaction.rows import without_thinking
from ..errors import MessageError
from ..events import FellBack, ServerCompacted
from ..ledger.columns import Role
from ..messages.objects import plain
from ..messages.types import text_of
from ..messages.usage import Usage, usage_in
from ..planning.plan import Plan
from ..server.answer import is_compacted, server_answer
from ..server.refusal import refused, refuses_thinking, status_of
from ..validity.parameters import CLEAR_THINKING
from .on_server import compaction_in

MISSES = 2
"""Calls past the trigger in which the server clears nothing, until it is asked no more."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..compaction.effects import Flow
    from ..compaction.request import CompactionRequest
    from ..compaction.view import View
    from ..messages.types import Message
    from ..server.answer import ServerAnswer
    from ..server.call import ServerCall
    from .call import Call, ReadCall
    from .memory import Memory


def recorded(memory: Memory, value: object) -> Flow[None]:
    """Learn from an answer, or from a usage alone.

    Raises:
        ArchiveError: the compaction cannot be recorded.
        ValueError: the usage has no prompt tokens, or one of its numbers is no integer from 0 to 2**53.
    """
    answer, usage = server_answer(value), usage_in(value)
    if answer is not None:
        yield from answered(memory, answer)
    elif is_compacted(usage):
        memory.sizes.forecast.forget(
            memory.sizes.forecast.beyond
        )  # the prompt that it is of is not the list that was counted
        memory.server.clearing = memory.server.waiting = None
    else:
        known, server = memory.server.clearing, memory.server
        cleared = known.tokens if known and server.sent and server.prompt > known.trigger else 0
        memory.record(usage, cleared=cleared)


def unserved(memory: Memory, error: object) -> Flow[bool]:
    """Return whether an error refuses what the last request asked of the server; then it is asked no more."""
    server, words = memory.server, refused(error)
    if server.sent is not None and server.sent.is_pass and not words and status_of(error) in {400, 404, 405, 422, 501}:
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


def answered(memory: Memory, answer: ServerAnswer) -> Flow[None]:
    """Learn from an answer: its usage, and what the server did.

    Raises:
        ArchiveError: the compaction cannot be recorded.
        ValueError: the usage has no prompt tokens.
    """
    server, waiting, passing = memory.server, memory.server.waiting, memory.server.passing
    if passing is not None and (answer.messages or answer.failed or server.sent is passing):
        yield from _passed(memory, answer, passing)
        return
    if answer.messages:
        log.warning("a compaction that this session did not ask for takes no messages' place in it")
        return
    before = waiting.request.ledger.total if waiting else memory.sizes.forecast.own
    if answer.compacted:
        memory.sizes.forecast.forget(memory.sizes.forecast.beyond)
        server.clearing = server.waiting = None
    else:
        charged = Usage.of(answer.usage)
        memory.record(charged, cleared=answer.cleared or 0)
        yield from _cleared(memory, answer)
    if answer.compacted or (answer.cleared and waiting):  # not in each later call that clears the same again
        ref = waiting.ref if waiting else ""
        after = None if answer.compacted else before - (answer.cleared or 0)
        server.waiting = None
        yield ServerCompacted(ref, before, after, answer.cleared, answer.edits, answer.billed, answer.text)


def _cleared(memory: Memory, answer: ServerAnswer) -> Flow[None]:
    """Compare what the server cleared with what was asked of it."""
    server = memory.server
    known, sent = server.clearing, server.sent
    if sent is None or known is None or server.prompt <= known.trigger:
        return
    if answer.cleared:
        server.clearing, server.missed = replace(known, tokens=answer.cleared), 0
        return
    if answer.cleared == 0 and Usage.of(answer.usage).prompt <= known.trigger:
        return  # by the server's own count the prompt is not past the trigger
    server.missed += 1
    if answer.cleared == 0 and server.missed < MISSES:
        server.clearing = replace(known, least=0)  # by its count there may have been less to clear
        return
    why = "it has cleared nothing, and said so" if answer.cleared == 0 else "its answer names no applied edits"
    server.stop(why)
    yield FellBack("server", why, "here")


def _passed(memory: Memory, answer: ServerAnswer, sent: ServerCall) -> Flow[None]:
    """Put the answer of a request for a compaction alone in the place of the messages that it is of."""
    server, waiting = memory.server, memory.server.waiting
    server.sent = server.waiting = server.passing = None
    server.unanswered = 0
    if waiting is None or not answer.messages:
        why = "its compaction failed" if answer.failed else "the answer is no compaction"
        server.stop(why)
        yield FellBack("server", why, "here")
        return
    said = {_said(message) for message in answer.messages}  # OpenAI's has the user's messages, the pinned ones too
    messages = waiting.request.messages
    kept = [place for place in _kept(waiting.request, sent.cut) if _said(messages[place]) not in said]
    made = _restored(memory, waiting.edited(sent.cut), answer.messages, kept, sent.cut)
    try:
        view, after = waiting.placed(made)
    except MessageError as error:
        server.stop(f"the provider would refuse its compaction: {error}")
        yield FellBack("server", str(error), "here")
        return
    yield waiting.commit(after, view, None, answer.text or None)
    _adopt(memory, waiting.ref, view)
    billed = answer.billed or tuple(plain([answer.usage]))
    yield ServerCompacted(waiting.ref, waiting.request.ledger.total, after, None, answer.edits, billed, answer.text)


def _adopt(memory: Memory, ref: str, view: View) -> None:
    """Let a list stand in for the one that it was made of: a compaction of the session."""
    memory.rounds.compactions += 1
    memory.adopt(ref, view)


def _said(message: Message) -> tuple[object, str]:
    """Return who says a message, and its text, in whatever form it has."""
    return message.get("role"), text_of(message.get("content"))


def _kept(request: CompactionRequest, cut: int) -> list[int]:
    """Return the messages in front of a cut that a compaction there must not take: pins, and spans that are kept.

    A call and its results stay together, and so do the messages between them.
    """
    ledger, found = request.ledger, set()
    cuts = [n for n, safe in enumerate(ledger.safe.tolist()) if safe]
    for place in {*request.pins, *(at for at, _ in request.kept_spans)}:
        if place < cut:
            start = max((n for n in cuts if n <= place), default=0)
            stop = min((n for n in cuts if n > place), default=cut)
            found |= {*range(start, min(stop, cut))}
    return sorted(found)


def _restored(
    memory: Memory, messages: Sequence[Message], placed: Sequence[Message], kept: Sequence[int], cut: int
) -> list[Message]:
    """Return the list with a compaction in front, and behind it the messages that stay although it stands for them.

    They make the thinking in them and behind them invalid, where the model binds it: then it leaves.
    """
    made = [*placed, *(messages[place] for place in kept), *messages[cut:]]
    if not kept or not memory.settings.strips:
        return made

    return without_thinking(made, memory.scan(made), len(placed))


def put_back(memory: Memory, begun: Call, call: ReadCall) -> Flow[ReadCall]:
    """Put the pins back that a server's compaction stands for, and leave out what the server reads no more.

    Args:
        memory: of the session.
        begun: the call with the caller's own list.
        call: the call with the last result in its place.

    Returns:
        The call with that result; as it is where the list is as it should be.

    Raises:
        ArchiveError: the originals cannot be stored.
        BusyError: another compaction of the named session is under way.
    """
    server, ledger = memory.server, call.ledger
    row = compaction_in(ledger)
    owner = 0 if row is None else int(ledger.owner[row])
    if owner == 0 or (name := ledger.digest_of(owner)) == server.settled:
        return call
    server.clearing = None
    request = memory.request(call, trigger="auto")
    head, kept = request.costs(request.need.target).head, _kept(request, owner)
    skips = ledger.provider != "anthropic"  # the user's words are read there too, and stay; the rest may leave
    said = [n for n in range(owner) if skips and ledger.role[n] in {Role.SYSTEM, Role.USER} and n not in kept]
    if not kept and not (skips and len(said) < owner):
        server.settled = name
        return call
    stored = yield from _archived_anyhow(memory, request)
    messages = stored.request.messages
    made = _restored(memory, messages, [*(messages[n] for n in said), *messages[owner:head]], kept, head)
    server.settled = name
    try:
        view, after = stored.placed(made)
    except MessageError as error:
        log.warning("pinned messages cannot be put behind the server's compaction: %s", error)
        return call
    yield stored.commit(after, view, None)
    _adopt(memory, stored.ref, view)
    return memory.resume(begun)


def _archived_anyhow(memory: Memory, request: CompactionRequest) -> Flow[Archived]:
    """Store the originals of a list that the server has compacted already: no hook is asked."""
    request = request.archivable()
    total, ledger = request.ledger.total, request.ledger
    about = (len(ledger), ledger.digest, ledger.provider, memory.policy.name)
    plan = Plan((), total, total, total, "the server has compacted", *about, keep_tag=memory.policy.keep_tag)
    with memory.alone():
        stored, since = yield Store(request.stored, memory.settings.session)
    return Archived(request, plan, stored, since, (yield from own_ref(request, stored, plan, "put back")))
