"""Agents whose provider's server compacts: no request is refused, nothing is lost, pins stay, and the bills agree."""

from __future__ import annotations

from typing import Any

import pytest

from support.models import CLAUDE_BOUND, CLAUDE_MILLION
from support.served import LEAST, Played, play, play_openai
from trimtab import Compactor, Verdict, validate
from trimtab.events import FellBack, ServerCompacted
from trimtab.validity import parameters

FLAGS = (
    "Unexpected value(s) `compact-2026-09-04`, `context-management-2025-06-27`, `compact-2026-01-12` for the "
    "`anthropic-beta` header. Please consult our documentation at docs.anthropic.com or try again without the header."
)
TURNS = 120


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(parameters.LEAST, parameters.COMPACT, LEAST)


@pytest.fixture
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


def sound(played: Played) -> None:
    """Nothing was refused, over the window, lost, or without the pinned rule."""
    assert played.server.refused == []
    assert played.lost == []
    assert played.server.did["without the rule"] == 0


@pytest.mark.parametrize("model", [CLAUDE_MILLION, CLAUDE_BOUND])
@pytest.mark.parametrize("way", ["call", "pass", "auto"])
def test_an_agent_of_anthropics_sdk(way: str, model: str) -> None:
    played = play(way, TURNS, model)
    sound(played)
    did = played.server.did
    assert did["on demand" if way == "pass" else "in a call"] or did["cleared"]
    assert played.server.largest <= played.server.window
    assert not played.told["FellBack"]
    for name, tokens in played.server.usage.items():
        assert played.spent[name] == tokens
    billed = sum(entry["cache_read_input_tokens"] for entry in played.server.passes)
    assert played.spent["pass cache_read_input_tokens"] == billed


@pytest.mark.parametrize("way", ["call", "pass"])
def test_faults_and_another_model_in_the_middle(way: str) -> None:
    played = play(way, TURNS, CLAUDE_MILLION, faults=0.05, then=CLAUDE_BOUND)
    sound(played)
    assert played.server.met
    assert played.told["ServerCompacted"]


@pytest.mark.parametrize("kind", ["stream", "async"])
@pytest.mark.parametrize("way", ["call", "pass"])
def test_streams_and_coroutines(kind: str, way: str) -> None:
    played = play(way, 60, CLAUDE_MILLION, kind=kind)
    sound(played)
    assert played.told["ServerCompacted"]


@pytest.mark.parametrize("way", ["call", "pass"])
def test_an_agent_of_openais_sdk(way: str, encode: Any) -> None:
    played = play_openai(way, TURNS, encode)
    sound(played)
    assert played.server.model.findings == []
    assert played.server.did["on demand" if way == "pass" else "in a call"] >= 2
    for kind in ("input_tokens", "cache_read_input_tokens"):
        assert played.spent[kind] == played.server.usage[kind] > 0


@pytest.mark.parametrize("way", ["call", "pass"])
@pytest.mark.parametrize(
    "words",
    [
        "context_management: Extra inputs are not permitted",
        "compaction: Extra inputs are not permitted",
        FLAGS,
    ],
)
def test_a_server_that_refuses_is_asked_once(words: str, way: str, caplog: pytest.LogCaptureFixture) -> None:
    played = play(way, 80, CLAUDE_MILLION, refuses=words)
    assert played.server.refused == [words]
    assert played.lost == []
    assert played.told["FellBack"] == 1
    assert played.told["Compacted"]
    assert "is not asked to compact any more" in caplog.text


@pytest.mark.parametrize(
    ("way", "words"), [("pass", "Not Found"), ("call", "Unknown parameter: 'context_management'.")]
)
def test_a_gateway_without_the_endpoint(way: str, words: str, encode: Any) -> None:
    played = play_openai(way, 80, encode, refuses=words)
    assert played.server.refused == [words]
    assert played.told["FellBack"] == 1
    assert played.told["Compacted"]


def chat(turns: int) -> list[dict[str, Any]]:
    said = [("user", "ask"), ("assistant", "answer")]
    return [{"role": role, "content": f"{what} {n}; " * 300 + "."} for n in range(turns) for role, what in said][:-1]


def compaction(**more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 0, "output_tokens": 0, "iterations": [{"type": "compaction", "input_tokens": 9}]}
    block = {"type": "compaction", "content": "so far", "signature": "s"}
    return {"usage": usage, "content": [block], "stop_reason": "compaction"} | more


def asked(way: str = "pass", **options: Any) -> tuple[Compactor, list[dict[str, Any]], list[Any]]:
    events: list[Any] = []
    known: dict[str, Any] = {"window": 60_000, "max_output": 6_000, "provider": "anthropic", "server": way}
    cm = Compactor(CLAUDE_MILLION, listeners=[events.append], **known | options)
    messages = next(made for n in range(2, 900) if cm.count(made := chat(n)) > cm.budget().trigger + 500)
    return cm, messages, events


def test_the_loop_of_a_request_of_its_own() -> None:
    cm, messages, events = asked()
    fitted = cm.fit(messages)
    assert fitted.server is not None
    assert fitted.messages is messages  # an agent that goes on with it loses nothing
    sent = fitted.request["messages"]
    assert validate(sent, provider="anthropic", request=fitted.request, in_flight=True) == []
    cut = len(sent)
    cm.record(compaction())
    after = cm.fit(messages)
    assert after.server is None
    assert after.request["betas"] == [parameters.ON_DEMAND]  # else the provider knows no block of its type
    assert [*after.messages[1:]] == messages[cut:]
    assert after.messages[0]["content"][0] == {"type": "compaction", "content": "so far", "signature": "s"}
    assert after.resumed_ref == fitted.server.ref
    assert cm.restore(fitted.server.ref) == messages
    (event,) = events
    assert isinstance(event, ServerCompacted)
    assert (event.ref, event.summary, [*event.usage]) == (
        fitted.server.ref,
        "so far",
        [{"type": "compaction", "input_tokens": 9}],
    )


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (compaction(content=[{"type": "compaction", "content": None}]), "its compaction failed"),
        (
            compaction(content=[{"type": "text", "text": "hello"}], stop_reason="end_turn"),
            "the answer is no compaction",
        ),
    ],
)
def test_a_compaction_that_failed_is_done_here(answer: Any, why: str) -> None:
    cm, messages, events = asked()
    assert cm.fit(messages).server is not None
    cm.record(answer)
    assert events == [FellBack("server", why, "here")]
    fitted = cm.fit(messages)
    assert fitted.server is None
    assert fitted.compaction is not None


@pytest.mark.parametrize("way", ["call", "pass"])
@pytest.mark.parametrize("when", ["after_step", "after_tool_batch", "after_run"])
def test_the_server_is_asked_before_the_call(when: Any, way: str) -> None:
    cm, messages, _ = asked(way, window=110_000)
    fitted = cm.fit(messages, when=when)
    assert fitted.server is None
    assert fitted.compaction is None
    assert fitted.messages is messages
    assert cm.fit(messages).server is not None


def test_answers_that_never_come_end_it() -> None:
    cm, messages, _ = asked()
    assert [cm.fit(messages).server is None for _ in range(4)] == [False, False, True, True]


def test_a_hook_refuses_and_instructs() -> None:
    cm, messages, _ = asked(pre_compact=lambda _: Verdict(refuse="not now"))
    fitted = cm.fit(messages)
    assert fitted.server is None
    assert fitted.compaction is None
    assert "not now" in fitted.reason
    cm, messages, _ = asked(pre_compact=lambda _: Verdict(instructions="Keep the names."))
    assert cm.fit(messages).request["compaction"] == {"type": "summarize", "instructions": "Keep the names."}


def test_nothing_is_asked_where_compact_here_says_so() -> None:
    cm, messages, _ = asked()
    cm.compact_here("the user wants it")
    assert cm.fit(messages).server is None


def test_a_named_session_goes_on_in_another_process(tmp_path: Any) -> None:
    archive = f"sqlite:///{tmp_path}/a.db"
    cm, messages, _ = asked(archive=archive)
    session = cm.session("s")
    fitted = session.fit(messages)
    assert fitted.server is not None
    session.record(compaction())
    later, _, _ = asked(archive=archive)
    again = later.session("s").fit(messages)
    assert again.server is None
    assert again.resumed_ref == fitted.server.ref
    assert again.messages[0]["content"][0]["signature"] == "s"


def test_what_each_way_costs() -> None:
    cm, messages, _ = asked("auto")
    found = {way.name: way for way in cm.ways(messages)}
    assert [*found] == ["here, offline", "here, by a model", "on the server, in the call", "on demand"]
    assert not any(way.why for way in found.values())
    assert all(way.a_call > 0 for way in found.values())
    assert found["here, offline"].once == 0 < found["on demand"].once
    assert found["here, by a model"].a_call > found["here, offline"].a_call
    best = min(found.values(), key=lambda way: way.a_call)
    assert (cm.fit(messages).server is not None) == best.name.startswith("on ")
    assert "a call" in str(best)
    assert cm.ways(messages[:3]) == ()


def steps(many: int, tool: str = "Read") -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"role": "user", "content": "Fix it."}]
    for n in range(many):
        call = {"type": "tool_use", "id": f"t{n}", "name": tool, "input": {"path": f"f{n}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"line {n} " * 400}
        made += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return made


def clears(**options: Any) -> tuple[Compactor, list[dict[str, Any]], list[Any], Any]:
    """A Compactor whose request has just asked for results to be cleared."""
    cm, _, events = asked("call", **options)
    messages = next(made for n in range(2, 900) if cm.count(made := steps(n)) > cm.budget().trigger + 500)
    fitted = cm.fit(messages)
    assert fitted.server is not None
    return cm, messages, events, fitted


def cleared(tokens: int, gone: int | None) -> dict[str, Any]:
    """An answer that says what was cleared."""
    edits = [{"type": "clear_tool_uses_20250919", "cleared_input_tokens": gone}] if gone else []
    return {
        "usage": {"input_tokens": tokens, "output_tokens": 9},
        "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn",
        "context_management": None if gone is None else {"applied_edits": edits},
    }


def test_a_refusal_as_too_long_is_compacted_here_while_results_are_cleared() -> None:
    cm, messages, _, fitted = clears()
    after = cm.overflow("prompt is too long: 55000 tokens > 50000 maximum", messages)
    assert after.server is None
    assert cm.count(after.messages) < 50_000
    cm, messages, _, fitted = clears()
    assert cm.compact(messages, target_share=0.5).tokens_after < cm.count(messages)
    assert fitted.server.clears > 0


def test_sizes_are_those_that_the_model_sees() -> None:
    cm, messages, _, fitted = clears()
    whole = cm.count(messages) + fitted.server.clears
    cm.record(cleared(whole - fitted.server.clears, fitted.server.clears))
    assert cm.count(messages) == whole - fitted.server.clears
    assert not cm.size(messages).pressure.is_past_trigger
    assert not cm.stats(messages).due
    again = cm.fit(messages)
    assert again.server is not None
    assert not again.server.ref


def test_a_count_of_the_servers_own_ends_nothing() -> None:
    cm, messages, events, fitted = clears()
    trigger = fitted.request["context_management"]["edits"][0]["trigger"]["value"]
    cm.record(cleared(trigger - 200, 0))
    assert cm.fit(messages).server is not None
    cm.record(cleared(trigger + 200, 0))
    (edit,) = cm.fit(messages).request["context_management"]["edits"]
    assert "clear_at_least" not in edit
    cm.record(cleared(trigger + 200, 0))
    assert events[-1] == FellBack("server", "it has cleared nothing, and said so", "here")
    assert cm.fit(messages).server is None


def test_an_answer_of_chat_completions_is_a_charge() -> None:
    cm = Compactor("gpt-5.5", provider="openai_chat", server=True)
    messages = [{"role": "user", "content": "hello"}]
    cm.fit(messages)
    cm.record({"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 9}})
    assert cm.count(messages) == 900


@pytest.mark.parametrize("between", ["a rate limit", "another moment", "a count"])
def test_an_answer_is_known_whatever_stands_between(between: str) -> None:
    cm, messages, events = asked()
    cm.fit(messages)
    if between == "a rate limit":
        with pytest.raises(ValueError, match="rate"):
            cm.overflow("429 rate_limit_error: rate limit exceeded", messages)
    elif between == "another moment":
        cm.fit(messages, when="after_step")
    else:
        cm.count(messages)
    cm.record(compaction())
    assert [type(event) for event in events] == [ServerCompacted]
    assert cm.fit(messages).messages[0]["content"][0]["signature"] == "s"


def test_an_answer_of_another_list_takes_no_place() -> None:
    cm, messages, events = asked()
    cm.fit(messages)
    other = [{"role": "user", "content": "hello"}]
    cm.fit(other)
    cm.record(compaction())
    assert events == []
    assert cm.fit(other).messages is other


def test_a_state_goes_on_with_what_is_cleared() -> None:
    cm, messages, _, fitted = clears()
    session = cm.session("s", cm.session("s").state())
    first = session.fit(messages)
    later = cm.session("s", session.state())
    more = messages + steps(1)[1:]
    more[-1]["content"][0]["tool_use_id"] = more[-2]["content"][0]["id"] = "new"
    again = later.fit(more)
    assert first.server is not None
    assert again.server is not None
    assert not again.server.ref
    keeps = [each.request["context_management"]["edits"][0]["keep"]["value"] for each in (first, again)]
    assert keeps[1] == keeps[0] + 1
    assert fitted.server is not None


def compacted(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A list whose newest answer begins with a compaction of the server's."""
    block = {"type": "compaction", "content": "so far"}
    answer = {"role": "assistant", "content": [block, {"type": "text", "text": "I go on."}]}
    return [*messages, answer, {"role": "user", "content": "Good."}]


def test_pins_are_put_back_behind_a_compaction_again_and_again() -> None:
    cm, _, _ = asked("call")
    messages = compacted(chat(3))
    cm.pin(messages[0])
    first = cm.fit(messages)
    assert [*first.messages] == [messages[-2], messages[0], messages[-1]]
    cm.pin("answer 1; ")
    second = cm.fit(messages)
    assert [*second.messages] == [messages[-2], messages[0], messages[3], messages[-1]]
    assert second.resumed_ref is not None
    cm.restore(second.resumed_ref)
    assert messages[0] in cm.fit(messages).messages[1:]


def test_a_pinned_result_is_put_back_with_its_call() -> None:
    cm, _, _ = asked("call")
    messages = compacted([*steps(3), {"role": "assistant", "content": "read"}, {"role": "user", "content": "now?"}])
    cm.pin(messages[4])
    fitted = cm.fit(messages)
    assert [*fitted.messages] == [messages[-2], messages[3], messages[4], messages[-1]]
    assert validate(fitted.messages, provider="anthropic") == []


def test_spans_that_are_kept_are_put_back() -> None:
    cm, messages, _ = asked()
    messages = [{**messages[0], "content": f"<keep>never push</keep> {messages[0]['content']}"}, *messages[1:]]
    assert cm.fit(messages).server is not None
    cm.record(compaction())
    assert messages[0] in cm.fit(messages).messages


def test_a_pinned_message_in_openais_answer_stands_once() -> None:
    cm = Compactor("gpt-5.5", provider="openai_responses", server="pass", window=60_000, max_output=6_000)
    messages = next(made for n in range(2, 900) if cm.count(made := chat(n)) > cm.budget().trigger + 500)
    cm.pin(messages[0])
    fitted = cm.fit(messages)
    assert fitted.server is not None
    said = [{"type": "input_text", "text": messages[0]["content"]}]
    user = {"type": "message", "role": "user", "id": "m", "status": "completed", "content": said}
    item = {"type": "compaction", "id": "c", "encrypted_content": "x" * 400}
    usage = {"input_tokens": 40_000, "output_tokens": 300}
    cm.record({"object": "response.compaction", "output": [user, item], "usage": usage})
    after = cm.fit(messages)
    assert [*after.messages[:2]] == [user, item]
    assert messages[0] not in after.messages
