"""The decision before each call of a session: whether a compaction is due, and the list that goes out.

A prompt has up to three sizes: by the policy's counter, which its trigger uses; by the model's counter; and by the
forecast from the last billed prompt. No policy lets a prompt pass whose larger one of the last two exceeds the input
budget: the policy's own stages apply, or, where they leave too much, those that all policies share
(``planning.protection``). What runs below the trigger is in this file and in ``memory``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import _core
from .._log import details, log, outline
from ..compaction.effects import Long
from ..compaction.result import REFUSED
from ..errors import MessageError, SummaryError
from ..messages.objects import InputMessages
from ..planning.due import due, pressure
from .goals import ask_provider, cap_new_results, request_for, to_floor, too_many_bytes, without_excess
from .memory import Verified

if TYPE_CHECKING:
    from ..compaction.effects import Flow
    from ..compaction.request import CompactionRequest
    from ..compaction.result import Compaction
    from ..server.call import ServerCall
    from .call import Call, Fitted, ReadCall, Size, When
    from .memory import Memory


def next_input(memory: Memory, call: Call, when: When, turn: int | None) -> Flow[Fitted[Any]]:
    """Return the input of the next call: the list itself, or a compacted one.

    Raises:
        MessageError: the provider would refuse the list.
        ArchiveError: the originals cannot be stored; nothing was changed.
        BusyError: another compaction of the named session is under way.
    """
    begun = memory.begin(call, when, turn)
    call = memory.resume(begun)
    if asks := memory.asks_server:
        call = yield from _put_back(memory, begun, call)
    since = memory.verified.known(call.ledger)
    try:
        crowded = _verify(memory, call, since)
    except MessageError as error:
        raise call.located(error) from error.__cause__
    policy, done, waits = memory.settings.policy, None, ""
    trigger, cap = policy.trigger, policy.ingest
    if cap is not None and cap.in_fit and cap.tokens and trigger.auto and since < len(call.ledger):
        call, done = yield from cap_new_results(memory, begun, call, since)
    size, estimate = memory.sizes.size(memory.settings, call), policy.counter
    if estimate is not None and estimate.asks and memory.settings.count_with is not None:
        size = yield from _asked(memory, call, size, when)
    if trigger.background and trigger.auto and trigger.nears(size.terms):
        call, size, done, waits = yield from _in_background(memory, call, when, size, done)
    size = memory.server.less(policy, size, call.ledger) if asks else size
    pressed = size.pressure
    request, reason = yield from _due(memory, call, when, size, passes=waits)
    if request is not None and asks:
        server, request = yield from _served(memory, call, size, request, here=crowded or done is not None, when=when)
        if server is not None:
            return memory.fitted(call, call.ledger.provider, None, "; ".join(server.does), server)
    if request is None and crowded:
        request, reason = without_excess(memory, call), ""
    if request is not None:
        call, size, made, reason = yield from _compacted(memory, call, size, request, reason, crowded=crowded)
        if made is not None:
            done, pressed = _behind(done, made), size.pressure
    if pressed.is_past_bytes and not policy.parity and not reason.startswith(REFUSED):
        raise call.located(too_many_bytes(size, len(call.messages), reason))
    memory.edited |= done is not None
    if memory.rounds.pressed and (rest := memory.rounds.rest(size, reason)) is not None:
        yield rest
    told = _explained(size, reason) if any(pressed) or (crowded and done is None) else ""
    kept = memory.server.keeps(call.ledger) if asks and done is None else None
    sent = call if done is None else call.compacted(call.messages)
    return memory.fitted(sent, call.ledger.provider, done, told, kept)


def _behind(first: Compaction[Any] | None, made: Compaction[Any]) -> Compaction[Any]:
    """Return a compaction with the tokens of the list that its ref restores: that before a first one in this call."""
    return made if first is None else replace(made, tokens_before=made.tokens_before + first.saved)


def _put_back(memory: Memory, begun: Call, call: ReadCall) -> Flow[ReadCall]:
    """Return the call with pins put back that the provider's own compaction stands for."""
    from .server_answers import put_back  # noqa: PLC0415 - for those who ask the provider's server

    return (yield from put_back(memory, begun, call))


def _served(
    memory: Memory, call: ReadCall, size: Size, request: CompactionRequest, *, here: bool, when: When
) -> Flow[tuple[ServerCall | None, CompactionRequest | None]]:
    """Return what the provider's server is asked to do for a compaction, or None; and the compaction for here."""
    from .ask_server import ask  # noqa: PLC0415 - for those who ask the provider's server

    return (yield from ask(memory, call, size, request, here=here, when=when))


def _compacted(
    memory: Memory, given: ReadCall, size: Size, request: CompactionRequest | None, not_due: str, *, crowded: bool
) -> Flow[tuple[ReadCall, Size, Compaction[Any] | None, str]]:
    """Return the call after a compaction, and others where the prompt is still in danger; its size, and the reason.

    Args:
        memory: of the session.
        given: the call as it is.
        size: of its prompt.
        request: the first compaction.
        not_due: why no compaction was due; empty if one is.
        crowded: whether pictures or lone surrogates must leave.
    """
    call, done, reason = given, None, not_due
    danger = size.pressure.is_danger
    try:
        while request is not None:
            with memory.alone():
                made = yield from memory.compact(request, size)
            reason = not_due or made.reason
            if made.ref is None and crowded and request.plan is None and made.outcome != "refused":
                request = without_excess(memory, call)  # the policy stopped: pictures leave nevertheless
                continue
            protects = request.need.room is None and not memory.policy.parity
            if made.ref is None:
                if danger and not crowded and protects and made.outcome != "refused":
                    request = to_floor(memory, given, size)  # the policy's last step removed nothing
                    continue
                break
            done = made
            call = memory.read(given.compacted(made.messages))
            size = memory.size(call)
            danger = size.pressure.is_danger
            if not (protects and danger):
                break
            request = to_floor(
                memory, given, size
            )  # from the caller's list, so that the ref of what goes out restores that
    except SummaryError as error:
        log.warning("automatic compaction failed in step %s: %s", error.op, outline(error))
        details.warning("automatic compaction failed: %s", error.account)
        memory.rounds.fail()
        reason = str(error)
    return call, size, done, reason


def _asked(memory: Memory, call: ReadCall, size: Size, when: When) -> Flow[Size]:
    """Return the sizes of a prompt whose messages the provider counts, at the moments of the policy."""
    policy = memory.policy
    if not policy.trigger.auto or when not in policy.trigger.when:
        return size
    terms = yield from ask_provider(memory, call, size.terms, size.terms.messages)
    pressed = pressure(policy, terms, size.prompt, size.bytes, size.bytes_limit)
    return replace(size, terms=terms, pressure=pressed)


def _explained(size: Size, reason: str) -> str:
    """Return the reason, with the system text and the tools if they have most of the tokens."""
    told = size.beside * 2 <= size.counted or "system text and tools" in reason
    return reason if told else f"{reason}; {size.beside_messages}"


def _in_background(
    memory: Memory, call: ReadCall, when: When, size: Size, done: Compaction[Any] | None
) -> Flow[tuple[ReadCall, Size, Compaction[Any] | None, str]]:
    """Look after the summary in the background; return the call, its size, the compaction, and why no other is due."""
    from .background import in_background  # noqa: PLC0415 - loaded with the first summary in the background

    yield Long()
    swapped, waits = yield from in_background(
        memory, call, size, when, danger=size.pressure.is_danger, cut=done is not None
    )
    if swapped is None:
        return call, size, done, waits
    size = memory.size(swapped.call)
    return swapped.call, size, swapped.done, "" if size.pressure.is_danger else waits


def _due(
    memory: Memory, call: ReadCall, when: When, size: Size, *, passes: str
) -> Flow[tuple[CompactionRequest | None, str]]:
    """Return the compaction or pruning that is due at this moment, or None; and why no compaction is due."""
    pressed = size.pressure
    if when == "before_call" and memory.server.due:
        when, memory.server.due = memory.server.due, ""
    needs = pressed.is_past_trigger or when == "on_overflow"
    rests, messages = memory.rests() if needs else "", size.terms.messages
    goal, reason = due(
        memory.settings.policy,
        pressed,
        when,
        messages,
        rests=bool(rests),
        is_writing=memory.background.job is not None,
        passes=passes,
    )
    if goal is None:
        return None, reason
    if goal == "wait":
        return None, memory.rounds.wait(rests)
    request = yield from request_for(memory, call, size, goal)
    if request is None and goal in {"within_budget", "within_bytes"}:
        reason = f"system text and tools have {size.beside:,} tokens"
    return request, reason


def _verify(memory: Memory, call: ReadCall, since: int) -> bool:
    """Return whether pictures or lone surrogates must leave; looks at the messages from ``since`` on.

    Those in front of them were found valid.

    Raises:
        MessageError: the provider or the archive would refuse a message, or automatic compaction is off and the
            provider would refuse the number or the size of pictures.
    """
    ledger, seen = call.ledger, memory.verified
    if since == len(ledger) or memory.settings.policy.parity:
        return False
    found = _core.validate(ledger, since=since, **memory.settings.rule_options[ledger.provider])
    if found:
        from ..validity.validate import PICTURES, Problem, reject  # noqa: PLC0415 - for lists with problems alone

        problems = [Problem(*finding) for finding in found]
        if reject(problems, len(ledger), sizes=not memory.policy.trigger.auto):
            found_pictures = any(problem.code in PICTURES for problem in problems)
            return found_pictures or bool(ledger.surrogates(since))
    if ledger.surrogates(since):
        return True
    new = range(since, len(ledger)) if since else ledger.unlike(seen.digests)
    refused = _core.not_json([call.messages[index] for index in new])
    if refused:
        from ..archive.json_check import check_json  # noqa: PLC0415 - for objects, and for what JSON cannot hold

        for index in map(new.__getitem__, refused):
            inputs = InputMessages([call.messages[index]], deep=True)
            check_json(inputs.messages, index)
            inputs.check(index)
            if _core.surrogates(inputs.messages):
                return True
    memory.verified = Verified(len(ledger), ledger.digest, ledger.digests)
    return False
