"""When a session renders, and what it makes of its server's charges."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support.model_folders import TOOLS, conversation, make_folder
from trimtab import Compactor, Counter, Model
from trimtab.session.call import Call
from trimtab.session.rendered import MOST
from trimtab.templates import renderer


@pytest.fixture
def renderings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of messages of each prompt that is rendered."""
    found: list[int] = []
    whole = Counter.rendered

    def counted(self: Counter, messages: Any, *others: Any) -> Any:
        found.append(len(messages))
        return whole(self, messages, *others)

    monkeypatch.setattr(Counter, "rendered", counted)
    return found


def turns(number: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for seed in range(number):
        made += conversation(seed, 1, system=False)[:-1]
    return made


def test_far_below_the_trigger_nothing_is_rendered_and_near_it_seldom(tmp_path: Path, renderings: list[int]) -> None:
    """Between the estimate's error and the trigger, a prompt is rendered when its growth may have passed it."""
    history, model = turns(300), Model.from_folder(make_folder(tmp_path / "m"))
    limit = trimtab.count(history, model=model)
    renderings.clear()
    cm = Compactor(Model.from_folder(tmp_path / "m", window=5 * limit // 4 + 1, max_output=1), archive="memory")
    begun, ends = 0, [n for n in range(1, len(history)) if history[n]["role"] == "user"]
    for end in ends:
        fitted = cm.fit(history[:end])
        assert fitted.compaction is None
        begun = begun or (len(renderings) and end)
    assert begun > len(history) / MOST / 1.1
    assert 0 < len(renderings) < 40 < len([end for end in ends if end >= begun])


def test_what_is_estimated_from_a_rendered_prompt_is_within_its_error(tmp_path: Path, renderings: list[int]) -> None:
    history, model = turns(80), Model.from_folder(make_folder(tmp_path / "m"))
    cm = Compactor(Model.from_folder(tmp_path / "m", window=10**6), archive="memory")
    memory = cm._session._memory
    for end in (20, 100, len(history)):
        exact = trimtab.count(history[:end], model=model, tools=TOOLS)
        call = Call(history[:end], None, TOOLS)
        ledger = memory.scan(call.messages)
        fixed = memory.fixed(call)
        _, _, expected = memory.sizes.rendered.size(memory.settings, call, ledger, fixed, whole=end == 20)
        assert expected is not None
        assert exact / MOST <= expected <= exact * MOST
    shorter = memory.sizes.rendered.size(memory.settings, call, memory.scan(history[5:]), fixed, whole=False)
    assert shorter[2] is None


def test_a_server_that_charges_what_the_template_renders_is_believed_silently(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, renderings: list[int]
) -> None:
    model, messages = Model.from_folder(make_folder(tmp_path / "m", window=90_000)), conversation(4)
    cm = Compactor(model, archive="memory")
    cm.fit(messages, tools=TOOLS)
    assert renderings == []
    cm.record({"prompt_tokens": trimtab.count(messages, model=model, tools=TOOLS), "completion_tokens": 5})
    assert cm._session._memory.sizes.rendered.is_alike is True
    assert caplog.text == ""
    renderings.clear()
    cm.fit([*messages, {"role": "assistant", "content": "so"}, {"role": "user", "content": "on"}], tools=TOOLS)
    cm.record({"prompt_tokens": trimtab.count(messages, model=model, tools=TOOLS) + 9, "completion_tokens": 5})
    assert len(renderings) == 1  # by the second count of this test alone


def test_a_server_that_renders_otherwise_is_said_and_believed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, messages = Model.from_folder(make_folder(tmp_path / "m", window=4_000)), conversation(4)
    cm = Compactor(model, archive="memory")
    cm.fit(messages)
    charged = trimtab.count(messages, model=model) + 40
    with caplog.at_level(logging.WARNING, "trimtab"):
        cm.record({"prompt_tokens": charged, "completion_tokens": 5})
        cm.fit(messages)
        cm.record({"prompt_tokens": charged, "completion_tokens": 5})
    assert caplog.text.count("the server charged") == 1
    assert f"charged {charged} tokens for a prompt that has {charged - 40} by the chat template of m" in caplog.text
    assert cm.count(messages) == cm.size(messages).prompt == charged


def test_a_session_file_of_another_model_teaches_nothing(tmp_path: Path, renderings: list[int]) -> None:
    found = trimtab.example()
    cm = Compactor(Model.from_folder(make_folder(tmp_path / "m", window=2_000)), provider=found.provider)
    cm.learn(found)
    assert renderings == []
    assert cm.window == 2_000


def test_a_question_about_other_messages_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, messages = Model.from_folder(make_folder(tmp_path / "m", window=90_000)), conversation(4)
    cm = Compactor(model, archive="memory")
    cm.fit(messages, tools=TOOLS)
    for ask in (cm.size, cm.stats, cm.count, cm.plan, cm.explain):
        ask(conversation(9))
    cm.record({"prompt_tokens": trimtab.count(messages, model=model, tools=TOOLS), "completion_tokens": 5})
    assert cm._session._memory.sizes.rendered.is_alike is True
    assert caplog.text == ""


def test_without_the_extra_a_session_estimates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model.from_folder(make_folder(tmp_path / "m", window=2_000))
    renderer.RENDERER._end()
    monkeypatch.setattr(renderer, "find_spec", lambda _: None)
    fitted = Compactor(model, archive="memory").fit(turns(60))
    assert fitted.compaction is not None


def test_a_charge_of_gpt_oss_is_compared_with_its_rendering(caplog: pytest.LogCaptureFixture) -> None:
    cm, messages = Compactor("gpt-oss-20b", archive="memory"), conversation(4)
    cm.fit(messages)
    charged = trimtab.count(messages, model="gpt-oss-20b") + 40
    with caplog.at_level(logging.WARNING, "trimtab"):
        cm.record({"prompt_tokens": charged, "completion_tokens": 5})
    assert "by the rendering of gpt-oss-20b: it was given more" in caplog.text
