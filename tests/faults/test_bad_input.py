"""Bad input: each kind of damage has its documented outcome, and nothing is changed or lost."""

import json
import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from support.checker import check
from support.command import run
from support.models import CLAUDE, GPT
from support.scale import scaled
from support.transcripts import PROVIDERS, deep_hash, png, transcript

O200K = trimtab.Counter("o200k_base")
MODELS = {"anthropic": CLAUDE, "bedrock": CLAUDE, "gemini": "gemini-3-pro"}
FILLER = transcript("u:60 a:60 " * 20)


def doors(provider):
    """Every way in, as functions of a list."""
    cm = trimtab.Compactor(MODELS.get(provider, GPT), provider=provider)
    return {
        "count": lambda m: trimtab.count(m, model=cm.model, provider=provider),
        "fit": cm.fit,
        "plan": lambda m: cm.plan(m, target_share=0.5),
        "compact": lambda m: cm.compact(m, target_share=0.5),
        "repair": lambda m: trimtab.repair(m, provider=provider),
        "validate": lambda m: trimtab.validate(m, provider=provider),
    }


def refused(messages, path, provider="anthropic", but=()):
    """Every door names the place, and changes nothing; ``validate`` says it instead of raising."""
    before = deep_hash(messages)
    for name, door in doors(provider).items():
        if name in but:
            continue
        if name == "validate":
            assert [problem.code for problem in door(messages)] == ["malformed"]
            continue
        with pytest.raises(trimtab.Error) as raised:
            door(messages)
        assert isinstance(raised.value, trimtab.MessageError), name
        assert raised.value.path == path, name
        assert raised.value.index == int(path.split("[")[1].split("]")[0])
        assert raised.value.hint
    assert deep_hash(messages) == before


# D1: lone surrogates


@settings(max_examples=scaled(300))
@given(st.text(st.characters(), max_size=40) | st.text("\ud800\udfffa\U0001f600", max_size=9))
def test_d1_lone_surrogates_count_as_replacement_characters_and_are_restored(text):
    assert O200K.count(text) == O200K.count(oracle_text(text))
    cm = trimtab.Compactor(CLAUDE)
    given_ = [{"role": "user", "content": f"{text} ."}, {"role": "assistant", "content": "so"}, *FILLER]
    done = cm.compact(given_, target_share=0.3)
    assert cm.restore(done.ref) == given_


def oracle_text(text):
    """As UTF-16 reads it: pairs are a character, what is alone is U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# D2: controls


def test_d2_control_characters_are_kept():
    for code in (*range(32), 0x7F, 0xFEFF, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)):
        messages = [{"role": "user", "content": f"a{chr(code)}b"}, {"role": "assistant", "content": "so"}, *FILLER]
        cm = trimtab.Compactor(CLAUDE)
        assert cm.restore(cm.compact(messages, target_share=0.3).ref) == messages
        assert O200K.count(f"a{chr(code)}b") > 1


# D5 and D6: nesting and cycles


def nested(depth):
    value = None
    for _ in range(depth):
        value = [value]
    return value


def call(value):
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"of": value}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "done"}]},
    ]


@pytest.mark.parametrize("depth", [300, 10_000, 1_000_000])
def test_d5_too_deep_nesting_raises_message_error(depth):
    refused_deep(call(nested(depth)))


def refused_deep(messages):
    for name, door in doors("anthropic").items():
        if name == "validate":
            assert [problem.code for problem in door(messages)] == ["malformed"]
            continue
        with pytest.raises(trimtab.MessageError, match="nested deeper than 200 levels") as raised:
            door(messages)
        assert raised.value.path == "messages[1].content[0]", name


def test_d5_nesting_below_the_limit_is_read():
    done = trimtab.Compactor(CLAUDE).compact([*call(nested(150)), *FILLER], target_share=0.3)
    assert done.ref


def cycles():
    one, two, three = [], {}, {"a": 1}
    one.append(one)
    two["self"] = two
    three["list"] = [three, (three,)]
    pair = ({}, [])
    pair[0]["b"] = pair[1]
    pair[1].append(pair[0])
    twice = {}
    twice["a"] = twice["b"] = [twice, twice]
    return [one, two, three, pair[0], twice]


@pytest.mark.parametrize("n", range(5))
def test_d6_a_cycle_raises_message_error(n):
    refused_deep(call(cycles()[n]))


# D7: what is no content, and no role


@pytest.mark.parametrize("provider", ["anthropic", "openai_chat", "openai_responses"])
@pytest.mark.parametrize(
    "content", [5, 2.5, True, b"bytes", {"text": "x"}, {1}, object()], ids=lambda content: type(content).__name__
)
def test_d7_content_of_a_wrong_type_is_reported(provider, content):
    kept = {"type": "message"} if provider == "openai_responses" else {}
    refused(
        [{"role": "user", "content": "hi", **kept}, {"role": "user", "content": content, **kept}],
        "messages[1].content",
        provider,
    )


@pytest.mark.parametrize(
    "message", [None, 5, "hi", ["hi"], b"hi", object()], ids=lambda message: type(message).__name__
)
def test_d7_an_object_that_is_no_message_is_reported(message):
    refused([{"role": "user", "content": "hi"}, message], "messages[1]")


class Lost(Mapping):
    """A message whose parts cannot be had."""

    def __init__(self, error):
        self.error = error

    def __getitem__(self, key):
        raise self.error

    def __iter__(self):
        return iter(("role", "content"))

    def __len__(self):
        return 2


def test_d7_a_mapping_that_raises_is_reported_with_its_place():
    messages = [{"role": "user", "content": "hi"}, Lost(RuntimeError("the row is gone"))]
    for door in (trimtab.Compactor(CLAUDE).fit, trimtab.Compactor(GPT).count, doors("anthropic")["count"]):
        with pytest.raises(trimtab.MessageError, match="the row is gone") as raised:
            door(messages)
        assert (raised.value.path, raised.value.index) == ("messages[1]", 1)
        assert raised.value.hint


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_d7_what_is_no_fault_of_a_message_is_raised_as_it_is(error):
    for messages in ([Lost(error())], [{"role": "user", "content": "hi"}, Lost(error())]):
        with pytest.raises(error):
            trimtab.count(messages, model=CLAUDE)


@pytest.mark.parametrize("role", [None, 5, ["user"]])
def test_d7_an_unknown_role_is_reported(role):
    refused([{"role": "user", "content": "hi"}, {"role": role, "content": "hi"}], "messages[1].role")
    refused([{"role": "user", "content": "hi"}, {"content": "hi"}], "messages[1].role")


ODD = {
    "system inside": {"role": "system", "content": "mind this"},
    "unknown role": {"role": "wizard", "content": "mind this"},
    "null content": {"role": "user", "content": None},
    "no content": {"role": "user"},
    "no blocks": {"role": "user", "content": []},
}


@pytest.mark.parametrize("kind", ODD)
def test_d7_readable_but_invalid_messages_are_diagnosed_and_repaired(kind):
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "so"}, ODD[kind]]
    messages += [{"role": "assistant", "content": "and"}, {"role": "user", "content": "on"}]
    before = deep_hash(messages)
    assert trimtab.validate(messages, provider="anthropic", model=CLAUDE)
    mended = trimtab.repair(messages, provider="anthropic", model=CLAUDE)
    assert mended.changes
    assert check(list(mended.messages), "anthropic") == []
    assert ("mind this" in json.dumps(mended.messages)) == ("mind this" in json.dumps(messages)), "no text is lost"
    assert deep_hash(messages) == before
    with pytest.raises(trimtab.MessageError) as raised:
        trimtab.Compactor(CLAUDE, provider="anthropic").compact(messages, target_share=0.5)
    assert raised.value.index == 2
    assert raised.value.hint


def test_d7_consecutive_messages_of_one_role_and_unknown_keys_are_accepted():
    messages = [{**message, "x_mine": [1]} for message in transcript("u u:9 a a u")]
    assert trimtab.validate(messages, provider="anthropic") == []
    assert trimtab.repair(messages, provider="anthropic").messages is messages


WRONG = [None, True, 5, -2.5, "", " ", "x", b"x", [], {}, [None], [{}], [{"type": None}], [{"type": "text"}], object()]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_d7_damaged_messages_are_read_or_raise_message_error(provider):
    """Every value of a message in turn is put in another's place; what comes out is judged, or is named."""
    draw = random.Random(3)
    for n in range(400):
        messages = json.loads(json.dumps(transcript("u c1+c2 r1+r2 t+a u", provider)))
        damage(messages, draw)
        before = deep_hash(messages)
        ways = doors(provider)
        for name in ("count", "validate", "fit", draw.choice(["plan", "compact"])):
            outcome(ways[name], messages)
        mended = outcome(ways["repair"], messages)
        if mended is not None:
            assert trimtab.validate(list(mended.messages), provider=provider) == [], n
        assert deep_hash(messages) == before, n


@pytest.mark.parametrize("odd", [True, 5, [{}], {"a": 1}, "", "said"], ids=repr)
def test_d7_a_field_of_a_call_of_any_type_is_read_or_raises_message_error(odd):
    gemini = transcript("u c1 r1 a", "gemini")
    gemini[1]["parts"][0]["functionCall"]["id"] = odd
    bedrock = transcript("u c1 r1 a", "bedrock")
    bedrock[2]["content"][0]["toolResult"]["content"] = odd
    for provider, messages in (("gemini", gemini), ("bedrock", bedrock)):
        mended = outcome(doors(provider)["repair"], messages)
        if mended is not None:
            assert trimtab.validate(list(mended.messages), provider=provider) == []


def outcome(door, messages):
    """Return an entry point's result; None after an ``ArchiveError``, or a ``MessageError`` with path and hint."""
    try:
        return door(messages)
    except trimtab.ArchiveError:
        return None
    except trimtab.MessageError as error:
        told = error
    assert told.hint
    assert told.index is not None
    return None


def damage(value, draw):
    """Puts something else in the place of one value, somewhere."""
    while True:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        if not keys:
            return
        key = draw.choice(list(keys))
        inside = value[key]
        if not isinstance(inside, dict | list) or not inside or draw.random() < 0.2:
            value[key] = draw.choice(WRONG)
            return
        value = inside


# D8: pairs


@pytest.mark.parametrize("spec", ["u c1 r1 c1 r1", "u r1 a", "u r1 c1 a", "u c1+c2 r2 a", "u c1 r1 r1 a"])
def test_d8_unmatched_calls_and_results_are_reported_and_repaired(spec):
    messages = transcript(spec)
    assert trimtab.validate(messages, provider="anthropic")
    assert check(list(trimtab.repair(messages, provider="anthropic").messages), "anthropic") == []
    with pytest.raises(trimtab.MessageError) as raised:
        trimtab.Compactor(CLAUDE).compact([*messages, *FILLER], target_share=0.5)
    assert raised.value.path.startswith("messages[")


# D10 and D11: pictures and documents


def picture(data, media="image/png"):
    return [{"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}]


DAMAGED = {
    "no base64": "!!!!",
    "empty": "",
    "cut header": png(300, 200)[:20],
    "another type": png(300, 200),
    "1 x 8000": png(1, 8000),
    "8001 wide": png(8001, 1),
    "random": "gIGC" * 5_000,  # no text either
}


@pytest.mark.parametrize("kind", DAMAGED)
@pytest.mark.parametrize("block", ["image", "document"])
def test_d10_and_d11_damaged_images_and_documents_are_estimated(kind, block):
    content = [{**part, "type": block} for part in picture(DAMAGED[kind], "image/jpeg")]
    messages = [{"role": "user", "content": [*content, {"type": "text", "text": "see"}]}]
    assert 0 < trimtab.count(messages, model=CLAUDE) < 10_000
    cm = trimtab.Compactor(CLAUDE)
    if (kind, block) == ("8001 wide", "image"):  # the provider refuses it, and nothing can leave
        with pytest.raises(trimtab.MessageError, match="image_too_large"):
            cm.fit(messages)
    else:
        assert cm.fit(messages).messages is messages


# D3, D4, D12, D13 for the command line; their long forms are in test_counter_generated, test_files and test_json


@pytest.mark.parametrize(
    "given_",
    [
        b"",
        b"\xff\xfe\x00",
        b"{",
        b"[" * 100_000,
        b'{"role": 5}\n',
        b'[{"role":"user","content":7}]',
        b"null",
        b"\x00" * 99,
    ],
    ids=["empty", "no UTF-8", "cut", "deep", "role", "content", "null", "zeros"],
)
@pytest.mark.parametrize("verb", ["count", "validate", "compact"])
def test_the_command_line_reports_a_bad_file(verb, given_):
    ran = run(verb, "-", stdin=given_)
    assert ran.returncode not in (0, 1), ran
    assert "hint" in ran.stderr or "error" in ran.stderr.lower()
