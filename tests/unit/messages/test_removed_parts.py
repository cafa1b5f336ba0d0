"""Code that runs while messages are compared may remove them: no part is looked at when it is gone.

Each case is a process of its own, whose allocator overwrites what is freed: what reads it ends the process.
"""

import os
import subprocess
import sys

import pytest

from trimtab import Counter

NAMES = """
import builtins, collections, dataclasses, datetime, gc, sys
from trimtab import _core

class Odd:
    @property
    def __pydantic_fields_set__(self):
        return act()

def act():
    pass

seen, counter = _core.Seen(), _core.Counter("o200k_base")
"""

CASES = {
    "a property removes its object and what holds it": """
inner = [Odd(), "x"]
messages = [{"role": "user", "content": inner}]
def act():
    inner.clear()
    messages.clear()
assert seen.places(messages) == (0, [None])
assert (inner, messages) == ([], [])
""",
    "a property of a key removes the value": """
inner = {Odd(): ["a" * 50, {}], "b": {"c": []}}
def act():
    inner.clear()
    return {"a"}
assert seen.places([{"role": "user", "content": inner}]) == (0, [None])
assert inner == {}
""",
    "a property removes messages that are compared": """
messages = [Odd() for _ in range(20)]
act = lambda: {"a"}
assert seen.places(messages) == (0, [None] * 20)
def act():
    messages.clear()
    return {"a"}
known, behind = seen.places(messages)
assert (known, behind, messages) == (1, [], [])
""",
    "a property shortens a list that is compared": """
inner = [Odd(), {"a": "b"}, {"a": "b"}]
messages = [{"role": "user", "content": inner}]
act = lambda: {"a"}
assert seen.places(messages) == (0, [None])
def act():
    del inner[1:]
    return {"a"}
assert seen.places(messages) == (0, [None])
""",
    "a finalizer removes objects while garbage is collected": """
@dataclasses.dataclass
class Block:
    text: str

class Garbage:
    def __init__(self):
        self.me = self
    def __del__(self):
        gone.append(len(inner))
        inner.clear()
        messages.clear()

gone = []
for round in range(50):
    inner = [Block(f"{n} {round}") for n in range(40)]
    messages = [{"role": "user", "content": inner}, {"role": "user", "content": inner}]
    gc.disable()
    Garbage()
    gc.set_threshold(1 + round % 25)
    gc.enable()
    seen.places(messages)
    gc.disable()
    messages.append({"role": "user", "content": inner})
    seen.places(messages)
gc.collect()
assert len(gone) == 50
""",
    "an import that is the first to look for a type removes objects": """
class Plain:
    pass

imported = builtins.__import__
def emptied(name, *others, **named):
    if name == "datetime":
        messages.clear()
        inner.clear()
    return imported(name, *others, **named)

inner = [Plain(), Plain()]
messages = [{"role": "user", "content": inner}]
builtins.__import__ = emptied
assert seen.places(messages) == (0, [None])
builtins.__import__ = imported
""",
    "a finalizer compares a list when the one before is forgotten": """
class Text(str):
    def __del__(self):
        reads.append(read([{"role": "user", "content": "a"}] * 4))

reads = []
for read in (seen.places, lambda messages: _core.Ledger.of(messages, counter=counter)):
    def act():
        read([{"role": "user", "content": Text(f"t{n}")} for n in range(4)])
        return {"a"}
    first = [{"role": "user", "content": [Odd()]}] * 4
    seen.places(first) if read == seen.places else counter
    try:
        read(first)
    except ValueError:
        read([{"role": "user", "content": "b"}] * 4)
assert reads
""",
}


@pytest.mark.parametrize("case", CASES)
def test_what_code_removes_is_not_looked_at_afterwards(case):
    env = {**os.environ, "PYTHONMALLOC": "debug", "PYTHONFAULTHANDLER": "1"}
    done = subprocess.run(
        [sys.executable, "-c", NAMES + CASES[case]], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


class Short(str):
    __slots__ = ()

    def __len__(self):
        return 1


class Other(str):
    __slots__ = ()

    def encode(self, *_):
        return b"x"


@pytest.mark.parametrize("kind", [Short, Other])
@pytest.mark.parametrize("text", ["naïve 你好, how are you?", "half \udc00 of a pair", "plain"])
def test_a_derived_string_is_its_characters_whatever_its_methods_say(kind, text):
    counter = Counter("o200k_base")
    assert counter.count(kind(text)) == counter.count(text)
    assert counter.count_many([kind(text)]) == counter.count_many([text])
