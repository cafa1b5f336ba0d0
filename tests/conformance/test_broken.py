"""A case that is cited for a requirement fails where a policy breaks the requirement, and says so of itself alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import adapter
import pytest
import test_conformance
from test_own import CASES, holds

import requirements
from trimtab import Policy
from trimtab.planning import Ingest, Messages, Tokens
from trimtab.policies import POLICIES


def changed(stage: str, **fields: Any) -> Callable[[Policy], Policy]:
    return lambda policy: replace(policy, **{stage: replace(getattr(policy, stage), **fields)})


def kept(*keepers: Any) -> Callable[[Policy], Policy]:
    """A policy that keeps by these, and by its own keepers of other kinds."""
    kinds = {type(keeper) for keeper in keepers}

    def change(policy: Policy) -> Policy:
        others = (keeper for keeper in policy.keep.keepers if type(keeper) not in kinds)
        return replace(policy, keep=replace(policy.keep, keepers=(*keepers, *others)))

    return change


def backward(policy: Policy) -> Policy:
    return replace(policy, order=policy.order[::-1])


def pins_first(policy: Policy) -> Policy:
    tokens, messages, summaries, pins = policy.keep.keepers
    return replace(policy, keep=replace(policy.keep, keepers=(tokens, messages, pins, summaries)))


def never_pruned(policy: Policy) -> Policy:
    return replace(policy, prune=None)


class Silent(Ingest):
    """Cuts without saying so."""

    def cut(self, text: str, category: str) -> str:
        return text[: self.tokens * 4]


def without_notice(policy: Policy) -> Policy:
    return replace(policy, ingest=Silent(policy.ingest.tokens, policy.ingest.categories, policy.ingest.otherwise))


BROKEN = {
    "R0.10": ("spec09", backward),
    "R0.13": ("spec09", kept(Tokens(window_share=0.3))),
    "R0.15": ("spec09", changed("keep", min_messages=0)),
    "R0.20": ("spec09", backward),
    "R0.21": ("spec09", backward),
    "R0.34": ("spec09", changed("trigger", share=0.9)),
    "R1.14": ("goat", backward),
    "R1.15": ("goat", kept(Messages(share=0.7))),
    "R1.22": ("goat", backward),
    "R2.3": ("agentpg", changed("trigger", share=0.9)),
    "R2.4": ("agentpg", lambda policy: replace(policy, target=70_000)),
    "R2.13": ("agentpg", backward),
    "R2.15": ("agentpg", never_pruned),
    "R2.23": ("agentpg", pins_first),
    "R2.35": ("agentpg", changed("trigger", when=("before_call",))),
    "R2.38": ("agentpg", changed("trigger", when=("before_call",))),
    "R3.12": ("sven", changed("trigger", share=0.8)),
    "R3.14": ("sven", lambda _: POLICIES["sven_narrative"]),
    "R3.15": ("sven", changed("ingest", tokens=3_000)),
    "R3.16": ("sven", changed("trigger", reserve=0.2)),
    "R3.17": ("sven", changed("trigger", critical=0.76)),
    "R3.35": ("sven", without_notice),
    "R4.2": ("opencode", changed("trigger", unknown_utilisation=2.0)),
    "R4.4": ("opencode", changed("trigger", prefer_input_limit=False)),
    "R4.5": ("opencode", changed("trigger", numerator=("input",))),
    "R4.7": ("opencode", changed("trigger", inclusive=True)),
    "R4.24": ("opencode", changed("prune", keep_turns=1)),
    "R4.26": ("opencode", changed("prune", stop_at_pruned=False)),
    "R4.28": ("opencode", changed("prune", protect_tokens=39_000)),
    "R4.29": ("opencode", changed("prune", min_gain=19_000)),
}
"""By requirement: a policy, and the change that breaks the requirement."""


@pytest.fixture
def broken(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The requirement, with the adapter made anew over the policy that breaks it."""
    name, change = BROKEN[request.param]
    monkeypatch.setitem(POLICIES, name, change(POLICIES[name]))
    for module in [module for module in sys.modules if module.startswith("ops.") or module == "adapter"]:
        monkeypatch.delitem(sys.modules, module)
    operations = __import__("adapter").OPS
    monkeypatch.setattr(adapter, "run", lambda op, given: operations[op](**given))
    return str(request.param)


def failed(run: Callable[[], bool]) -> bool:
    try:
        return not run()
    except Exception:  # noqa: BLE001 - an error is no answer
        return True


@test_conformance.AT_HAND
@pytest.mark.parametrize("broken", BROKEN, indirect=True)
def test_a_cited_case_fails_where_its_requirement_is_broken(broken: str) -> None:
    published = {case["name"]: case for case in test_conformance.cases()}
    named = [name for name, case in published.items() if broken in case.get("requirements", ())]
    cited = requirements.CASES_OF.get(broken, named[:3])
    runs = [lambda case=published[name]: not test_conformance.judged(case) for name in cited]
    runs += [lambda case=case: holds(case) for case in CASES if broken in case.shows.split()]
    assert any(failed(run) for run in runs)


@test_conformance.AT_HAND
@pytest.mark.parametrize("requirement", BROKEN)
def test_a_cited_case_holds_otherwise(requirement: str) -> None:
    assert all(holds(case) for case in CASES if requirement in case.shows.split())
