"""The public API as users write it: checked by mypy --strict, never run."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import trimtab
from trimtab import Review, Verdict
from trimtab.events import Event


def counting() -> None:
    counter = trimtab.Counter("o200k_base")
    assert_type(counter.count("text"), int)
    assert_type(counter.count_many(["a", b"b"]), NDArray[np.uint32])
    assert_type(counter.exceeds("text", 3), bool)
    assert_type(trimtab.Counter.for_model("gpt-5.5"), trimtab.Counter)
    assert_type(trimtab.Counter.chars("bytes", round="ceil"), trimtab.Counter)
    assert_type(trimtab.count([{"role": "user", "content": "x"}], model="gpt-5.5"), int)


def reading(path: str) -> trimtab.Transcript:
    found = trimtab.read(path, whole=True)
    assert_type(found.provider, trimtab.models.Provider)
    for problem in trimtab.validate(found.messages, provider=found.provider):
        assert_type(problem.index, int)
    return found


async def compacting(found: trimtab.Transcript) -> list[trimtab.Message]:
    async def write(ask: trimtab.summarize.Ask) -> str:
        return str(len(ask.messages))

    def review(question: Review) -> Verdict | None:
        return Verdict(refuse="no") if question.plan else None

    def listen(event: Event) -> None:
        print(event)

    cm = trimtab.Compactor("claude-sonnet-4-5", summarizer=write, pre_compact=review, listeners=[listen])
    cm.pin(found.messages[0])
    assert_type(cm.plan(found.messages, target_share=0.5), trimtab.Plan)
    done = await cm.acompact(found.messages, system=found.system, tools=found.tools, target_tokens=20_000)
    assert_type(done, trimtab.Compaction[dict[str, Any]])
    if done.ref is not None:
        originals = cm.restore(done.ref)
        print(originals[0]["role"])
    return list(done.messages)
