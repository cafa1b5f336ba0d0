"""A counter remembers the list that it read last: whatever has changed since then is read, and nothing else matters."""

import copy
import json
import re
import signal
import sys
import threading
import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ledger import whole

from support.models import CLAUDE, GEMINI, GPT
from support.transcripts import PROVIDERS, specs, transcript
from trimtab import Counter, MessageError
from trimtab.counting.counter import scan


def fresh(messages, provider, new=lambda: Counter("o200k_base")):
    """Return the counts of a counter with an empty cache."""
    return whole(scan(messages, new(), provider))


def places(value):
    """Every container and key in a list of messages, where something else can be put."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield value, key
        yield from places(inner)


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(max_examples=60)
@given(data=st.data())
def test_a_list_changed_in_place_reads_as_if_it_were_new(provider, data):
    messages, counter = transcript(data.draw(specs(provider)), provider), Counter("o200k_base")
    scan(messages, counter, provider)
    for _ in range(data.draw(st.integers(1, 6))):
        match data.draw(
            st.sampled_from(
                ["same", "parse", "text", "append", "delete", "swap", "copy", "cut", "slide", "first", "parse"]
            )
        ):
            case "text":
                texts = [
                    (box, key) for box, key in places(messages) if key in ("text", "content", "arguments", "output")
                ]
                texts = [(box, key) for box, key in texts if isinstance(box[key], str)]
                if texts:
                    box, key = data.draw(st.sampled_from(texts))
                    box[key] += data.draw(st.sampled_from([" and more", " é", " 😀", ""]))
            case "append":
                messages += transcript("u:3", provider)
            case "delete" if messages:
                del messages[data.draw(st.integers(0, len(messages) - 1))]
            case "swap" if messages:
                messages[0], messages[-1] = messages[-1], messages[0]
            case "copy":
                messages = copy.deepcopy(messages)
            case "cut":
                del messages[len(messages) // 2 :]
            case "slide":
                del messages[: data.draw(st.integers(1, 2))]
            case "first":
                messages[:1] = transcript("u:4", provider)
            case "parse":
                messages = json.loads(json.dumps(messages))
        assert whole(scan(messages, counter, provider)) == fresh(messages, provider)
        counted = Counter("o200k_base").per_message(messages, provider=provider)
        assert counter.per_message(messages, provider=provider).tolist() == counted.tolist()


@pytest.mark.parametrize("text", ["a text of some length", "un café", "\u4f60\u597d"])
def test_a_list_that_is_made_anew_each_time_is_not_kept_alive(text):
    messages = [{"role": "user", "content": f"{text} {at}", "n": at + 1000, "t": [None, 0.5, True]} for at in range(9)]
    counter = Counter("o200k_base")
    scan(messages, counter)
    for _ in range(3):
        copied = json.loads(json.dumps(messages))
        alone = [sys.getrefcount(message["content"]) for message in copied]
        assert whole(scan(copied, counter)) == fresh(messages, "openai_chat")
        assert [sys.getrefcount(message["content"]) for message in copied] == alone
    del copied[4]
    for references in (1, 1):
        assert whole(scan(copied, counter)) == fresh(copied, "openai_chat")
        kept = [sys.getrefcount(message["content"]) for message in copied]
        assert kept == [each + references for each in [*alone[:4], *alone[5:]]], "it came again as the same object"


MODELS = (CLAUDE, "claude-opus-4-8", GPT, GEMINI)


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(max_examples=60)
@given(data=st.data())
def test_a_list_that_grows_joins_its_pairs_cuts_and_turns_as_if_it_were_read_at_once(provider, data):
    model = data.draw(st.sampled_from(MODELS))
    counter = Counter.for_model(model)
    messages = [m for spec in data.draw(st.lists(specs(provider), max_size=4)) for m in transcript(spec, provider)]
    at = 0
    while at < len(messages):
        at += data.draw(st.integers(1, 3))
        grown = messages[:at]
        assert whole(scan(grown, counter, provider)) == fresh(grown, provider, lambda: Counter.for_model(model))


@given(data=st.data())
def test_the_shape_of_a_list_that_changes_is_found_as_if_it_were_new(data):
    counter, messages = Counter("o200k_base"), []
    for _ in range(data.draw(st.integers(1, 6))):
        del messages[data.draw(st.integers(0, 6)) :]
        provider = data.draw(st.sampled_from(PROVIDERS))
        said = ["u:2", "u:2 c1 r1:3", *(["s:3 u:2"] if provider.startswith("openai") else [])]
        messages += transcript(data.draw(st.sampled_from(said)), provider)
        try:
            found = whole(scan(messages, counter))
        except MessageError as error:
            with pytest.raises(MessageError, match=re.escape(str(error.args[0]))):
                scan(messages, Counter("o200k_base"))
        else:
            assert found == fresh(messages, None)


@pytest.mark.parametrize("changed", [0, 3, 8])
def test_an_error_names_its_place_behind_messages_that_are_recognized(changed):
    counter, messages = Counter("o200k_base"), transcript("u:2 " + " ".join(f"c{n} r{n}:3" for n in range(6)))
    scan(messages, counter)
    messages[changed:changed] = [{"role": "user", "content": "new"}]
    messages[changed + 3 : changed + 3] = [{"role": "user", "content": 7}]
    with pytest.raises(MessageError) as caught:
        scan(messages, counter)
    assert caught.value.index == changed + 3
    assert caught.value.path.startswith(f"messages[{changed + 3}]")


def test_another_shape_reads_the_same_list_anew():
    messages, counter = (
        [{"role": "user", "content": "hello"}, {"role": "system", "content": "x"}],
        Counter("o200k_base"),
    )
    for provider in ("openai_chat", "anthropic", "openai_chat"):
        assert whole(scan(messages, counter, provider)) == fresh(messages, provider)


def test_what_may_change_unseen_is_read_every_time():
    box = {"role": "user", "content": "short"}
    messages, counter = [types.MappingProxyType(box)], Counter("o200k_base")
    before = scan(messages, counter, "openai_chat").total
    box["content"] = "much longer than it was before"
    assert scan(messages, counter, "openai_chat").total > before


def test_an_error_in_what_is_new_names_its_place_in_the_whole():
    messages, counter = [{"role": "user", "content": f"n{n}"} for n in range(5)], Counter("o200k_base")
    scan(messages, counter, "anthropic")
    messages.append({"role": "user", "content": 7})
    with pytest.raises(MessageError) as error:
        scan(messages, counter, "anthropic")
    assert (error.value.index, error.value.path) == (5, "messages[5].content")
    del messages[5]
    assert whole(scan(messages, counter, "anthropic")) == fresh(messages, "anthropic")


def test_threads_may_share_a_counter():
    counter, wrong = Counter("o200k_base"), []
    lists = [[{"role": "user", "content": f"list {n} message {m} " * 5} for m in range(50 + n)] for n in range(4)]
    right = [fresh(messages, "openai_chat") for messages in lists]

    def read(n):
        wrong.extend(n for _ in range(50) if whole(scan(lists[n], counter, "openai_chat")) != right[n])

    threads = [threading.Thread(target=read, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_thread_may_change_a_list_that_is_read():
    counter, provider = Counter("o200k_base"), "anthropic"
    messages = transcript("u:9 c1 r1:9 a:9 " * 500, provider)
    whole_list, done = copy.deepcopy(messages), threading.Event()

    def change():
        n = 0
        while not done.is_set():
            n += 1
            at = n * 7_919 % len(whole_list)
            messages[at:] = copy.deepcopy(whole_list[at:])
            messages[at]["content"] = f"changed {n}"
            messages[at // 2]["content"] = [{"type": "text", "text": f"changed {n}"}]

    thread = threading.Thread(target=change)
    thread.start()
    for _ in range(60):
        assert len(counter.per_message(messages, provider=provider)) > 0
    done.set()
    thread.join()
    assert whole(scan(messages, counter, provider)) == fresh(messages, provider)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers that send signals")
def test_a_signal_may_change_a_list_that_is_compared():
    counter, taken = Counter("o200k_base"), []
    given_ = [{"role": "user", "content": [{"type": "text", "text": f"text {n}"}]} for n in range(10_000)]

    def change(*_):
        taken.append(len(messages))
        for message in messages[::2]:
            message["content"] = "another"
        del messages[len(messages) // 2 :]

    before = signal.signal(signal.SIGALRM, change)
    try:
        for n in range(8):
            messages = copy.deepcopy(given_)
            counter.per_message(messages, provider="anthropic")
            signal.setitimer(signal.ITIMER_REAL, 1e-4 * (n + 1))
            counter.per_message(messages, provider="anthropic")
            while len(taken) <= n:
                signal.sigtimedwait([], 1e-3)
            assert whole(scan(messages, counter, "anthropic")) == fresh(messages, "anthropic")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
