"""Lists of the caller's own classes: new messages are made in them, or an error names class and field."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from pydantic import BaseModel, Field

import trimtab
from support.models import CLAUDE_BOUND
from support.transcripts import transcript
from trimtab import Compactor, MessageError

LONG = "u:90 " + " ".join(f"c{n} r{n}:60 a:30 u:60" for n in range(40, 60)) + " a:9"


@dataclass
class Shared:
    role: str
    content: Any
    session: str


@dataclass(kw_only=True)
class Named:
    role: str
    content: Any
    key: int


class SharedModel(BaseModel):
    role: str
    content: Any
    session: str = Field(alias="sessionId")


class NamedModel(BaseModel):
    role: str
    content: Any
    key: int


class Asked(BaseModel):
    role: str = "user"
    content: Any
    key: int


class Said(BaseModel):
    role: str = "assistant"
    content: Any
    key: int


def objects(make, spec=LONG):
    return [make(n, **message) for n, message in enumerate(transcript(spec, "anthropic"))]


def kinds(messages):
    return {type(message) for message in messages}


FILLED = {
    "dataclass": (Shared, lambda n, **message: Shared(**message, session="s")),
    "pydantic model": (SharedModel, lambda n, **message: SharedModel(**message, sessionId="s")),
}


@pytest.mark.parametrize(("kind", "make"), FILLED.values(), ids=FILLED)
def test_a_required_field_that_all_messages_agree_on_is_filled(kind, make):
    given = objects(make)
    done = Compactor(CLAUDE_BOUND).compact(given, target_share=0.3)
    assert kinds(done.messages) == {kind}
    assert {message.session for message in done.messages} == {"s"}
    fitted = Compactor(CLAUDE_BOUND).overflow("prompt is too long: 54321 tokens > 3000 maximum", given)
    assert kinds(fitted.messages) == {kind}
    repaired = trimtab.repair(objects(make, "a u c1 u"), provider="anthropic")
    assert kinds(repaired.messages) == {kind}


class Base(BaseModel):
    role: str
    content: Any


class Derived(Base):
    key: int


REFUSED = {
    "pydantic model with a base": (Derived, lambda n, **message: Derived(**message, key=n)),
    "dataclass": (Named, lambda n, **message: Named(**message, key=n)),
    "pydantic model": (NamedModel, lambda n, **message: NamedModel(**message, key=n)),
    "pydantic models, one a role": (
        Asked,
        lambda n, **message: (Asked if message["role"] == "user" else Said)(**message, key=n),
    ),
}


@pytest.mark.parametrize(("kind", "make"), REFUSED.values(), ids=REFUSED)
def test_a_required_field_on_which_messages_differ_is_an_error_that_names_class_and_field(kind, make):
    given, asked = objects(make), []
    cm = Compactor(CLAUDE_BOUND, summarizer=lambda ask: asked.append(ask) or "it was done")
    assert cm.fit(given).messages is given
    for call in (
        lambda: cm.compact(given, target_share=0.3),
        lambda: cm.overflow("prompt is too long: 54321 tokens > 3000 maximum", given),
        lambda: trimtab.repair(objects(make, "a u"), provider="anthropic"),
    ):
        with pytest.raises(
            MessageError, match=f"cannot be made as {kind.__name__}: its required field 'key'"
        ) as caught:
            call()
        assert "default" in caught.value.hint
    assert (asked, cm.history()) == ([], [])


@pytest.mark.parametrize(("kind", "make"), REFUSED.values(), ids=REFUSED)
def test_edits_of_given_messages_keep_their_own_fields(kind, make):
    spec = "u:30 " + " ".join(f"c{n} r{n}:900" for n in range(20)) + " a:9 u:9"
    given = objects(make, spec)
    done = Compactor(CLAUDE_BOUND).compact(given, target_share=0.6)
    assert done.plan.zone() is None
    assert {type(message) for message in done.messages} <= {kind, Said}
    assert [message.key for message in done.messages] == [message.key for message in given]


def test_a_default_or_a_factory_of_the_field_makes_new_messages():
    numbers = count(1_000)

    @dataclass
    class Given:
        role: str
        content: Any
        key: int = field(default_factory=lambda: next(numbers))

    done = Compactor(CLAUDE_BOUND).compact(objects(lambda n, **m: Given(**m, key=n)), target_share=0.3)
    assert kinds(done.messages) == {Given}
    keys = [message.key for message in done.messages]
    assert len(keys) == len(set(keys))


def test_a_role_that_no_message_has_is_made_in_the_class_of_the_list():
    made = trimtab.repair(objects(lambda n, **m: Shared(**m, session="s"), "a a"), provider="anthropic")
    assert (kinds(made.messages), made.messages[0].role) == ({Shared}, "user")


def test_a_class_that_checks_itself_is_named_with_its_error():
    @dataclass
    class Strict:
        role: str
        content: Any

        def __post_init__(self):
            if self.role == "user" and not str(self.content).startswith("the plan"):
                raise ValueError("secret text")

    given = objects(lambda n, **m: Strict(**m), "u:90 " + "a:90 u:90 " * 20)
    with pytest.raises(MessageError, match="cannot be made as Strict: ValueError") as caught:
        Compactor(CLAUDE_BOUND).compact(given, target_share=0.3)
    assert "secret" not in str(caught.value)


def test_a_list_that_has_dicts_too_takes_new_messages_as_dicts():
    given = [message if n % 5 else Named(**message, key=n) for n, message in enumerate(transcript(LONG, "anthropic"))]
    done = Compactor(CLAUDE_BOUND).compact(given, target_share=0.3)
    assert kinds(done.messages) <= {dict, Named}
