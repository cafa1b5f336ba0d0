"""The context window of a Claude Code session: what the file shows of it, and the settings beside the file.

Claude Code gives a model one of ``WINDOWS``, whatever the model can do, and no line of a session names it. The first of
these that there is shows it:

1. what a ``result`` line of a printed session says of the last model;
2. the mark ``[1m]`` behind the model's id, in a line or in what ``/model`` printed, or the beta flag of that window;
3. the prompt of the last automatic compaction, or of calls that were billed more than the smaller window holds, or of
   another compaction of so many tokens: the smallest window that holds it. A charge that neither a call beside it nor
   the messages bear out shows nothing: providers double one now and then.

A compact window in the settings lowers it; those are the settings in the file, and those of the project and of the user
where the file lies in Claude Code's own folder. Without any of these the smaller window is assumed
(``Transcript.default_window``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..counting.counter import count
from ..messages.usage import is_proven, is_tokens
from ..models.ids import ModelId
from ..models.model import Model
from ._parts import dict_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..messages.types import Charged
    from ._builder import Builder

WINDOWS = (200_000, 1_000_000)
"""Context windows that Claude Code gives a model, in tokens; it compacts where one is nearly full."""

COMPACT_WINDOWS = (100_000, 1_000_000)
"""The smallest and the largest compact window that Claude Code takes from its settings, in tokens."""

_VARIABLE = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
_FLAGS = ("betas", "anthropic_beta", "anthropic-beta")
_TELLING = {"compactMetadata", "model", "modelUsage", "settings", "request", "headers", *_FLAGS}
_MODEL_SET = "<local-command-stdout>Set model to "


@dataclass(slots=True)
class Evidence:
    """What the lines of a session say of its window.

    Attributes:
        full: tokens of the prompt at the last automatic compaction, 0 before the first.
        most: most tokens of a prompt that was compacted.
        wide: whether the model was last named with the mark of the larger window.
        betas: beta flags of the calls.
        models: what a printed session says of each model in its ``result`` line.
        settings: the last settings in the file.
        folder: the last working directory.
    """

    full: int = 0
    most: int = 0
    wide: bool = False
    betas: set[str] = field(default_factory=set)
    models: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    folder: str = ""

    def note(self, value: dict[str, Any]) -> None:
        """Note what a line says."""
        folder, message = value.get("cwd"), value.get("message")
        if folder and isinstance(folder, str):
            self.folder = folder
        message = message if isinstance(message, dict) else {}
        printed = message.get("content") or value.get("content")
        if isinstance(printed, str) and printed.startswith(_MODEL_SET):
            self.wide = "[1m]" in printed or "1M context" in printed
        if value.keys().isdisjoint(_TELLING) and message.keys().isdisjoint(_FLAGS):  # nearly every line
            return
        compacted = dict_of(value.get("compactMetadata"))
        if is_tokens(tokens := compacted.get("preTokens")):
            self.most = max(self.most, tokens)
            self.full = tokens if compacted.get("trigger") == "auto" else self.full
        if text_of(value.get("model")).endswith("[1m]"):  # only the first line of a printed session has the mark
            self.wide = True
        for place in (value, message, dict_of(value.get("request")), dict_of(value.get("headers"))):
            self.betas.update(_flags(place))
        self.models |= dict_of(value.get("modelUsage"))
        self.settings |= dict_of(value.get("settings"))

    def decide(self, built: Builder) -> None:
        """Set the window of a session, or the one that is assumed."""
        for model, used in self.models.items():
            if model.removesuffix("[1m]") == built.model:
                built.name_window(dict_of(used).get("contextWindow"))
        if built.window is None:
            built.window = self._shown(built)
        if built.window is None and not ModelId.of(built.model or "").wide:
            built.name_window(WINDOWS[0], default=True)
        self.limit(built, [self.settings])

    def _shown(self, built: Builder) -> int | None:
        """Return the window that marks, flags, compactions and charges show."""
        if self.wide:
            return WINDOWS[-1]
        if self.betas and Model.named(built.model or "", betas=self.betas).window >= WINDOWS[-1]:
            return WINDOWS[-1]
        believed = max(_believed(built), self.full)
        if self.full or believed > WINDOWS[0]:
            return next((window for window in WINDOWS if window >= believed), None)
        return WINDOWS[-1] if WINDOWS[0] < self.most <= WINDOWS[-1] else None

    def limit(self, built: Builder, settings: list[dict[str, Any]]) -> None:
        """Lower the window to the compact window of settings, of which the first that have one count."""
        tokens = _compact_window(settings, built.model or "")
        if tokens:
            known = built.window or Model.named(built.model or "").window
            built.window, built.default_window = min(known, tokens), None


def settings_beside(path: object, folder: str) -> list[dict[str, Any]]:
    """Return the settings that hold for a session in Claude Code's own folder: the project's, then the user's.

    Nothing is read for a file elsewhere: it says nothing about this machine.
    """
    folders = Path(path).resolve().parents if isinstance(path, str) else ()
    own = next((each.parent for each in folders if each.name == "projects"), None)
    if own is None or not (own.name == ".claude" or (own / "settings.json").is_file()):
        return []
    project = Path(folder) / ".claude" if folder else own
    files = (project / "settings.local.json", project / "settings.json", own / "settings.json")
    return [found for file in dict.fromkeys(files) if (found := _read(file))]


def _read(file: Path) -> dict[str, Any]:
    """Return settings; none if they cannot be read."""
    try:
        return dict_of(json.loads(file.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}


def _compact_window(settings: list[dict[str, Any]], model: str) -> int:
    """Return the compact window of a model: of the environment, of the model, or of all models; 0 if there is none."""
    for value in _compact_windows(settings, ModelId.of(model).key):
        tokens = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 16 else value
        if is_tokens(tokens) and tokens:
            return min(max(tokens, COMPACT_WINDOWS[0]), COMPACT_WINDOWS[1])
    return 0


def _compact_windows(settings: list[dict[str, Any]], key: str) -> Iterator[object]:
    for each in settings:
        yield dict_of(each.get("env")).get(_VARIABLE)
    for each in settings:
        for name, own in dict_of(each.get("modelSettings")).items():
            if ModelId.of(name).key == key:
                yield dict_of(own).get("autoCompactWindow")
        yield each.get("autoCompactWindow")


def _flags(place: dict[str, Any]) -> Iterator[str]:
    """Yield the beta flags of a request, as an SDK's list or as the header."""
    for name in _FLAGS:
        flags = place.get(name)
        names = flags.split(",") if isinstance(flags, str) else flags if isinstance(flags, list) else []
        yield from (flag.strip() for flag in names if isinstance(flag, str))


def _believed(built: Builder) -> int:
    """Return the most tokens of a charge that another one or the messages bear out; 0 if none is above a window."""

    def counted(charged: Charged) -> int:
        if charged.prompt > WINDOWS[-1]:
            return 0

        return count(built.messages[: charged.before], model=built.model or "")

    large = [at for at, charged in enumerate(built.usage) if charged.prompt > WINDOWS[0]]
    large.sort(key=lambda at: -built.usage[at].prompt)
    return next((built.usage[at].prompt for at in large if is_proven(built.usage, at, counted)), 0)
