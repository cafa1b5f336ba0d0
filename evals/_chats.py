"""Short chats in which one thing matters and small talk is around it, for ``eval-chats``.

A chat has 44 messages, about 590 tokens. What must be known of it is a list of facts: words that have to stand in the
compacted list, with a weight, and for a decision that was replaced the words of the old one. Shares no code with the
summarizer.

- rule: something that must never be done, said once
- replaced: a decision that is taken back; the new one counts, the old one must not stand alone
- alike: two people or services that are easily confused, each with what it is for
- named: something that is named once and referred to later without its name
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

KINDS = ("rule", "replaced", "alike", "named")
_PEOPLE = ("Marta", "Martin", "Joana", "Johan", "Elif", "Elias", "Carla", "Carlo", "Nadia", "Nadine", "Tomas", "Thomas")
_PAIRS = (("Marta", "Martin"), ("Joana", "Johan"), ("Elif", "Elias"), ("Carla", "Carlo"), ("Nadia", "Nadine"))
_SERVICES = (
    ("orders-api", "orders-ui"),
    ("mailer", "mailbox"),
    ("ledger-db", "ledger-cache"),
    ("auth-edge", "auth-core"),
)
_DUTIES = ("signs the invoices", "runs the night shift", "keeps the supplier list", "reviews the contracts")
_JOBS = ("takes the uploads", "answers the phone line", "holds the customer records", "sends the reminders")
_RULES = (
    "Never {act} unless {who} has agreed, I will not bend on that.",
    "One thing first: you must not {act}, whatever anybody says.",
    "Please remember that we do not {act} on Fridays. No exceptions.",
    "Whatever happens, always ask {who} before you {act}.",
    "Under no circumstances {act}, that would cost me my job.",
)
_ACTS = (
    "email the clients in Oslo",
    "delete the scans of the old lease",
    "share the salary sheet",
    "book anything above 400 euros",
    "call the landlord",
    "publish the price list",
)
_FIRST = (
    "We go with {old} for the {what}.",
    "I think {old} is right for the {what}, let us take it.",
    "Put the {what} on {old}, please.",
)
_THEN = (
    "Hm, forget what I said about the {what}: it has to be {new}.",
    "I changed my mind, take {new} for the {what} after all.",
    "On second thought not {old}. We use {new}.",
    "No wait, {old} will not do. Make it {new}.",
)
_CHOICES = (
    ("the red hall", "the garden room", "reception"),
    ("Thursday at 10", "Monday at 16", "kickoff"),
    ("bus", "train", "trip to Graz"),
    ("a spreadsheet", "a small database", "guest list"),
    ("Helvetica", "Garamond", "invitation"),
    ("MariaDB", "DuckDB", "reports"),
)
_NAMED = (
    (
        "The storage unit is at Pier 14, door code 7731.",
        ("pier 14", "7731"),
        "What was the code of that unit again, do you have it?",
    ),
    (
        "Our caterer is called Weidenhof, they want a list by the 9th.",
        ("weidenhof", "9th"),
        "Did the caterer say anything about the list?",
    ),
    (
        "The account number for the deposit is NL-5520-81.",
        ("nl-5520-81",),
        "We will need that number for the deposit soon.",
    ),
    (
        "The backup runs on a machine named quokka, in rack 3.",
        ("quokka", "rack 3"),
        "Is the backup machine still the slow one?",
    ),
    ("The flat is on Lindenstrasse 22, second floor.", ("lindenstrasse 22",), "How far is the flat from the station?"),
)
_TALK = (
    "It has been raining here since Sunday, I can hear it on the roof.",
    "My neighbour is learning the trumpet and it is going badly.",
    "Did you know that octopuses have three hearts?",
    "I had soup for lunch and it was far too salty.",
    "The train was late again, nothing new there.",
    "I watched a film about lighthouses last night, quite slow but nice.",
    "Do you ever get bored?",
    "My sister sent me a photo of her new puppy, it is adorable.",
    "I should really go to bed earlier.",
    "Coffee number three, wish me luck.",
    "What is your favourite season?",
    "There was a rainbow over the car park just now!",
    "I used to play chess when I was small, but I was never any good.",
    "Honestly the office plants look better than I feel.",
    "They repainted the stairwell and now everything smells.",
    "How do people get up at five every day?",
    "I am thinking about baking bread this weekend.",
    "Somebody left a single glove on my desk, very mysterious.",
    "My bike has a flat tyre for the second time this month.",
    "That reminds me of a song, but I cannot remember which.",
    "Haha, that made me laugh.",
    "The new café on the corner plays only jazz.",
    "Do you think cats dream?",
    "I keep forgetting to water the basil.",
    "It gets dark so early now.",
    "Our team lost the match again, I am not even surprised.",
    "Thanks, that is kind of you.",
    "Anyway, enough about my holidays.",
    "I saw a heron by the canal this morning.",
    "Is it strange that I like Mondays?",
)
_REPLIES = (
    "That sounds lovely.",
    "Ha, I know what you mean!",
    "I can imagine. Tell me more if you like.",
    "Interesting, I had not thought of it like that.",
    "Fair enough.",
    "I hope the rest of the day is better.",
    "Good question. I do not really have moods, but I like to talk about it.",
    "Noted, thank you.",
    "Sure, happy to help with that.",
    "That happens to everyone now and then.",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Words that must stand in a list, what the fact is worth, and the words of what it replaces."""

    words: tuple[str, ...]
    weight: float
    old: tuple[str, ...] = ()

    def kept(self, text: str) -> bool:
        """Whether each of its words stands in a text, in lower case."""
        return all(word in text for word in self.words)


@dataclass(slots=True)
class Chat:
    """A chat and what must be known of it."""

    kind: str
    messages: list[dict[str, str]] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)


def chat(seed: int, size: int = 44) -> Chat:
    """A chat of a kind that the seed selects."""
    chance = random.Random(seed)
    out = Chat(KINDS[seed % len(KINDS)])
    turns = size // 2
    planted = _planted(out, chance)
    places = sorted(chance.sample(range(turns - 3), len(planted)))
    said = dict(zip(places, planted, strict=True))
    talk = chance.sample(_TALK, turns)
    for turn in range(turns):
        text = said.get(turn, talk[turn])
        if turn in said and chance.random() < 0.25:
            text = f"{text} {chance.choice(_TALK)}" if chance.random() < 0.5 else f"{chance.choice(_TALK)} {text}"
        out.messages.append({"role": "user", "content": text})
        reply = (
            "Understood, I will keep to that." if turn in said and chance.random() < 0.5 else chance.choice(_REPLIES)
        )
        out.messages.append({"role": "assistant", "content": reply})
    return out


def _planted(out: Chat, chance: random.Random) -> list[str]:
    """The texts that matter, in order."""
    if out.kind == "rule":
        act, who = chance.choice(_ACTS), chance.choice(_PEOPLE)
        form = chance.choice(_RULES)
        out.facts.append(Fact((act.lower(),), 3.0))
        if "{who}" in form:
            out.facts.append(Fact((who.lower(), act.lower()), 1.0))
        return [form.format(act=act, who=who)]
    if out.kind == "replaced":
        old, new, what = chance.choice(_CHOICES)
        out.facts.append(Fact((new.lower(),), 3.0, (old.lower(),)))
        return [one.format(old=old, new=new, what=what) for one in (chance.choice(_FIRST), chance.choice(_THEN))]
    if out.kind == "alike":
        who, what = (_PAIRS, _DUTIES) if chance.random() < 0.5 else (_SERVICES, _JOBS)
        pair, duties = chance.choice(who), chance.sample(what, 2)
        out.facts += [Fact((f"{name} {duty}".lower(),), 1.5) for name, duty in zip(pair, duties, strict=True)]
        return [f"{name} {duty}." for name, duty in zip(pair, duties, strict=True)]
    text, words, later = chance.choice(_NAMED)
    out.facts.append(Fact(words, 3.0))
    return [text, later]
