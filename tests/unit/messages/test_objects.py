"""Messages in whatever object a caller keeps them: read alike, never changed, given back in their kind."""

import copy
import re
from types import MappingProxyType, SimpleNamespace

import anthropic
import openai
import pytest

import oracle
import trimtab
from support.checker import check
from support.models import CLAUDE, GPT
from support.transcripts import transcript
from support.wardrobe import WARDROBE, Said, Turn, answer
from trimtab import _core
from trimtab.messages.objects import InputMessages, plain

MODELS = {"anthropic": CLAUDE, "openai_chat": GPT, "openai_responses": GPT}
PAST = "u:90 " + " ".join(f"c{n} r{n}:60 a:30 u:60" for n in range(40, 60)) + " a:9"
EVERY = pytest.mark.parametrize("kind", WARDROBE)


def dressed(kind, spec=PAST):
    """The provider, a list of dicts, and the same as objects."""
    provider, dress = WARDROBE[kind]
    messages = transcript(spec, provider)
    return provider, messages, dress(messages)


def frozen(objects):
    """A copy to compare with: whatever was changed in place differs from it."""
    return [dict(o) if isinstance(o, MappingProxyType) else copy.deepcopy(o) for o in objects]


@EVERY
def test_objects_count_the_same_as_their_dicts(kind):
    provider, messages, objects = dressed(kind)
    model, counter = MODELS[provider], trimtab.Counter("o200k_base")
    assert trimtab.count(objects, model=model) == trimtab.count(messages, model=model)
    assert counter.per_message(objects).tolist() == counter.per_message(messages).tolist()


@EVERY
def test_validate_treats_objects_as_their_dicts(kind):
    provider, messages, objects = dressed(kind, "u c1 r1 a u c2 u a")
    found = trimtab.validate(objects, provider=provider)
    assert found == trimtab.validate(messages, provider=provider) != []


@EVERY
def test_repair_and_fit_return_a_valid_list_of_objects_itself(kind):
    provider, _, objects = dressed(kind)
    assert trimtab.repair(objects, provider=provider).messages is objects
    fitted = trimtab.Compactor(MODELS[provider], provider=provider).fit(objects)
    assert fitted.messages is objects


@EVERY
def test_repair_keeps_valid_messages_as_the_given_objects(kind):
    provider, _, objects = dressed(kind, "u c1 r1 a u c2 u a")
    before = frozen(objects)
    repaired = trimtab.repair(objects, provider=provider)
    assert frozen(objects) == before
    assert check(list(plain(repaired.messages)), provider) == []
    assert [o for o in objects if not any(o is m for m in repaired.messages)] in ([], [objects[6]], [objects[5]])


@EVERY
def test_compaction_keeps_the_given_objects(kind):
    provider, _, objects = dressed(kind)
    before = frozen(objects)
    cm = trimtab.Compactor(MODELS[provider], provider=provider)
    done = cm.compact(objects, target_share=0.3)
    assert frozen(objects) == before
    assert done.ref
    assert check(list(plain(done.messages)), provider, in_flight=True) == []
    kept = [m for m in done.messages if any(m is o for o in objects)]
    assert len(kept) >= 5
    assert [o for o in objects if any(o is m for m in kept)] == kept, "in their order"
    assert cm.restore(done.ref) == plain(objects)
    later = dressed(kind, "u:9 " + " ".join(f"c{n} r{n}:60 a:30 u:60" for n in range(60, 80)))[2]
    again = cm.compact([*done.messages, *later], target_share=0.3)
    assert sum("<trimtab-summary" in str(message) for message in plain(again.messages)) == 1


@EVERY
def test_compaction_writes_new_messages_in_the_kind_of_the_list(kind):
    provider, _, objects = dressed(kind)
    done = trimtab.Compactor(MODELS[provider], provider=provider).compact(objects, target_share=0.3)
    new = [m for m in done.messages if not any(m is o for o in objects)]
    assert new
    wanted = {"pydantic models": Turn, "dataclasses": Said}.get(kind, dict)
    assert {type(message) for message in new} == {wanted}
    if kind == "Claude Code entries":
        assert all(m["type"] == m["message"]["role"] and m["sessionId"] == "s" for m in new)
        written = {m["uuid"]: m for m in new}
        pruned = {o["uuid"]: o for o in objects if written.pop(o["uuid"], None)}
        assert all(
            {**new, "message": pruned[new["uuid"]]["message"]} in objects for new in new if new["uuid"] in pruned
        )
        places = [n for n, m in enumerate(done.messages) if m["uuid"] in written]
        assert places
        parents = [None, *(m["uuid"] for m in done.messages)]
        assert all(done.messages[n]["parentUuid"] == parents[n] for n in places)
    else:
        assert not any("uuid" in m for m in new if isinstance(m, dict))


def test_an_edited_message_keeps_its_unedited_blocks():
    """A pruned result stands in a list of an SDK's blocks; those beside it are what they were."""
    text = answer({"role": "assistant", "content": "so"}).content[0]
    spec = "u:30 " + " ".join(f"c{n} r{n}:900" for n in range(20)) + " a:9 u:9"
    messages = transcript(spec)
    for message in messages[2:-2:2]:
        message["content"] = [*message["content"], text]
    made = trimtab.Compactor(CLAUDE).compact(messages, target_share=0.5).messages
    edited = [m for m in made if not any(m is o for o in messages)]
    assert edited
    assert all(m["content"][1] is text for m in edited)


def test_a_class_that_refuses_a_new_message_gets_a_dict():
    class Only(Turn):
        role: str = "assistant"
        content: list

    objects = [m if m["role"] == "user" else Only(**m) for m in transcript(PAST.replace("a:30", "t+a:30"))[:-1]]
    done = trimtab.Compactor(CLAUDE).compact(objects, target_share=0.3)
    assert type(done.messages[0]) is dict


def test_every_public_method_accepts_objects():
    _, messages, objects = dressed("sdk blocks in dicts")
    cm, bare = (trimtab.Compactor(CLAUDE) for _ in range(2))
    assert cm.count(objects) == bare.count(messages)
    assert cm.plan(objects, target_share=0.3).edits == bare.plan(messages, target_share=0.3).edits
    assert cm.explain(objects) == bare.explain(messages)
    assert cm.stats(objects).tokens == bare.stats(messages).tokens
    assert [type(message) for message in cm.prune(objects)] == [dict] * len(objects)
    cm.pin(objects[3])
    done = cm.compact(objects, target_share=0.3)
    assert any(message is objects[3] for message in done.messages)
    assert cm.fit(objects, when="on_length").resumed_ref == done.ref
    assert trimtab.Compactor(CLAUDE).fit(objects, when="on_length").messages is objects


def test_compaction_keeps_messages_that_arrive_during_the_summary():
    _, _, objects = dressed("sdk messages")
    late = [Turn(role="user", content="wait"), answer({"role": "assistant", "content": "yes"})]

    def slow(ask):
        objects.extend(late)
        return "all went well"

    done = trimtab.Compactor(CLAUDE, summarizer=slow).compact(objects, target_share=0.3)
    assert done.summarizer != "offline"
    assert all(new is old for new, old in zip(done.messages[-2:], late, strict=True))


@EVERY
def test_new_messages_are_never_mistaken_for_given_objects(kind):
    """Reading makes dicts that are dropped again; a new message may get the identity of one."""
    _, _, objects = dressed(kind)
    read = InputMessages(objects)
    made = [{"role": "user", "content": [{"type": "text", "text": f"new {n}"}]} for n in range(500)]
    assert [message["content"] for message in plain(read.write(made))] == [message["content"] for message in made]


def test_nested_objects_are_read():
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"of": Said("x", [1, None])}}
    same = {**call, "input": {"of": {"role": "x", "content": [1, None]}}}
    lists = [[{"role": "user", "content": "go"}, {"role": "assistant", "content": [c]}] for c in (call, same)]
    assert trimtab.count(lists[0], model=CLAUDE) == trimtab.count(lists[1], model=CLAUDE)
    answered = [*lists[0], {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "1"}]}]
    cm = trimtab.Compactor(CLAUDE)
    done = cm.compact([*answered, *transcript(PAST)], target_share=0.3)
    assert cm.restore(done.ref)[1]["content"][0]["input"] == same["input"]


def test_the_sdks_send_compacted_objects(httpserver):
    """With their own code; what goes over the wire is what a provider takes."""
    clients = {
        "sdk blocks in dicts": (
            anthropic,
            lambda api, sent: api.messages.create(model="m", max_tokens=9, messages=sent),
        ),
        "sdk chat messages": (openai, lambda api, sent: api.chat.completions.create(model="m", messages=sent)),
    }
    for kind, (sdk, call) in clients.items():
        provider, _, objects = dressed(kind)
        done = trimtab.Compactor(MODELS[provider], provider=provider).compact(objects, target_share=0.3)
        httpserver.expect_request(re.compile(".*")).respond_with_data("", 418)
        api = getattr(sdk, "Anthropic" if sdk is anthropic else "OpenAI")
        with pytest.raises(sdk.APIStatusError):
            call(api(api_key="k", max_retries=0, base_url=httpserver.url_for("")), done.messages)
        sent = httpserver.log[-1][0].get_json()["messages"]
        assert sent == plain(done.messages)
        assert check(sent, provider, in_flight=True) == []


def test_an_unreadable_object_raises_an_error_with_its_position():
    class Shy(Turn):
        def model_dump(self, **_):
            raise RuntimeError("not now")

    messages = [{"role": "user", "content": "go"}, Shy(role="user", content="x")]
    cm = trimtab.Compactor(CLAUDE)
    doors = (cm.fit, cm.compact, cm.plan, cm.count, lambda m: trimtab.repair(m, provider="anthropic"))
    for door in doors:
        with pytest.raises(trimtab.MessageError, match="not now") as raised:
            door(messages)
        assert (raised.value.path, raised.value.index) == ("messages[1]", 1)
        assert "model_dump" in raised.value.hint


@pytest.mark.parametrize("keys", ["interned", "parsed"])
def test_plain_lists_are_told_as_by_the_oracle(keys):
    class Kind(dict): ...

    blocks = [{"type": "text", "text": "a"}, Kind(type="text", text="a"), "a", SimpleNamespace(text="a")]
    contents = ["a", None, 1, [], *([block] for block in blocks), (blocks[0],), (blocks[0], blocks[2])]
    messages = [{"role": "user", "content": content} for content in contents]
    messages += [{}, {"role": "user"}, {"message": messages[0]}, {1: 2, "content": [1]}, Kind(messages[0]), "a", None]
    messages += [{f"k{n}": n for n in range(20)} | {"content": ["a"]}]
    if keys == "parsed":  # the keys are other objects than the program's
        messages = [
            {"".join([*key]) if isinstance(key, str) else key: part for key, part in message.items()}
            if type(message) is dict
            else message
            for message in messages
        ]
    for message in messages:
        assert _core.all_plain([message]) is oracle.is_plain(message), message
    plain = [message for message in messages if oracle.is_plain(message)]
    assert all(map(_core.all_plain, (plain, tuple(plain), [])))
    assert not _core.all_plain([*plain, "a"])
