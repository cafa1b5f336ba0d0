"""The Compactor of a session file, and the size of its next prompt against the agent's own window."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..messages.types import text_of
from .input import model_of, where_of
from .options import READING, WRITING, archive_option, given_options
from .output import print_note

if TYPE_CHECKING:
    from ..events import Event
    from ..messages.types import Transcript
    from ..models.model import WindowSource
    from ..planning.budget import Terms, Trigger
    from ..session.compactor import Compactor
    from ..session.session import Session

MARKS = {
    "file": " (the agent's own)",
    "public": " (of public tables)",
    "policy": " (of the policy)",
    "assumed": " (assumed)",
}
"""Words behind a window, by its source."""


def learn(cm: Compactor | Session, options: argparse.Namespace, found: Transcript) -> None:
    """Let a Compactor or a session learn from a session file; one without a model is taken for the assumed model's."""
    cm.learn(found if found.model or options.model else replace(found, model=model_of(options, found)))


def compactor(options: argparse.Namespace, found: Transcript, **settings: Any) -> Compactor:
    """Return a Compactor for a transcript that has learned from its usage; ``settings`` may replace the policy."""
    from ..archive.names import command_name
    from ..events import UsageIgnored
    from ..session.compactor import Compactor

    class OfCommand(Compactor):
        """A Compactor whose session without a name is a command's."""

        _new_name = staticmethod(command_name)

    doubts: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, UsageIgnored):
            doubts.append(event.reason)

    model = model_of(options, found)
    if not (options.model or found.model):
        print_note(f"{where_of(options)}no model is named: counted for {model} (choose another with --model)")
    settings = {"policy": getattr(options, "policy", "default"), "listeners": (listen,), **settings}
    tag = getattr(options, "keep_tag", None)
    cm = OfCommand(model, provider=found.provider, window=options.window, keep_tag=tag, **settings)
    learn(cm, options, found)
    if doubts:
        many = f"{len(doubts):,} billed calls in the file are ignored; the last"
        what = many if len(doubts) > 1 else "1 billed call in the file is ignored"
        print_note(f"{where_of(options)}{what}: {doubts[-1]}")
    return cm


def hint(options: argparse.Namespace, changes: object) -> list[str]:
    """Return what to type if nothing changes and the user gave no target; else no line."""
    if changes or options.target_tokens or options.target_share:
        return []
    given = given_options(options, *READING, "policy", "pin", "keep_tag", *WRITING, "instructions", "session")
    given += archive_option(getattr(options, "archive", None))
    file = shlex.quote(options.file)
    return [f"  to compact it all the same: trimtab compact {file} -o OUT --target-share 0.5{given}"]


def known_fields(options: argparse.Namespace, found: Transcript) -> dict[str, Any]:
    """Return the fields beside the messages that the user or the file names, as ``read`` takes them back."""
    own = found if not options.window and options.model in (None, found.model) else None
    fields = {
        "model": options.model or found.model,
        "window": own.window if own else options.window,
        "default_window": own and own.default_window,
        "system": found.system,
        "tools": found.tools,
    }
    return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True, slots=True)
class NextPrompt:
    """The prompt of the agent's next call.

    Attributes:
        tokens: all of it: ``counted``, and what was billed beyond the count.
        billed: tokens of the last billed prompt, 0 if the file has none.
        counted: tokens of the messages, system text and tools in the file.
        window: the window's tokens, input and output together.
        source: where the window is from; a table's is assumed if nobody names the model.
        trigger: tokens past which compaction is due, as the policy counts them.
        over: whether it is due.
        model: the model.
        named: whether the file or the user names the model.
        gaps: parts of a prompt that neither the file nor its usage shows.
        default: whether the window is the one that the agent gives any model, as the file shows none.
        terms: the token counts of its parts.
        rule: the rule of the trigger.
    """

    tokens: int
    billed: int
    counted: int
    window: int
    source: WindowSource
    trigger: int
    over: bool
    model: str
    named: bool
    gaps: tuple[str, ...]
    default: bool
    terms: Terms
    rule: Trigger

    @classmethod
    def of(
        cls, options: argparse.Namespace, found: Transcript, cm: Compactor, unread: dict[str, int] | None = None
    ) -> NextPrompt:
        """Return the next prompt of a session.

        Args:
            options: those of the verb.
            found: the session.
            cm: its Compactor.
            unread: tokens by kind of messages that are not in memory.
        """
        more = sum(unread.values()) if unread else 0
        size, rule = cm.size(found.messages, system=found.system, tools=found.tools), cm.policy.trigger
        tokens, trigger = size.prompt + more, rule.limit(size.terms)
        by_model = cm.policy.counter is None and tokens > trigger
        source, named = size.terms.source, bool(options.model or found.model)
        has_system = found.system or _opens_with_system(found) or (unread and unread["system"])
        lacks = {"system text": not has_system, "tools": not found.tools}
        return cls(
            tokens,
            size.billed,
            size.counted + more,
            cm.window,
            "assumed" if not named and source in ("table", "public") else source,
            trigger,
            by_model or rule.reached(size.terms) or tokens > size.terms.input_budget,
            cm.model,
            named,
            () if size.billed else tuple(part for part, is_gap in lacks.items() if is_gap),
            source == "assumed" and cm.window == found.default_window,
            size.terms,
            rule,
        )

    @property
    def missing(self) -> int:
        """Tokens that were billed and are not in the file."""
        return self.tokens - self.counted

    @property
    def state(self) -> str:
        """Whether it is over the trigger."""
        return f"{'over' if self.over else 'below'} the trigger of {self.trigger:,}"

    def share(self, tokens: int) -> str:
        """Return the share that a prompt of so many tokens has of the window, with what of it is assumed."""
        model = self.model if self.named else f"{self.model}, a model that is assumed"
        return (
            f"{100 * tokens / self.window:.1f} % of the window {self.window:,}{MARKS.get(self.source, '')} of {model}"
        )

    def becomes(self, tokens: int) -> str:
        """Return the prompt before and after a compaction that leaves so many tokens of it."""
        return f"  next prompt {self.tokens:,} -> {tokens:,} tokens, {self.share(tokens)}"

    def lines(self) -> Iterator[str]:
        """Yield the verdict, and what of the prompt is not in the file."""
        least = "at least " * bool(self.gaps)
        yield f"next prompt: {least}{self.tokens:,} tokens, {self.share(self.tokens)}, {self.state}"
        if self.default:
            yield "  the file does not show which window the agent has; name a larger one with --window"
        if self.billed:
            yield f"  the last recorded call was billed {self.billed:,} tokens"
        if self.missing:
            yield f"  {self.missing:,} of the next prompt are not in the file: system text, tools, what is not logged"
        elif self.gaps:
            yield f"  without {' and '.join(self.gaps)}: the file has none, and no billed call that shows them"
        if self.source == "assumed" and not self.default:
            yield f"  assumed: {self._unknown}"
        yield f"  the trigger, past which a compaction is due, is {self.rule.threshold:.0%} of {self._capacity}"

    @property
    def _capacity(self) -> str:
        """What the trigger is a share of."""
        capacity, output = self.rule.capacity(self.terms), self.terms.output
        if capacity == self.window:
            return "the window"
        if capacity == self.window - output:
            return f"the window without {output:,} for the answer"
        return f"{capacity:,} tokens of input"

    @property
    def _unknown(self) -> str:
        """Why a window is assumed, and what to type."""
        if not self.named:
            return "the file names neither a model nor a window; name them with --model and --window"
        return f"no table is sure of the window of {self.model}; name it with --window"

    def fields(self) -> dict[str, Any]:
        """Return the fields of ``--json``."""
        return {
            "next_prompt": self.tokens,
            "last_billed": self.billed,
            "not_in_file": self.missing,
            "not_known": list(self.gaps),
            "window": self.window,
            "window_from": self.source,
            "trigger": self.trigger,
            "over": self.over,
        }


def _opens_with_system(found: Transcript) -> bool:
    """Return whether a session begins with a system message that has text."""
    first = found.messages[0] if found.messages else {}
    return first.get("role") in ("system", "developer") and bool(text_of(first.get("content")))
