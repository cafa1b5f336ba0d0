"""Reads the provider's answers: what its server has cleared or compacted, and the list that a session goes on with.

Cleared results stay cleared in every later call, and the list that the caller holds stays whole. A compaction stands
for the messages that it was made of; pins that it stands for are put behind it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._log import log
from ..errors import MessageError
from ..events import FellBack, ServerCompacted
from ..ledger.columns import Role
from ..messages.usage import Usage
from .on_server import compaction_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..compaction.effects import Flow
    from ..compaction.on_server import Archived
    from ..compaction.request import CompactionRequest
    from ..compaction.view import View
    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from ..server.answer import ServerAnswer
    from ..server.call import ServerCall
    from .call import Call
    from .memory import Memory


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
