"""A session's state as JSON, for a framework's checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

from .._log import log
from ..archive.names import check_name
from ..compaction.view import View
from ..errors import ConfigError
from ..messages.usage import MOST
from ..models.model import SOURCES
from .call import When
from .memory import Verified
from .rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..compaction.settings import Settings
    from .memory import Memory

VERSION = 1
"""Number of the form; a state of another form is refused."""


def state_of(memory: Memory) -> dict[str, Any]:
    """Return the state of a session: dicts, lists, texts and numbers alone.

    A result with a text that ``redact`` removes is left out, as the archive leaves it out.
    """
    settings, view, rounds = memory.settings, memory.standin.view, memory.rounds
    stands_in = view is not None and view.is_storable(settings.redact)
    return {
        "version": VERSION,
        "session": settings.session,
        "model": settings.model_id,
        "policy": settings.policy.name,
        "limits": [settings.limits.window, settings.limits.output, settings.limits.source] if memory.limited else None,
        "turn": rounds.turn,
        "rounds": rounds.compactions,
        "failed": rounds.failed,
        "failing": rounds.failing,
        "crowded": rounds.crowded,
        "pressed": rounds.pressed,
        "resting": rounds.resting,
        "edited": memory.edited,
        "moments": sorted(rounds.moments),
        "verified": [memory.verified.length, memory.verified.digest],
        "summaries": [*memory.own.texts],
        "refs": dict(memory.own.refs),
        "results": [list(marks) for marks in memory.own.results],
        "forecast": memory.sizes.forecast.state(),
        "view": asdict(view) if view and stands_in else None,
        **({} if settings.rules.request is None else {"request": settings.rules.request}),
        **({"server": memory.server.state()} if settings.policy.server else {}),
        **({"pins": pins} if (pins := _pins(memory)) else {}),
    }


def _pins(memory: Memory) -> list[list[str]]:
    """Return the pins that end with the process, because its archive does; redacted, as the archive has them."""
    archive = memory.handler.archive.opened
    return [] if archive is None or archive.durable else [[*pin] for pin in archive.pins(memory.settings.session)]


def load_state(memory: Memory, state: Mapping[str, Any]) -> None:
    """Go on from a checked state.

    Raises:
        ArchiveError: its pins cannot be stored.
    """
    memory.continued = True
    memory.edited = state["edited"]
    memory.rounds = Rounds(
        set(state["moments"]),
        state["turn"],
        state["rounds"],
        state["failed"],
        state["failing"],
        state.get("crowded", 0),
        state.get("pressed", False),
        state.get("resting", False),
    )
    memory.verified = Verified(*state["verified"])
    memory.own.texts[:] = state["summaries"]
    memory.own.refs |= state["refs"]
    memory.own.results.extend(map(tuple, state["results"]))
    memory.sizes.forecast.load(state["forecast"])
    memory.standin.remember(View(**state["view"]) if state["view"] else None)
    if "server" in state:
        memory.server.load(state["server"])
    if state["limits"] is not None:
        window, output, source = state["limits"]
        known = memory.settings.model
        if known.source != "argument" or (source == "refusal" and window < known.window):
            memory.limit(memory.settings.limited(window, output, source))
    if state.get("request") is not None:
        memory.settings = memory.settings.within(state["request"])
    for kind, value in state.get("pins", ()):
        memory.handler.archive.open().pin(memory.settings.session, kind, value)
    _tell_what_is_gone(memory)


def _tell_what_is_gone(memory: Memory) -> None:
    """Warn where the originals of the session were in the memory of another process."""
    refs = {ref for ref, own in memory.own.refs.items() if own}
    archive = memory.handler.archive.opened
    if memory.handler.archive.where == "memory":
        known = archive.recognize(refs, memory.settings.session) if archive is not None else {}
        if gone := len(refs - {*known}):
            log.warning(
                "the originals of %d compactions of session %r were in memory and ended with their process: name an"
                " archive that outlives it, such as sqlite:///PATH",
                gone,
                memory.settings.session,
            )


def check_state(state: object, settings: Settings, session: str | None) -> str:
    """Return the name of a state's session.

    Args:
        state: the state.
        settings: of the Compactor that shall go on with it.
        session: the name that its caller expects; None expects none.

    Raises:
        ConfigError: it is no state, or of another session, model, policy or version; says what differs.
    """
    if not isinstance(state, Mapping):
        raise ConfigError(f"a session's state is the dict that Session.state() returned, got {type(state).__name__}")
    if (version := state.get("version")) != VERSION or isinstance(version, bool):
        raise ConfigError(f"the state has version {version!r}; this trimtab reads version {VERSION}")
    _check(state, _STATE, "state")
    name: str = state["session"]
    expected = {"session": name if session is None else session, "model": settings.model_id}
    for what, ours in (expected | {"policy": settings.policy.name}).items():
        if state[what] != ours:
            raise ConfigError(f"the state is of {what} {state[what]!r}, not of {ours!r}")
    return name


def _check(value: Any, shape: Any, path: str) -> None:
    """Reject a value that has not the shape: a test, or a dict of shapes by key.

    Raises:
        ConfigError: names the place.
    """
    if not isinstance(shape, dict):
        if not shape(value):
            raise ConfigError(f"{path} cannot be {_shown(value)}: the state was changed or cut off")
        return
    if not isinstance(value, Mapping):
        raise ConfigError(f"{path} must be a dict, got {_shown(value)}: the state was changed or cut off")
    for key, part in shape.items():
        if key not in value and f"{path}.{key}" in _MAY_LACK:
            continue
        if key not in value:
            raise ConfigError(f"{path} has no {key!r}: the state was changed or cut off")
        if value[key] is not None or f"{path}.{key}" not in _MAY_BE_NONE:
            _check(value[key], part, f"{path}.{key}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_number(value: object) -> bool:
    return type(value) is int and abs(value) <= MOST


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MOST


def _is_factor(value: object) -> bool:
    return type(value) in {int, float} and 0 < value < MOST  # type: ignore[operator]


def _is_name(value: object) -> bool:
    try:
        return check_name(value) == value  # type: ignore[arg-type]
    except ValueError:
        return False


def _is_view(value: object) -> bool:
    try:
        return isinstance(value, Mapping) and bool(View(**value))
    except (TypeError, ValueError):
        return False


def _each(test: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(test, value))


def _is_pair(first: Callable[[object], bool], second: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and len(value) == 2 and first(value[0]) and second(value[1])


def _is_pin(value: object) -> bool:
    return _is_pair(_is_text, _is_text)(value) and value[0] in {"message", "text"} and bool(value[1].strip())  # type: ignore[index]


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST


def _is_limits(value: object) -> bool:
    if not (isinstance(value, list) and len(value) == 3 and value[2] in SOURCES):
        return False
    return _is_count(value[0]) and _is_count(value[1]) and value[0] > value[1]


_USAGE = dict.fromkeys(("input", "output", "cache_read", "cache_write", "hourly", "earlier"), _is_count)
_STATE: dict[str, Any] = {
    "session": _is_name,
    "model": _is_text,
    "policy": _is_text,
    "limits": _is_limits,
    "request": _is_count,
    "turn": _is_count,
    "rounds": _is_count,
    "failed": _is_count,
    "failing": _is_bool,
    "crowded": _is_count,
    "pressed": _is_bool,
    "resting": _is_bool,
    "edited": _is_bool,
    "moments": _each(lambda moment: moment in get_args(When)),
    "verified": _is_pair(_is_count, _is_text),
    "summaries": _each(_is_text),
    "refs": lambda refs: isinstance(refs, Mapping) and all(isinstance(known, bool) for known in refs.values()),
    "results": _each(_each(_is_text)),
    "view": _is_view,
    "pins": _each(_is_pin),
    "server": {
        "why": _is_text,
        "refused": _each(_is_text),
        "clearing": {
            "uses": _is_count,
            "tokens": _is_count,
            "messages": _is_count,
            "digest": _is_text,
            "trigger": _is_count,
            "least": _is_count,
            "tools": _each(_is_text),
            "inputs": _each(_is_text),
            "thinking": _is_count,
        },
    },
    "forecast": {
        "vocabularies": _each(_is_text),
        "anchor": {
            "before": _is_count,
            "digest": _is_text,
            "counted": _is_count,
            "other": _is_count,
            "prompt": _is_count,
            "usage": _USAGE,
        },
        "pending": {
            "before": _is_count,
            "digest": _is_text,
            "provider": _is_text,
            "counted": _is_count,
            "fixed": _is_count,
            "grown": _is_number,
            "loops": _is_bool,
        },
        "votes": _each(_is_bool),
        "errors": _each(_is_number),
        "factor": _is_factor,
        "usage": _USAGE,
        "counted": _is_count,
        "own": _is_count,
        "unseen": _is_count,
        "cache_read": _is_count,
        "cache_write": _is_count,
        "readings": {
            "hits": _each(_is_bool),
            "growth": _each(_is_count),
            "used": _is_time,
            "is_cached": _is_bool,
            "hourly": _is_bool,
        },
        "doubted": _is_pair(_is_count, _is_count),
    },
}
"""Shape of a state."""

_MAY_BE_NONE = frozenset(
    {
        "state.limits",
        "state.view",
        "state.server.clearing",
        "state.forecast.anchor",
        "state.forecast.anchor.other",
        "state.forecast.pending",
        "state.forecast.pending.grown",
        "state.forecast.usage",
        "state.forecast.doubted",
        "state.forecast.readings.used",
    }
)

_MAY_LACK = frozenset(
    {
        "state.forecast.anchor.other",
        "state.forecast.anchor.usage.earlier",
        "state.forecast.usage.earlier",
        "state.forecast.doubted",
        "state.pins",
        "state.request",
        "state.crowded",
        "state.pressed",
        "state.resting",
        "state.server",
    }
)
"""Keys that earlier releases did not write, or that hold what a session may have nothing of."""
