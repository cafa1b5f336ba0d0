"""Where a list can be cut, read from its end: the answer of the whole ledger, from the messages that matter to it."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oracle
import trimtab
from support.damage import damaged
from support.models import CLAUDE, GPT
from support.transcripts import PROVIDERS, deep_hash, messages, transcript
from trimtab import Counter
from trimtab.counting.counter import scan
from trimtab.ledger import split as _split

COUNTERS = [
    Counter.chars(),
    Counter("o200k_base"),
    *map(Counter.for_model, (CLAUDE, "claude-3-5-haiku-latest", GPT)),
]
generated = pytest.mark.parametrize("provider", PROVIDERS)


@pytest.fixture(autouse=True)
def a_chunk_is_small(monkeypatch):
    """Lists of a test are short, and are read in several steps all the same."""
    monkeypatch.setattr(_split, "AHEAD", 2)


def whole(given_, counter, provider):
    """Return the tokens of each message and the safe cuts, by a ledger of the whole list."""
    try:
        ledger = scan(given_, counter, provider)
    except trimtab.MessageError:
        assume(False)
    return ledger.per_message, oracle.tail_cuts(ledger)


@generated
@given(st.data())
def test_split_keeps_the_wanted_messages_and_only_the_rest_of_their_groups(provider, data):
    given_ = data.draw(messages(provider) | damaged(provider))
    wanted = data.draw(st.integers(0, len(given_) + 1))
    before = deep_hash(given_)
    _, cuts = whole(given_, COUNTERS[0], provider)
    last = max(cut for cut in range(max(0, len(given_) - wanted) + 1) if cuts[cut])
    assert trimtab.split(given_, keep_last=wanted, provider=provider) == last
    assert deep_hash(given_) == before


@generated
@given(st.data())
def test_split_keeps_the_most_messages_that_fit_the_tokens(provider, data):
    given_ = data.draw(messages(provider) | damaged(provider))
    keep, counter = data.draw(st.integers(0, 400)), data.draw(st.sampled_from(COUNTERS))
    costs, cuts = whole(given_, counter, provider)
    assert trimtab.split(given_, keep=keep, counter=counter, provider=provider) == oracle.split(costs, cuts, keep)


@generated
@given(st.data())
def test_split_of_a_valid_list_agrees_with_its_ledger(provider, data):
    ledger = scan(data.draw(messages(provider)), COUNTERS[0], provider)
    assert oracle.tail_cuts(ledger) == ledger.safe.tolist()


def test_split_does_not_read_early_messages():
    given_ = [{"role": "user", "content": object()}] * 10_000 + transcript("u:9 c1 r1:9 a:9 u:9 c2 r2:9 a:9 " * 9)
    assert trimtab.split(given_, keep_last=6) == len(given_) - 7
    assert trimtab.split(given_, keep=90, counter=COUNTERS[1]) is not None
    with pytest.raises(trimtab.MessageError) as raised:
        trimtab.split(given_, keep_last=80)
    assert raised.value.path == "messages[9990].content"
    assert raised.value.index == 9_990


def test_split_detects_the_provider_from_the_tail():
    given_ = transcript("u:9 a:9 " * 50 + "u:9 c1 r1:9 a:9 " + "u:9 a:9 " * 3)
    assert [trimtab.split(given_, keep_last=n) for n in (6, 7, 8, 9, 10)] == [104, 103, 101, 101, 100]


def test_split_does_not_cut_off_an_open_call():
    given_ = transcript("u:9 a:9 u:9 c1+c2 r1:9")
    assert [trimtab.split(given_, keep_last=n) for n in range(4)] == [3, 3, 3, 2]
    assert trimtab.split(given_, keep=5, counter=COUNTERS[0]) is None


@pytest.mark.parametrize(
    "arguments", [{}, {"keep": 1}, {"keep_last": 1, "keep": 1}, {"keep_last": -1}, {"keep_last": 1, "counter": 1}]
)
def test_split_rejects_missing_and_contradictory_arguments(arguments):
    with pytest.raises(ValueError, match=r"give keep_last, or keep with a counter|at least 0"):
        trimtab.split([], **arguments)


def test_split_of_an_empty_list_is_zero():
    assert trimtab.split([], keep_last=3) == 0
    assert trimtab.split([], keep=3, counter=COUNTERS[0]) == 0


@pytest.mark.parametrize("given_", ["text", {"role": "user"}, 7])
def test_split_rejects_values_that_are_no_list(given_):
    with pytest.raises(TypeError):
        trimtab.split(given_, keep_last=3)
