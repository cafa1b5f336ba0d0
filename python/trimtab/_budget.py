"""Token limits of one model call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """Past ``trigger`` tokens of messages, compaction aims at ``target``.

    Attributes:
        window: tokens that the model takes, input and output together.
        reserve: tokens kept free for the answer.
        fixed: tokens of system text and tool definitions, which no compaction touches.
        trigger: tokens of messages past which compaction pays.
        target: tokens of messages that compaction aims at.
        critical: tokens of messages past which the next call is in danger.
    """

    window: int
    reserve: int
    fixed: int
    trigger: int
    target: int
    critical: int

    def __post_init__(self) -> None:
        """Refuses a window without room for messages."""
        if not (0 < self.reserve < self.window and 0 < self.target <= self.trigger <= self.critical):
            msg = (
                f"no room for messages: window {self.window:,} less reserve {self.reserve:,} "
                f"and {self.fixed:,} of system and tools"
            )
            raise ValueError(msg)

    @classmethod
    def of(cls, window: int, reserve: int, fixed: int = 0, *, trigger: float = 0.80, target: float = 0.40) -> Budget:
        """The budget of a window.

        ``trigger`` is a share of the input budget, ``window - reserve``; ``target`` is one of what system and tools
        leave of it, so that large tools cannot push it to nothing.
        """
        room = window - reserve
        return cls(
            window=window,
            reserve=reserve,
            fixed=fixed,
            trigger=int(room * trigger) - fixed,
            target=int((room - fixed) * target),
            critical=int(room * 0.95) - fixed,
        )

    def explain(self, tokens: int | None = None) -> str:
        """Every term, a line each; with ``tokens`` of messages, how they stand to it."""
        rows = [
            ("window", self.window, "input and output together"),
            ("reserve", -self.reserve, "kept free for the answer"),
            ("input budget", self.window - self.reserve, ""),
            ("system, tools", -self.fixed, "sent with every call"),
            ("trigger", self.trigger, "messages past this are compacted"),
            ("target", self.target, "and brought down to this"),
            ("critical", self.critical, "past this the next call is in danger"),
        ]
        if tokens is not None:
            state = "over" if tokens > self.trigger else "below"
            rows.append(("messages", tokens, f"{state} the trigger, {100 * tokens / self.trigger:.0f} % of it"))
        return "\n".join(f"{name:14} {value:>11,}  {note}".rstrip() for name, value, note in rows)
