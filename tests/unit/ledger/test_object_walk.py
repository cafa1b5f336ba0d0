"""The walk over Python objects: a key is known by its address where it can be, and nothing is held too short."""

import collections
import sys

import pytest
from test_ledger import EVERYTHING, O200K, whole

import trimtab
from support.transcripts import PROVIDERS, transcript
from trimtab.counting.counter import scan


class Key(str):
    """A key that is found by its text alone, with code of its own."""

    __slots__ = ()

    def __eq__(self, other):
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def rekeyed(value, name, more):
    """Return an equal value with new key objects, dicts that had deletions, and additional unread keys."""
    if isinstance(value, list):
        return [rekeyed(inner, name, more) for inner in value]
    if not isinstance(value, dict):
        return value
    out = {f"gone {n}": n for n in range(more)}
    out |= {name(key): rekeyed(inner, name, more) for key, inner in value.items()}
    for n in range(more):
        del out[f"gone {n}"]
    return out


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", [str, Key, lambda key: "".join(list(key)), sys.intern])
@pytest.mark.parametrize("more", [0, 1, 9])
def test_a_key_is_known_whatever_object_it_is_and_wherever_it_stands(provider, name, more):
    plain = transcript(EVERYTHING[provider], provider)
    given_ = rekeyed(plain, name, more)
    assert given_ == plain
    assert whole(scan(given_, O200K, provider)) == whole(scan(plain, O200K, provider))
    assert trimtab.validate(given_, provider=provider) == trimtab.validate(plain, provider=provider)
    assert trimtab.split(given_, keep_last=2, provider=provider) == trimtab.split(plain, keep_last=2, provider=provider)


@pytest.mark.parametrize("read", ["validate", "split", "scan"])
def test_a_block_with_code_of_its_own_may_change_the_list_while_that_is_read(read):
    def empty(messages):
        for message in messages:
            message["content"] = "gone"
            message.pop("role", None)
        del messages[1:]

    class Block(collections.UserDict):
        def __getitem__(self, key):
            empty(messages)
            return super().__getitem__(key)

        def __contains__(self, key):
            empty(messages)
            return super().__contains__(key)

    for at in (0, 1, 40):
        messages = transcript("u:9 c1 r1:9 a:9 " * 30)
        block = Block({"type": "text", "text": "words"})
        messages[at] = {
            "role": "user",
            "content": [{"type": "text", "text": "a"}, block, {"type": "text", "text": "b"}],
        }
        try:
            if read == "validate":
                trimtab.validate(messages, provider="anthropic")
            elif read == "split":
                trimtab.split(messages, keep_last=100, provider="anthropic")
            else:
                scan(messages, O200K, "anthropic")
        except trimtab.Error as error:
            assert "messages" in str(error)  # noqa: PT017 - the walk may end at what is left, or say what it met
        assert len(messages) == 1
