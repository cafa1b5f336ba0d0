"""Settings, plans and ledgers go to other processes, however these are started, and mean the same there."""

from __future__ import annotations

import copy
import json
import multiprocessing
import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import trimtab
from support.models import CLAUDE, CLAUDE_BOUND, GPT
from support.transcripts import transcript
from trimtab import _core
from trimtab.planning import Truncate
from trimtab.policies import POLICIES

EXAMPLE = trimtab.example().messages
PATIENCE = 120
"""Seconds after which a worker hangs; one that is spawned starts in one."""

COLUMNS = [name for name in dir(_core.Ledger) if isinstance(getattr(_core.Ledger, name), type(_core.Ledger.owner))]
"""Properties of a ledger: its columns, and what is computed of them."""

PER_PROVIDER = [
    transcript("u:40 t:5+c1:3+c2 r1:900+r2 a:90 i:300+u c3", provider=provider)
    for provider in ("anthropic", "openai_chat", "openai_responses", "bedrock", "gemini")
]
LISTS = [EXAMPLE, [], *PER_PROVIDER]


@dataclass(frozen=True)
class Shorten:
    """A stage of one's own, as a policy is composed with it: results are cut to so many tokens."""

    tokens: int

    def edits(self, costs: Any, target: int) -> Iterator[Truncate]:
        if rows := costs.results(0, costs.messages - 10, at_least=self.tokens, without=costs.pins).tolist():
            yield Truncate(tuple(rows), self.tokens)


def small(**options: Any) -> trimtab.Compactor:
    """Return a compactor whose window the example fills."""
    return trimtab.Compactor(CLAUDE, window=60_000, max_output=8_000, **options)


def columns(ledger: _core.Ledger) -> dict[str, Any]:
    """Return all columns as values that compare."""
    found = {name: getattr(ledger, name) for name in COLUMNS}
    found["names"] = (found["names"][0], found["names"][1].tolist())
    found = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()}
    return {**found, "ids": [ledger.id_of(row) for row in range(len(found["owner"]))]}


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("model", [CLAUDE, CLAUDE_BOUND, GPT])
@pytest.mark.parametrize("messages", LISTS, ids=lambda messages: str(len(messages)))
def test_a_pickled_ledger_has_the_same_columns_and_grows_the_same(messages: list[Any], model: str) -> None:
    counter = trimtab.Counter.for_model(model)
    ledger = trimtab.Ledger.of(messages, counter=counter)
    for copied in (again(ledger), copy.deepcopy(ledger)):
        assert columns(copied) == columns(ledger)
        more = messages[:3]
        assert columns(copied.extend(more)) == columns(ledger.extend(more))
        rules = {"provider": ledger.provider}
        assert _core.validate(copied, **rules) == _core.validate(ledger, **rules)
    grown = ledger.extend(messages[:5])
    assert columns(again(grown)) == columns(grown)


def test_a_ledger_of_a_file_is_pickled_with_the_columns_that_were_read() -> None:
    ledger = trimtab.formats.scan(json.dumps(EXAMPLE).encode(), counter=trimtab.Counter.for_model(CLAUDE)).ledger
    assert len(ledger) == len(EXAMPLE)
    assert columns(again(ledger)) == columns(ledger)


def test_a_ledger_is_pickled_without_texts() -> None:
    counter = trimtab.Counter.for_model(CLAUDE)
    secret = "a sentence that stands in no column"
    packed = pickle.dumps(trimtab.Ledger.of([{"role": "user", "content": secret * 99}], counter=counter))
    assert secret.encode() not in packed
    assert len(packed) < 2_000


def test_a_ledger_of_another_version_or_of_damaged_bytes_is_refused() -> None:
    ledger = trimtab.Ledger.of(EXAMPLE[:9], counter=trimtab.Counter.for_model(CLAUDE))
    remade, (counter, provider, version, state) = ledger.__reduce__()
    with pytest.raises(ValueError, match=r"trimtab 0\.0\.0 with trimtab .*from its messages"):
        remade(counter, provider, "0.0.0", state)
    damaged = [state[:cut] for cut in range(0, len(state), 7)]
    damaged += [state + b"\0", b"\xff" * len(state), bytes(8) + state[8:]]
    damaged += [state[:at] + bytes([state[at] ^ 0xFF]) + state[at + 1 :] for at in range(60)]
    says = []
    for bytes_ in damaged:
        try:
            columns(remade(counter, provider, version, bytes_))  # another number in a column is a ledger, too
        except ValueError as error:
            says.append(str(error))
    assert set(says) == {"these bytes are not the columns of a ledger"}
    assert len(says) > len(damaged) - 60


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_pickled_policy_decides_the_same(policy: trimtab.Policy) -> None:
    composed = replace(policy, name="composed", stages=(Shorten(300),), target=1_000)
    for each in (policy, composed):
        assert again(each) == each
        assert copy.deepcopy(each) == each
        plans = [small(policy=one).plan(EXAMPLE) for one in (each, again(each))]
        assert plans[0] == plans[1]
        assert plans[0].edits
        assert again(plans[0]) == plans[0]


def test_a_callable_in_a_policy_is_named() -> None:
    policy = replace(POLICIES["drop"], stages=(lambda costs, target: iter(()),))
    with pytest.raises(TypeError, match=r"cannot pickle a Policy with stages=.*name a value that pickle takes"):
        pickle.dumps(policy)
    with pytest.raises(TypeError, match=r"cannot pickle a Compactor with policy=.*cannot pickle a Policy with stages="):
        pickle.dumps(trimtab.Compactor(CLAUDE, policy=policy))


def objects() -> dict[str, Any]:
    """Return one of each kind that goes to a worker."""
    cm = small()
    return {
        "counter": cm.counter,
        "model": trimtab.Model.named(CLAUDE),
        "policies": list(POLICIES.values()),
        "plan": cm.plan(EXAMPLE),
        "compactor": cm,
        "ledger": trimtab.Ledger.of(EXAMPLE, counter=cm.counter),
    }


def answers(kinds: dict[str, Any]) -> dict[str, Any]:
    """Return what the objects say about the example."""
    counter, compactor = kinds["counter"], kinds["compactor"]
    texts = ["word " * 40_000, "naïve " * 40_000]  # long enough for the pool of threads
    return {
        "counts": counter.per_message(EXAMPLE).tolist(),
        "many": counter.count_many(texts * 4).tolist(),
        "model": trimtab.count(EXAMPLE, model=kinds["model"]),
        "plans": [small(policy=policy).plan(EXAMPLE) for policy in kinds["policies"]],
        "plan": kinds["plan"],
        "planned": compactor.plan(EXAMPLE),
        "compacted": compactor.compact(EXAMPLE).messages,
        "ledger": columns(kinds["ledger"]),
    }


KEPT: list[Any] = []
"""What a worker was started with: its counter is made once, and warm from the second task on."""


def keep(counter: trimtab.Counter) -> None:
    KEPT.append(counter)


def counted(_: int) -> tuple[int, int]:
    """Return the identity of a worker's counter, and the example's tokens."""
    return id(KEPT[0]), int(KEPT[0].per_message(EXAMPLE).sum())


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_objects_mean_the_same_in_a_worker_however_it_is_started(method: str) -> None:
    kinds = objects()
    expected = answers(kinds)  # threads of the pool have run before a fork
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as workers:
        kinds["compactor"] = small()  # without originals
        for future in [workers.submit(answers, kinds) for _ in range(4)]:
            assert future.result(PATIENCE) == expected


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_workers_counter_is_made_once(method: str) -> None:
    counter = trimtab.Counter.for_model(CLAUDE)
    tokens = int(counter.per_message(EXAMPLE).sum())
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context, initializer=keep, initargs=(counter,)) as workers:
        found = {workers.submit(counted, n).result(PATIENCE) for n in range(3)}
    assert len(found) == 1
    assert found.pop()[1] == tokens
