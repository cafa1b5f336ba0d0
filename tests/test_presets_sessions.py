"""Every preset on every shared session, with a summarizer that answers and with those that do not."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import trimtab
from trimtab import config, events
from trimtab._counter import Counter, scan
from trimtab.policies import POLICIES
from trimtab.summarize import Function, Limits

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "transcripts"
FILES = sorted(path for path in FOLDER.rglob("*.json*") if path.is_file()) if FOLDER.is_dir() else []
FEW = FILES[:: max(len(FILES) // 6, 1)]
"""For the everyday run: a sixth of the formats each."""


def fails(_: object) -> str:
    raise RuntimeError("the model is down")


def stalls(_: object) -> str:
    time.sleep(0.3)
    return "too late"


SUMMARIZERS: dict[str, Any] = {
    "answers": lambda _: "What was asked was done; tests pass.",
    "fails": fails,
    "stalls": stalls,
    "is blank": lambda _: " \n ",
    "refuses": lambda _: "I'm sorry, but I can't help with that.",
    "is too long": lambda _: "and so on " * 20_000,
    "offline": None,
}


def tight(name: str, total: int) -> Any:
    """The preset, with a window that this much fills."""
    policy = POLICIES[name]
    if name.startswith("agentpg"):
        keys = {"max_tokens_for_model": total, "protected_tokens": total // 5, "target_tokens": max(total // 3, 2)}
        policy = config.configured("agentpg", keys, policy)
    return replace(policy, trigger=replace(policy.trigger, rules=False, window=None))


def forced(path: Path, name: str, writer: Any) -> bool:
    """Lets the preset's own trigger fire on a session, and looks at what comes back; whether anything was done."""
    found = trimtab.read(path)
    if len(found.messages) < 12:
        return False
    policy = POLICIES[name]
    counter = policy.counter.counter() if policy.counter else Counter.for_model("claude-sonnet-4-5")
    total = max(scan(found.messages, counter, found.provider).total, 4_000)
    told: list[Any] = []
    cm = trimtab.Compactor(
        "claude-sonnet-4-5",
        provider=found.provider,
        policy=tight(name, total),
        window=int(total * 0.9) if name == "opencode" else int(total * 1.05) + 600,
        max_output=500,
        summarizer=Function(writer, limits=Limits(seconds=0.1, tries=1)) if writer else "offline",
        listeners=[told.append],
    )
    before = list(found.messages)
    fitted = cm.fit(found.messages, when=policy.trigger.when[0])
    assert found.messages == before
    if fitted.compaction is None:
        assert fitted.messages is found.messages
        return False
    done = fitted.compaction
    assert done.tokens_after < done.tokens_before
    assert not trimtab.validate(list(fitted.messages), provider=found.provider, in_flight=True)
    assert cm.restore(done.ref or "") == before
    assert tuple(event.name for event in told if isinstance(event, events.Step)) == cm.policy.order
    return True


@pytest.mark.shared
@pytest.mark.parametrize("how", sorted(SUMMARIZERS))
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_forced_trigger_gives_a_valid_list_whatever_the_summarizer_does(name: str, how: str) -> None:
    files = FEW if how == "offline" else FEW[:3]
    assert files
    done = [forced(path, name, SUMMARIZERS[how]) for path in files]
    # Where a document makes a failed summary an error, the list stays; one that is written must have been put to use.
    assert any(done) or how not in {"answers", "offline"}


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_preset_on_every_shared_session(path: Path) -> None:
    for name in POLICIES:
        for writer in SUMMARIZERS.values():
            forced(path, name, writer)
