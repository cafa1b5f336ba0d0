"""Arguments of ``Compactor`` that replace a field of its policy: validation, effect, files and environment."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support.models import CLAUDE_MILLION
from support.transcripts import png
from trimtab import Compactor, config
from trimtab.policies import POLICIES

MODEL = CLAUDE_MILLION
KNOBS: dict[str, Any] = {
    "trigger_share": 0.7,
    "target_budget_share": 0.3,
    "keep_turns": 3,
    "never_prune": ["Skill"],
    "max_result_tokens": 400,
    "keep_tag": "pin",
}
HAVE = {
    "trigger_share": {*POLICIES},
    "target_budget_share": {"default", "drop", "agentpg"},
    "keep_turns": {"default", "drop"},
    "never_prune": {"default", "drop", "spec09", "goat", "agentpg", "opencode"},
    "max_result_tokens": {"default", "drop", "sven", "sven_narrative"},
    "keep_tag": {*POLICIES},
}
REF = re.compile(r"recall or restore ([0-9a-f]{20})")


def called(n: int, tool: str, words: int) -> list[dict[str, Any]]:
    """A call of a tool and its result of about ``words`` tokens."""
    call = {"type": "tool_use", "id": f"t{n}", "name": tool, "input": {"path": f"file{n}.py"}}
    text = "".join(f"line {n} {k} of the output\n" for k in range(words // 8))
    result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": text}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def text_of(message: dict[str, Any]) -> str:
    return str(message["content"][0]["content"])


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("name", sorted(KNOBS))
def test_a_knob_is_a_field_of_the_policy_or_names_the_policies_that_have_it(policy: str, name: str) -> None:
    if policy in HAVE[name]:
        assert Compactor(MODEL, policy=policy, **{name: KNOBS[name]}).policy != POLICIES[policy]
        return
    with pytest.raises(ValueError, match=f"policy '{policy}' has no {name}; policies that have it are") as raised:
        Compactor(MODEL, policy=policy, **{name: KNOBS[name]})
    assert set(re.findall(r"\w+", str(raised.value).rpartition(" are ")[2])) == HAVE[name]


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"trigger_share": 0}, "trigger_share must be between 0 and 1, and not 0, got 0"),
        ({"trigger_share": 1.5}, "trigger_share must be between 0 and 1"),
        ({"trigger_share": "0.8"}, "trigger_share must be between 0 and 1, and not 0, got '0.8'"),
        ({"trigger_share": True}, "trigger_share must be between 0 and 1, and not 0, got True"),
        ({"trigger_share": float("nan")}, "trigger_share must be between 0 and 1, and not 0, got nan"),
        ({"trigger_share": 0.3}, "need 0 < target <= trigger share, got 0.4 and 0.3"),
        ({"target_budget_share": 0.9}, "need 0 < target <= trigger share, got 0.9 and 0.8"),
        ({"target_budget_share": 20_000}, "target_budget_share must be between 0 and 1, and not 0, got 20000"),
        ({"keep_turns": 0}, "keep_turns must be a whole number of at least 1, got 0"),
        ({"keep_turns": 2.0}, "keep_turns must be a whole number of at least 1, got 2.0"),
        ({"never_prune": "Read,Skill"}, 'must be a name or a list of names, written ["Read", "Skill"], got'),
        ({"never_prune": ""}, "never_prune must be a name or a list of names"),
        ({"never_prune": [""]}, "never_prune must be a name or a list of names"),
        ({"never_prune": [3]}, "never_prune must be a name or a list of names"),
        ({"max_result_tokens": -1}, "max_result_tokens must be a whole number of at least 0, got -1"),
        ({"max_result_tokens": 10.5}, "max_result_tokens must be a whole number of at least 0"),
    ],
)
def test_a_value_of_another_type_or_range_is_refused(knobs: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        Compactor(MODEL, **knobs)


def test_trigger_and_target_may_pass_each_other_at_once() -> None:
    low = Compactor(MODEL, trigger_share=0.3, target_budget_share=0.2).policy
    assert (low.trigger.share, low.target) == (0.3, 0.2)
    high = Compactor(MODEL, policy=low, trigger_share=0.9, target_budget_share=0.5).policy
    assert (high.trigger.share, high.target) == (0.9, 0.5)


def test_explain_shows_every_knob() -> None:
    shown = Compactor(MODEL, window=100_000, max_output=10_000, **KNOBS).explain()
    for words in (
        "70%",
        "30% of what system and tools leave",
        "3  whose requests",
        "results of Skill",
        "400  ingest and",
    ):
        assert words in shown
    assert "400" not in Compactor(MODEL, policy="sven").explain().rpartition("result cap")[0]


def test_a_compactor_with_knobs_goes_through_pickle() -> None:
    cm = Compactor(MODEL, **KNOBS)
    assert pickle.loads(pickle.dumps(cm)).policy == cm.policy


@pytest.mark.parametrize("text", ["Skill", '"Skill"', '["Skill"]'])
def test_one_name_alone_is_a_list_of_one(text: str) -> None:
    policy = config.load(section="policy", environ={"TRIMTAB_POLICY_NEVER_PRUNE": text})
    assert policy == config.load(section="policy", environ={}, never_prune=["Skill"])
    assert Compactor(MODEL, never_prune="Skill").policy == Compactor(MODEL, never_prune=["Skill"]).policy


def test_code_toml_and_environment_give_the_same_policy(tmp_path: Path) -> None:
    file = tmp_path / "trimtab.toml"
    file.write_text(
        '[policy]\nname = "drop"\ntrigger_share = 0.7\ntarget_budget_share = 0.3\nkeep_turns = 3\n'
        'never_prune = ["Skill"]\nmax_result_tokens = 400\nkeep_tag = "pin"\n'
    )
    environ = {f"TRIMTAB_POLICY_{name.upper()}": str(value).replace("'", '"') for name, value in KNOBS.items()}
    by_code = Compactor(MODEL, policy="drop", **KNOBS).policy
    assert config.load(file, environ={}) == by_code
    assert config.load(section="policy", environ=environ | {"TRIMTAB_POLICY_NAME": "drop"}) == by_code
    with pytest.raises(config.ConfigError, match="policy 'goat' has no target_budget_share"):
        config.load(file, environ={}, name="goat")


def test_the_trigger_and_the_target_move() -> None:
    messages = [{"role": "user", "content": f"step {n}: " + "words " * 300} for n in range(60)]
    options = {"window": 30_000, "max_output": 3_000}
    count = Compactor(MODEL, **options).count(messages)
    share = count / 27_000
    assert Compactor(MODEL, trigger_share=share + 0.02, **options).fit(messages).compaction is None
    fitted = Compactor(MODEL, trigger_share=share - 0.02, target_budget_share=0.2, **options).fit(messages)
    assert fitted.compaction is not None
    assert fitted.compaction.tokens_after <= 0.2 * 27_000


@pytest.mark.parametrize("policy", ["default", "drop"])
def test_the_newest_turns_keep_their_requests(policy: str) -> None:
    messages: list[Any] = []
    for n in range(8):
        messages += [{"role": "user", "content": f"request {n}"}, *called(n, "Read", 3_000)]
    for turns in (1, 3, 5):
        cm = Compactor(MODEL, policy=policy, window=40_000, max_output=4_000, keep_turns=turns)
        made = str(cm.compact(messages, target_tokens=1_500).messages)
        assert all(f"'request {n}'" in made for n in range(8 - turns, 8))
        assert "'request 0'" not in made


@pytest.mark.parametrize("policy", sorted(HAVE["never_prune"]))
def test_results_of_a_tool_are_never_pruned(policy: str) -> None:
    messages: list[Any] = [{"role": "user", "content": "begin"}]
    for n in range(12):
        messages += called(n, "Skill" if n % 2 else "Read", 6_000)
    for n in range(3):
        messages.append({"role": "user", "content": f"request {n}"})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "done"}]})
    options = {"target_budget_share": 0.2} if policy in HAVE["target_budget_share"] else {}
    cm = Compactor(MODEL, policy=policy, never_prune=["Skill"], window=100_000, max_output=10_000, **options)
    pruned = [old is not new for old, new in zip(messages, cm.prune(messages), strict=True)]
    skills = [n for n, message in enumerate(messages) if "'Skill'" in str(message["content"])]
    if policy not in {"agentpg", "opencode"}:  # these keep so many of the newest results
        assert any(pruned)
    assert not any(pruned[n + 1] for n in skills)


@pytest.mark.parametrize("policy", ["default", "drop"])
def test_fit_cuts_a_large_result_when_it_first_sees_it_and_archives_it_whole(policy: str) -> None:
    told: list[Any] = []
    cm = Compactor(MODEL, policy=policy, max_result_tokens=400, listeners=[told.append])
    messages: list[Any] = [{"role": "user", "content": "begin"}, *called(1, "Read", 300)]
    assert cm.fit(messages).messages is messages
    messages = [*messages, *called(2, "Bash", 5_000)]
    fitted = cm.fit(messages)
    assert fitted.compaction is not None
    assert fitted.reason == ""
    assert (fitted.compaction.strategy, fitted.compaction.ref) == ("ingest", told[0].ref)
    assert fitted.messages[:-1] == messages[:-1]
    assert cm.count([fitted.messages[-1]]) <= 420
    (ref,) = REF.findall(text_of(fitted.messages[-1]))
    assert cm.restore(ref) == messages
    assert text_of(fitted.messages[-1]).startswith("line 2 0 ")
    assert "line 2 624 of the output" in text_of(fitted.messages[-1])
    kept = list(fitted.messages)
    assert cm.fit(kept).messages is kept
    assert len(told) == 1


def test_a_cut_sticks_where_the_whole_history_is_handed_in_at_every_call() -> None:
    told: list[Any] = []
    cm = Compactor(MODEL, max_result_tokens=400, listeners=[told.append])
    messages: list[Any] = [{"role": "user", "content": "begin"}]
    cuts: list[list[Any]] = []
    for n in range(6):
        messages += called(n, "Bash", 2_000 if n % 2 else 100)
        fitted = cm.fit(messages)
        assert max(cm.count([message]) for message in fitted.messages) <= 420
        assert fitted.messages[: len(cuts[-1]) if cuts else 0] == (cuts[-1] if cuts else [])
        assert (fitted.compaction is None) == (n % 2 == 0)
        assert (fitted.resumed_ref is None) == (n % 2 == 1 or n == 0)
        cuts.append(list(fitted.messages))
    assert len(told) == 3
    assert cm.restore(told[-1].ref) == messages


@pytest.mark.parametrize(
    ("options", "message"),
    [({"never_prune": ["Skill"]}, "Skill"), ({"pre_compact": lambda _: trimtab.Verdict(refuse="no")}, "Bash")],
)
def test_fit_leaves_a_result_whole_that_is_never_pruned_or_that_a_hook_keeps(options: Any, message: str) -> None:
    cm = Compactor(MODEL, max_result_tokens=400, **options)
    messages: list[Any] = [{"role": "user", "content": "begin"}, *called(1, message, 3_000)]
    assert cm.fit(messages).messages is messages
    assert cm.fit(messages).messages is messages


def test_a_pinned_result_and_one_with_a_picture_stay_whole() -> None:
    cm = Compactor(MODEL, max_result_tokens=400)
    messages: list[Any] = [{"role": "user", "content": "begin"}, *called(1, "Bash", 3_000)]
    cm.pin(messages[-1])
    assert cm.fit(messages).messages is messages

    cm = Compactor(MODEL, max_result_tokens=400)
    call, result = called(1, "Screenshot", 3)
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png(900, 900)}}
    seen = {**result["content"][0], "content": [picture]}
    messages = [messages[0], call, {"role": "user", "content": [seen]}]
    assert cm.count(messages) > 800
    assert cm.fit(messages).messages is messages


def test_the_cut_is_the_cap_of_ingest_too() -> None:
    cm = Compactor(MODEL, max_result_tokens=400, never_prune=["Skill"])
    text = "".join(f"line {n} of the output\n" for n in range(1_000))
    short = cm.ingest("Bash", text)
    assert trimtab.Counter.for_model(MODEL).count(short) <= 400
    assert short.startswith("line 0 ")
    assert "line 999 of" in short
    assert cm.restore(REF.findall(short)[0]) == [{"role": "tool", "content": text}]
    assert cm.ingest("Skill", text) is text
    assert Compactor(MODEL).ingest("Bash", text) is text


def test_a_cut_and_a_compaction_in_one_call_restore_the_list_that_was_handed_in() -> None:
    messages: list[Any] = [{"role": "user", "content": f"step {n}: " + "words " * 300} for n in range(60)]
    messages += called(1, "Bash", 3_000)
    cm = Compactor(MODEL, max_result_tokens=400, window=24_000, max_output=2_000)
    fitted = cm.fit(messages)
    assert fitted.compaction is not None
    assert fitted.compaction.strategy == "hybrid"
    assert cm.count([fitted.messages[-1]]) <= 420
    assert fitted.compaction.ref is not None
    assert cm.restore(fitted.compaction.ref) == messages
    assert cm.fit(messages).messages == fitted.messages


def test_a_cut_whose_originals_cannot_be_stored_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise trimtab.ArchiveError("the disk is full")

    cm = Compactor(MODEL, max_result_tokens=400)
    monkeypatch.setattr(cm.archive, "store", full)
    messages: list[Any] = [{"role": "user", "content": "begin"}, *called(1, "Bash", 3_000)]
    for _ in range(2):
        with pytest.raises(trimtab.ArchiveError):
            cm.fit(messages)
