"""What is said of one session: its tokens, its problems, a smaller copy, a repaired one; and of one text."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from ... import _core
from ...counting.counter import Counter
from ...counting.truncate import truncate
from ...errors import PlanError
from ...formats import read
from ...ledger.columns import Kind, Role, by_kind
from ...messages.types import Transcript
from ...validity.repair import repair
from ...validity.validate import validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...compaction.result import Compaction
    from ...counting.truncate import Category
    from ...ledger.columns import Ledger
    from ...models.model import Model
    from ...validity.validate import Problem, Rules
    from .columns import Columns

SESSION: Columns = {"format": "utf8", "provider": "utf8", "model": "utf8", "messages": "uint32", "skipped": "uint32"}
"""What every row of a session says: ``skipped`` is the number of places in its text that could not be read."""

TOKENS: Columns = {
    "tokens": "uint64",
    "tokens_by_kind": dict.fromkeys(by_kind([[0] * len(Kind)] * len(Role), 0), "uint64"),
    "tokens_by_tool": [{"tool": "utf8", "tokens": "uint64"}],
}
PROBLEMS: Columns = {
    "problems": [{"index": "uint32", "block": "uint32", "code": "utf8", "message": "utf8", "fix": "utf8"}]
}
SMALLER: Columns = {
    "compacted": "large_utf8",
    "tokens_before": "uint64",
    "tokens_after": "uint64",
    "reason": "utf8",
    "plan": "utf8",
}
MENDED: Columns = {"repaired": "large_utf8", "changes": [{"index": "uint32", "code": "utf8", "id": "utf8"}]}
SHORTER: Columns = {"text": "large_utf8", "truncated": "bool"}
ERROR: Columns = {"error": "utf8"}

COUNTED: Columns = {**SESSION, **TOKENS, "tokens_by_message": ["uint32"], **ERROR}
VALIDATED: Columns = {**SESSION, **PROBLEMS, **ERROR}
COMPACTED: Columns = {**SESSION, **SMALLER, **ERROR}
REPAIRED: Columns = {**SESSION, **MENDED, **ERROR}
TRUNCATED: Columns = {**SHORTER, **ERROR}

KEPT = 64
"""Compactors that are kept for the next sessions: a model and provider each."""

TARGETS = ("target_tokens", "target_share")
"""Options of a compaction that are no settings."""


def transcript_of(value: bytes | list[Any], format: str | None) -> Transcript:
    """Return a row as a session: its text is read, messages are taken as they are."""
    if isinstance(value, bytes):
        return read(value, format=format, repair="logs")
    if not value:
        raise ValueError("an empty list: need at least one message")
    provider: Any = format or _core.detect(value) or "openai_chat"
    return Transcript(value, provider, provider)


def described(found: Transcript, model: str | Model | None) -> dict[str, Any]:
    """Return what is said of every session; ``model`` is the one that is named."""
    named = model if isinstance(model, str) or model is None else model.name
    return {
        "format": found.format,
        "provider": found.provider,
        "model": named or found.model,
        "messages": len(found.messages),
        "skipped": len(found.skipped),
    }


def counted(ledger: Ledger) -> dict[str, Any]:
    """Return a session's tokens, in all, by kind and by tool; those of a tool are its calls' and its results'."""
    _, overhead, tokens = ledger.sums()
    return {
        "tokens": ledger.total,
        "tokens_by_kind": by_kind(tokens, overhead),
        "tokens_by_tool": [{"tool": name, "tokens": of} for name, of in ledger.by_tool()],
    }


def validated(found: Transcript, model: str | Model | None, *, in_flight: bool) -> dict[str, Any]:
    """Return what the provider would refuse."""
    of = model or found.model
    return _listed(validate(found.messages, provider=found.provider, model=of, in_flight=in_flight))


def judged(ledger: Ledger, rules: Rules) -> dict[str, Any]:
    """Return what the provider would refuse of a session whose messages are in a ledger alone."""
    return _listed(rules.problems(ledger))


def _listed(problems: list[Problem]) -> dict[str, Any]:
    return {"problems": [{name: getattr(one, name) for name in one.__slots__} for one in problems]}


def compacting(
    model: str | Model | None, targets: dict[str, Any], settings: dict[str, Any]
) -> Callable[[Transcript], dict[str, Any]]:
    """Return what compacts a session, with the plan; each is one of the Compactor of its model and provider."""
    from ...session.compactor import Compactor  # noqa: PLC0415 - 150 ms, for this verb alone
    from .unkept import Unkept  # noqa: PLC0415

    def made(of: str | Model, provider: str) -> Compactor:
        return Compactor(of, **{"provider": provider, "archive": Unkept(), **settings})

    @lru_cache(KEPT)
    def shared(named: str | None, provider: str) -> Compactor:
        return made(model or named or "", provider)

    def work(found: Transcript) -> dict[str, Any]:
        of, call = model_of(found, model), {"system": found.system, "tools": found.tools, **targets}
        if "archive" in settings:  # which is opened and closed for the row
            with made(of, found.provider) as own:
                return _smaller(own.compact(found.messages, **call))
        named = None if model else found.model
        return _smaller(shared(named, found.provider).session().compact(found.messages, **call))

    return work


def _smaller(done: Compaction[Any]) -> dict[str, Any]:
    return {
        "compacted": as_json(done.messages),
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
        "reason": done.reason,
        "plan": done.plan.to_json(),
    }


def repaired(found: Transcript, model: str | Model | None, *, in_flight: bool) -> dict[str, Any]:
    """Return a session as its provider accepts it, with the changes."""
    of = model or found.model
    done = repair(found.messages, provider=found.provider, model=of, in_flight=in_flight)
    changes = [{"index": one.index, "code": one.code, "id": one.id} for one in [*found.repaired, *done.changes]]
    return {"repaired": as_json(done.messages), "changes": changes}


def truncating(
    model: str | Model | None,
    *,
    tokens: int | None = None,
    lines: int | None = None,
    chars: int | None = None,
    category: Category = "generic",
) -> Callable[[bytes], dict[str, Any]]:
    """Return what cuts a text to every given limit.

    Raises:
        ValueError: no limit is given, one is negative, or the category is unknown.
    """
    counter = Counter("o200k_base") if model is None else Counter.for_model(model)
    shorten = partial(truncate, tokens=tokens, lines=lines, chars=chars, category=category, counter=counter)
    shorten("")  # a limit that cannot be is told before a row is read

    def work(value: bytes) -> dict[str, Any]:
        text = value.decode("utf-8", "replace")
        cut = shorten(text)
        return {"text": cut, "truncated": cut is not text}

    return work


def as_json(messages: Any) -> str:
    """Return messages as JSON text, with characters as they are; halves of one, which UTF-8 has not, are escaped.

    Raises:
        ValueError: a number is not finite: JSON has none such, and who reads the text would refuse it.
    """
    text = json.dumps(messages, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(messages, separators=(",", ":"))
    return text


def model_of(found: Transcript, model: str | Model | None) -> str | Model:
    """Return the model that is named, or that of a session."""
    of = model or found.model
    if of is None:
        raise ValueError("it names no model: name one (model=, --model)")
    return of


def parted(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the targets among a compaction's options, and its settings."""
    targets = {name: options[name] for name in TARGETS if name in options}
    return targets, {name: value for name, value in options.items() if name not in targets}


def check_settings(settings: dict[str, Any], model: str | Model | None, targets: dict[str, Any]) -> None:
    """Raise what is wrong with the settings of every row."""
    from ...session.compactor import Compactor  # noqa: PLC0415 - as above

    one = [{"role": "user", "content": "a"}]
    with Compactor(model or "claude-sonnet-5-5", **settings) as cm, suppress(PlanError):  # there is nothing to compact
        cm.plan(one, **targets)
