"""A provider's own compaction: empty ones, failed ones, and what stands in front of the newest."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from support.scale import scaled
from trimtab import Compactor, Counter, count, repair, validate
from trimtab.counting.counter import scan

MODEL = "claude-opus-5"
SUMMARY = "They asked a hundred questions, and all were answered. " * 10


def user(text):
    return {"role": "user", "content": text}


def answer(text):
    return {"role": "assistant", "content": text}


def talk(turns, start=0):
    return [
        message
        for n in range(start, start + turns)
        for message in (user(f"question {n} " + "word " * 700), answer(f"answer {n} " + "text " * 700))
    ]


def compacted(content, **fields):
    block = {"type": "compaction", "content": content, **fields}
    return {"role": "assistant", "content": [block, {"type": "text", "text": "done"}]}


def said(role, text):
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def codes(messages, provider="anthropic", **options):
    return [problem.code for problem in validate(messages, provider=provider, **options)]


FRONT = talk(100)


# Empty and failed ones


@pytest.mark.parametrize("content", ["", " ", "\n\t", "\N{NO-BREAK SPACE}", 7, []])
def test_an_empty_compaction_is_named_and_leaves(content):
    messages = [user("a"), compacted(content), user("b")]
    assert codes(messages) == ["empty_compaction"]
    done = repair(messages, provider="anthropic")
    assert [change.code for change in done.changes] == ["incomplete"]
    assert done.messages[1]["content"] == [{"type": "text", "text": "done"}]
    assert codes(done.messages) == []


def test_a_failed_compaction_is_valid_and_hides_nothing():
    messages = [user("a"), compacted(None), user("b")]
    assert codes(messages) == []
    assert count(messages, model=MODEL) > count(messages[2:], model=MODEL)


def test_a_failed_compaction_does_not_lead_a_list():
    messages = [compacted(None), user("b")]
    assert codes(messages) == ["first_message_role"]
    assert codes(repair(messages, provider="anthropic").messages) == []
    assert codes([compacted("so far"), user("b")]) == []


def test_a_failed_compaction_pins_nothing():
    cm = Compactor(MODEL, window=100_000, max_output=8_000)
    fitted = cm.fit([*FRONT, compacted(None), *talk(2, 200), user("last")])
    assert fitted.compaction.strategy != "noop"
    assert cm.count(fitted.messages) < 60_000


def test_a_failed_compaction_behind_a_good_one_leaves_it_the_newest():
    messages = [*FRONT, compacted(SUMMARY), user("a"), compacted(None), user("b")]
    assert count(messages, model=MODEL) == count(messages[len(FRONT) :], model=MODEL) < 1_000


# What stands in front


def test_what_stands_in_front_of_the_newest_costs_nothing():
    messages = [*FRONT, compacted(SUMMARY), user("go on")]
    behind = count(messages[len(FRONT) :], model=MODEL)
    assert count(FRONT, model=MODEL) > 100_000
    assert count(messages, model=MODEL) == behind < 1_000
    older = [*talk(10), compacted(SUMMARY), *FRONT, compacted(SUMMARY), user("go on")]
    assert count(older, model=MODEL) == behind


def test_blocks_in_front_of_it_in_its_own_message_cost_nothing():
    message = compacted(SUMMARY)
    more = {**message, "content": [{"type": "text", "text": "word " * 5_000}, *message["content"]]}
    assert count([user("a"), more, user("b")], model=MODEL) == count([user("a"), message, user("b")], model=MODEL)


def test_a_session_counts_on_where_the_block_arrives_in_the_next_answer():
    cm = Compactor(MODEL, window=200_000, max_output=8_000)
    messages = list(FRONT)
    assert cm.count(messages) > 100_000
    messages += [compacted(SUMMARY), user("go on")]
    assert cm.count(messages) == Compactor(MODEL).count(messages) < 1_000
    messages += [answer("yes"), user("and?")]
    assert cm.count(messages) == Compactor(MODEL).count(messages) < 1_000


def test_a_file_is_counted_as_its_list_is(tmp_path):
    file = tmp_path / "list.jsonl"
    messages = [*FRONT, compacted(SUMMARY), user("go on")]
    file.write_text("".join(json.dumps(message) + "\n" for message in messages))
    reader = trimtab._core.Reader(counter=Counter.for_model(MODEL), provider="anthropic", want="sums")
    reader.push(file.read_bytes())
    _, (_, overhead, tokens), _, _ = reader.finish()
    assert overhead + sum(map(sum, tokens)) == scan(messages, Counter.for_model(MODEL), "anthropic").total


BLOCKS = st.sampled_from(["text", "thinking", "good", "failed", "call", "result"])


def _block(kind, n):
    match kind:
        case "good" | "failed":
            return {"type": "compaction", "content": f"so far {n}" if kind == "good" else None}
        case "thinking":
            return {"type": "thinking", "thinking": f"hm {n}", "signature": "s"}
        case "call":
            return {"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}}
        case "result":
            return {"type": "tool_result", "tool_use_id": f"t{n - 1}", "content": "1"}
        case _:
            return {"type": "text", "text": f"word {n}"}


@settings(max_examples=scaled(500), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=4)), min_size=1, max_size=8),
    st.integers(0, 8),
    st.sampled_from(["o200k_base", MODEL, "claude-haiku-4-5"]),
)
def test_hidden_means_the_tokens_of_the_list_from_the_newest_block_with_content_on(shape, split, name):
    numbers = iter(range(100))
    messages = [{"role": r, "content": [_block(kind, next(numbers)) for kind in kinds]} for r, kinds in shape]
    counter = Counter(name) if name == "o200k_base" else Counter.for_model(name)
    ledger = scan(messages, counter, "anthropic")
    places = [(n, place) for n, (_, kinds) in enumerate(shape) for place, kind in enumerate(kinds) if kind == "good"]
    owner, place = places[-1] if places else (0, 0)
    sent = [{**messages[owner], "content": messages[owner]["content"][place:]}, *messages[owner + 1 :]]
    alone = scan(sent, counter, "anthropic")
    row = len(ledger.tokens) - len(alone.tokens)
    assert ledger.tokens.tolist() == [0] * row + alone.tokens.tolist()
    assert ledger.per_message.tolist() == [0] * owner + alone.per_message.tolist()
    totals = alone.total
    begun = scan(messages[:split], counter, "anthropic")
    assert begun.extend(messages[split:]).per_message.tolist() == ledger.per_message.tolist()
    reader = trimtab._core.Reader(counter=counter, provider="anthropic", want="sums")
    for message in messages:
        reader.push(json.dumps(message).encode() + b"\n")
    _, (_, overhead, tokens), _, _ = reader.finish()
    assert overhead + sum(map(sum, tokens)) == totals


def test_it_may_leave_and_the_tail_behind_the_block_stays():
    cm = Compactor(MODEL, window=20_000, max_output=2_000)
    tail = [*talk(4, 200), user("last")]
    messages = [*FRONT, compacted(SUMMARY), *tail]
    assert cm.fit(messages).messages is messages  # nothing is due: it counts for nothing

    messages = [*FRONT, compacted(SUMMARY), *talk(12, 200), user("last")]
    fitted = cm.fit(messages)
    assert fitted.messages[0] is messages[len(FRONT)]
    assert codes(fitted.messages, model=MODEL) == []
    assert fitted.messages[-1] is messages[-1]
    assert cm.restore(fitted.compaction.ref) == messages


def test_a_pin_in_front_of_it_stays_where_it_is():
    cm = Compactor(MODEL, window=20_000, max_output=2_000)
    cm.pin("question 3 ")
    messages = [*FRONT, compacted(SUMMARY), *talk(12, 200), user("last")]
    assert messages[6] in cm.fit(messages).messages


def test_a_call_whose_result_stands_behind_it_is_not_parted():
    use = answer([{"type": "tool_use", "id": "t", "name": "f", "input": {}}])
    block = compacted(SUMMARY)["content"]
    result = user([{"type": "tool_result", "tool_use_id": "t", "content": "x"}])
    messages = [user("a"), answer([*use["content"], *block]), result, *talk(12, 200), user("last")]
    cm = Compactor(MODEL, window=20_000, max_output=2_000)
    assert codes(cm.fit(messages).messages, model=MODEL) == []


def test_thinking_behind_it_is_not_bound_to_what_stands_in_front():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    behind = [compacted(SUMMARY), user("b"), answer([thought, {"type": "text", "text": "c"}]), user("d")]
    original = [user("a"), *behind]
    assert codes(behind, original=original, model="claude-opus-5-5") == []
    other = [compacted(SUMMARY), user("other"), *behind[2:]]
    assert codes(other, original=original, model="claude-opus-5-5") == ["thinking_prefix_mismatch"]


# Responses: what stands in front is billed, and the user's words there are part of the prompt


def test_items_in_front_of_a_compaction_of_responses_count_and_leave_first():
    rules = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]}
    front = [
        item for n in range(100) for item in (said("user", f"{n} " + "word " * 700), said("assistant", "text " * 700))
    ]
    item = {"type": "compaction", "encrypted_content": "x" * 800}
    update = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    messages = [rules, *front, item, update, said("user", "go on")]
    cm = Compactor("gpt-5.5", window=100_000, max_output=8_000)
    assert cm.count(messages) > 100_000
    fitted = cm.fit(messages)
    stays = fitted.messages[1:-3]
    assert list(fitted.messages) == [rules, *stays, item, update, messages[-1]]
    assert 0 < len(stays) < 100
    assert list(stays) == front[::2][-len(stays) :]  # the oldest of the user's words leave too
    assert cm.count(fitted.messages) > cm.budget().target - 1_500
    assert fitted.compaction.summary is None
    assert cm.restore(fitted.compaction.ref) == messages
    assert "the provider's own compaction stands for" in str(fitted.compaction.plan)
    assert trimtab.Plan.from_json(fitted.compaction.plan.to_json()).edits == fitted.compaction.plan.edits


def test_what_the_user_says_in_front_of_a_compaction_of_responses_stays():
    asked = [said("user", f"{n}: rule of the user's") for n in range(4)]
    front = [asked[0], said("assistant", "yes"), *asked[1:]]
    item = {"type": "compaction", "encrypted_content": "x" * 800}
    messages = [*front, item, *calls(0, 40), said("assistant", "done"), said("user", "and now?")]
    cm = Compactor("gpt-5.5", provider="openai_responses")
    for share in (0.8, 0.2):
        done = cm.compact(messages, target_share=share)
        assert list(done.messages[:5]) == [*asked, item]
        assert cm.restore(done.ref) == messages
        assert codes(done.messages, "openai_responses") == []
    done = cm.compact(messages[:-2], target_tokens=1)  # the last request stands in front of the item
    assert list(done.messages[:2]) == [asked[-1], item]


def test_an_approval_in_front_of_a_compaction_of_responses_leaves_with_its_request():
    request = {"type": "mcp_approval_request", "id": "a", "name": "f", "arguments": "{}", "server_label": "s"}
    answer_ = {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True}
    item = {"type": "compaction", "encrypted_content": "x" * 800}
    messages = [said("user", "go"), request, answer_, item, *calls(0, 40), said("user", "and now?")]
    done = Compactor("gpt-5.5", provider="openai_responses").compact(messages, target_share=0.2)
    assert list(done.messages[:2]) == [messages[0], item]
    assert codes(done.messages, "openai_responses") == []


def calls(start, stop):
    for n in range(start, stop):
        yield {"type": "function_call", "call_id": f"c{n}", "name": "read", "arguments": f'{{"path": "{n}.py"}}'}
        yield {"type": "function_call_output", "call_id": f"c{n}", "output": f"{n} " + "line of a file " * 300}


def test_what_a_compaction_stands_for_and_results_behind_it_leave_in_one_compaction():
    front = [said("user", "do it"), said("assistant", "I do " + "word " * 300)]
    block = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x" * 4_000}
    messages = [
        *front,
        block,
        said("user", "go on"),
        *calls(0, 40),
        said("assistant", "done"),
        said("user", "and now?"),
    ]
    cm = Compactor("gpt-5.5", provider="openai_responses")
    target = cm.count(messages) // 3
    done = cm.compact(messages, target_tokens=target)
    assert done.tokens_after <= target
    assert list(done.messages[:2]) == [front[0], block]
    assert [item["call_id"] for item in done.messages if item["type"] == "function_call"] == [
        f"c{n}" for n in range(40)
    ]
    assert done.summary is None
    assert cm.restore(done.ref) == messages
