"""Compacts a list that the provider refused as too long, whatever moments and trigger the policy has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..counting.counter import fixed_tokens, scan
from ..errors import NothingToCompactError, OverflowedError, SummaryError
from ..planning.edits import Summarize
from ..planning.protection import SHARE, lasting, protective
from .goals import by_policy, to_floor, without_excess

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..compaction.effects import Flow
    from ..compaction.request import CompactionRequest
    from ..ledger.columns import Ledger
    from ..planning.budget import Terms
    from ..planning.policy import Policy
    from .call import Call, Fitted, ReadCall, Size
    from .memory import Memory
    from .overflow import Refusal


def shrink(memory: Memory, call: Call, refused: Refusal, cause: BaseException | None = None) -> Flow[Fitted[Any]]:
    """Take the provider's limit for the session's window, and return the input of a call below it.

    Raises:
        OverflowedError: too little can leave, a hook refused, or automatic compaction is off.
        MessageError: the provider would refuse the list whatever its length.
        ArchiveError: the originals cannot be stored.
        BusyError: another compaction of the named session is under way in this Compactor.
    """
    if not memory.policy.trigger.auto:
        raise OverflowedError(
            f"automatic compaction is off in policy {memory.policy.name}: nothing was removed"
        ) from cause
    if refused.by_bytes:
        return (yield from _lighter(memory, call, refused.limit_bytes, cause))
    sent = _refused_call(memory, call, refused)
    counter, known = memory.settings.model_counter, memory.settings
    fixed = fixed_tokens(counter, call.system, call.tools)
    own = scan(sent.messages, counter, known.provider, known.model.provider).total + sum(fixed)
    size = memory.size(sent)
    before = memory.stated.window
    bounds = _bounds(refused, own, size.prompt, known.limits)
    if refused.limit is not None and known.leaves_room(refused.limit, fixed):
        memory.stated.window = refused.limit if before is None else min(refused.limit, before)
    found = yield from _below(memory, sent, size, bounds, cause)
    if isinstance(found, str) and refused.is_silent:
        # The guess is too small for what stays: a larger one is better than a refusal of the whole session.
        guessed = memory.settings
        memory.limit(known)
        bounds = _bounds(refused, own, size.prompt, known.limits, tenths=10)
        more = yield from _below(memory, sent, size, bounds, cause)
        if not isinstance(more, str):
            return more
        memory.limit(guessed)
    if isinstance(found, str):
        raise OverflowedError(found) from cause
    return found


def _below(
    memory: Memory, call: ReadCall, size: Size, bounds: tuple[int, int, str], cause: BaseException | None
) -> Flow[Fitted[Any] | str]:
    """Return the input of a call within the bounds that ``_bounds`` returned, or the reason why there is none.

    Raises:
        OverflowedError: a hook refused.
    """
    window, limit, why = bounds
    counter = memory.settings.model_counter
    fixed = fixed_tokens(counter, call.system, call.tools)
    room = limit - sum(fixed)
    try:
        settings = memory.settings.lowered(window, sum(fixed))
        target = min(settings.budget(*fixed).target, int(room * SHARE))
    except ValueError as error:
        return f"{why}; {error}"
    if room < 1:
        return f"{why}; system text and tools alone have {sum(fixed):,} tokens"
    if window != memory.window:
        memory.limit(settings)
    floor = ""
    with memory.alone():
        # The last try is for a list that did not get smaller although its plan was: it asks for less.
        protects = protective(memory.policy)
        for policy, most in ((lasting(memory.policy), None), (protects, room), (protects, target)):
            own = scan(call.messages, counter, memory.settings.provider, memory.settings.model.provider).total
            request = _request(memory, call, policy, target, own)
            request = request.needing(room=most)
            least, floor = _expected(request, own)
            if least > room:
                continue
            try:
                done = yield from memory.compact(request, size)
            except (SummaryError, NothingToCompactError) as error:
                floor = str(error)
                continue
            floor, made = done.reason, call.compacted(done.messages)
            if done.outcome == "refused":
                raise OverflowedError(f"{why}; {done.reason}") from cause
            after = scan(made.messages, counter, memory.settings.provider, memory.settings.model.provider).total
            if done.ref is not None and after <= room:
                memory.edited = True
                memory.size(memory.read(made))  # the next charge is for these messages
                return memory.fitted(made, request.ledger.provider, done, f"{why}; {done.reason}")
    held = f"; system text and tools have {sum(fixed):,} tokens" if sum(fixed) else ""
    return f"{why}; at most {room:,} tokens of messages fit, and too little can leave: {floor}{held}"


def _lighter(memory: Memory, call: Call, stated: int | None, cause: BaseException | None) -> Flow[Fitted[Any]]:
    """Lower the limit of a request's bytes, and return the input of a call below it.

    Raises:
        OverflowedError: too little can leave, or a hook refused.
    """
    others = memory.sizes.system_and_tools.bytes(call)
    refused = memory.resume(call)
    if refused.view is not None and stated is not None and refused.ledger.request_bytes + others <= stated:
        refused = memory.read(call)  # the caller sent the whole list
    sent = refused.ledger.request_bytes + others
    if stated is not None:
        memory.stated.request = min(stated, memory.stated.request or stated)
    before, known = memory.settings.rules.most_bytes(refused.ledger.provider), memory.settings
    # Where even what was sent is below the stated limit, the bytes here are too few for those of the provider.
    guesses = [stated] if stated is not None and stated < sent else [sent * 9 // 10, sent - 1]
    failed = ""
    for guess in guesses:
        memory.settings = known
        limit = min(guess, sent - 1, guess if before is None else before)
        memory.lighten(limit)
        why = _told_bytes(memory, before, limit, sent, is_stated=guess == stated)
        found = yield from _below_bytes(memory, refused, limit - others, why, cause)
        if not isinstance(found, str):
            return found
        failed = failed or found
    memory.settings = known
    memory.lighten(guesses[0])
    raise OverflowedError(failed) from cause


def _told_bytes(memory: Memory, before: int | None, limit: int, sent: int, *, is_stated: bool) -> str:
    """Return the reason for a limit of bytes."""
    part = "nine tenths of" if limit <= sent * 9 // 10 else "one byte less than"
    known = is_stated or limit == before
    because = "the provider's limit" if known else f"the error states no limit; {part} the refused request"
    changed = before is None or limit < before
    old = "lowered to" if before is None else f"lowered from {before:,} to" if changed else "is"
    window = f"window {memory.settings.limits.stated} tokens"
    silent = "the request has too many bytes, which says nothing about tokens"
    return f"{window} ({silent}); the limit of a request {old} {limit:,} bytes ({because})"


def _below_bytes(
    memory: Memory, call: ReadCall, most: int, why: str, cause: BaseException | None
) -> Flow[Fitted[Any] | str]:
    """Return the input of a call whose messages have at most ``most`` bytes, or the reason why there is none.

    Raises:
        OverflowedError: a hook refused.
    """
    if most <= 0:
        return f"{why}; system text and tools alone have more"
    size, floor = memory.size(call), ""
    tries: tuple[Callable[[], CompactionRequest | None], ...] = (
        lambda: without_excess(memory, call),
        lambda: by_policy(memory, call, size, lasting(memory.policy)),
        lambda: to_floor(memory, call, size),
    )
    with memory.alone():
        for make in tries:
            request = make()
            plan = request.decide() if request else None
            if request is None or plan is None or not plan.edits or plan.stays_heavy:
                floor = plan.reason if plan and plan.reason else floor
                continue
            try:
                done = yield from memory.compact(replace(request, plan=plan), size)
            except (SummaryError, NothingToCompactError) as error:
                floor = str(error)
                continue
            if done.outcome == "refused":
                raise OverflowedError(f"{why}; {done.reason}") from cause
            floor, made = done.reason, call.compacted(done.messages)
            if done.ref is not None and memory.scan(made.messages).request_bytes <= most:
                memory.edited = True
                memory.size(memory.read(made))  # the next charge is for these messages
                return memory.fitted(made, request.ledger.provider, done, f"{why}; {done.reason}")
    return f"{why}; at most {most:,} bytes of messages fit, and too little can leave: {floor}"


def _refused_call(memory: Memory, call: Call, refused: Refusal) -> ReadCall:
    """Return the call that was refused: with the last result in it, unless the error counts the whole list."""
    resumed = memory.resume(call)
    if resumed.view is None or refused.limit is None or not refused.over:
        return resumed
    counter, sent = memory.settings.model_counter, refused.limit + refused.over
    whole, short = (
        scan(each.messages, counter, memory.settings.provider, memory.settings.model.provider).total
        for each in (call, resumed)
    )
    return memory.read(call) if abs(sent - whole) < abs(sent - short) else resumed


def _bounds(refused: Refusal, own: int, billed: int, limits: Terms, tenths: int = 9) -> tuple[int, int, str]:
    """Return the session's new window, the most tokens of the next prompt, and the reason for the window.

    Args:
        refused: what the provider's error states.
        own: tokens of the refused prompt, counted here.
        billed: the same by the last charge and the growth since; 0 before the first.
        limits: with the window until now.
        tenths: of the refused prompt that are the guess where the error states nothing; 10 are one token less.
    """
    limit, over, window = refused.limit, refused.over or 0, limits.window
    # A refusal stands above the tables. Where our own count is within the window, the window is not what was wrong.
    # An earlier refusal was of a prompt that is not much above the window that it led to: no later one raises that.
    rises = limits.source not in {"argument", "policy", "refusal"} and max(own, billed) > window
    if limit is not None and rises:
        new, window, because = limit, max(window, limit), "the provider's limit"
    elif limit is not None:
        new, because = limit, f"the provider's limit is {limit:,}" if limit > window else "the provider's limit"
    elif over:
        new = max(own, billed) - over
        because = f"the error states no limit; the refused prompt, less the {over:,} tokens that were too many"
    else:
        part = "nine tenths of" if tenths == 9 else "one token less than"
        new, because = max(own, billed) * tenths // 10, f"the error states no limit; {part} the refused prompt"
        new -= tenths == 10
    new = max(min(new, window), 2)
    most = min(own - 1, new)
    if over:
        # Where the count here is far below the provider's, its share of the tokens leaves, else their number.
        most = min(most, own - over if 2 * over < own else own * new // (new + over))
    changed = {-1: "lowered ", 0: "", 1: "raised "}[(new > limits.window) - (new < limits.window)]
    told = f"window {changed}from {limits.stated} to {new:,} tokens" if changed else f"window {limits.stated} tokens"
    return new, most, f"{told} ({because})"


def _request(memory: Memory, call: Call, policy: Policy, target: int, own: int) -> CompactionRequest:
    """Return the request to bring a list of ``own`` tokens, by the model's counter, to ``target`` of them."""

    def in_own_count(ledger: Ledger) -> int:
        return max(target * ledger.total // max(own, 1), 1)

    settings = memory.settings.under(policy)
    return memory.request(call, settings=settings, target=in_own_count, trigger="auto").needing(urgent=True)


def _expected(request: CompactionRequest, own: int) -> tuple[int, str]:
    """Return the fewest tokens that a request leads to, by the model's counter, and its reason."""
    plan = request.decide()
    zone = plan.zone()
    summary = zone.max_tokens if isinstance(zone, Summarize) else 0
    return (plan.tokens_after - summary) * own // max(plan.tokens_before, 1), plan.reason
