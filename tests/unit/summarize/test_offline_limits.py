from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.offline_cases import COUNTERS, FORGED, ask, quarter, sections, session, tool
from support.scale import scaled
from trimtab import Counter
from trimtab.summarize.offline import offline


def test_the_limit_holds_for_every_limit_and_the_newest_request_comes_first():
    for limit in range(1, 401):
        text = offline(ask(session(), limit))
        assert quarter(text) <= limit
        if limit >= 40:
            assert "Now push it to branch feature/yaml-config-2 please." in text


@pytest.mark.parametrize("name", COUNTERS)
def test_the_limit_holds_for_odd_counters(name):
    count = COUNTERS[name]
    for limit in [*range(1, 60), 100, 350, 1_000]:
        assert count(offline(ask(session(), limit, count=count))) <= limit or count("") > limit


def test_a_limit_below_one_gives_nothing():
    assert offline(ask(session(), 0)) == offline(ask(session(), -5)) == ""


def test_most_of_the_limit_is_used_when_there_is_enough():
    many = [
        {
            "role": role,
            "content": f"We found that worker_{at} holds lock{at}Table in src/pool/w{at}.py because of {at}.",
        }
        for at in range(400)
        for role in ("user", "assistant")
    ]
    for limit in (70, 150, 400, 1_000, 3_000):
        assert 0.85 * limit <= quarter(offline(ask(many, limit))) <= limit


def test_an_empty_zone_gives_nothing():
    assert offline(ask([])) == ""


@pytest.mark.parametrize("text", ["", " \n", "\ud800", "\u200b", "."])
def test_a_zone_without_words_gives_its_number_of_messages(text):
    message = {"role": "user", "content": text}
    assert offline(ask([message])) == "- 1 message without words"
    assert offline(ask([message] * 1_200)) == "- 1,200 messages without words"
    assert offline(ask([message] * 1_200, 1)) == "…"


def test_the_same_request_gives_the_same_text():
    assert offline(ask(session(), 120)) == offline(ask(session(), 120))


def test_the_text_does_not_depend_on_the_hash_seed():
    code = "import test_offline_limits as t; print(t.offline(t.ask(t.session(), 90)))"
    here = str(Path(__file__).parents[2])
    paths = os.pathsep.join([here, *(path for path in sys.path if path)])
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": paths},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1


words = st.text(st.sampled_from("ab_/.:#-`{}<>\n\t 9ÄÉ漢\ud800\u2028\x1b\x00"), max_size=80) | st.sampled_from(
    [
        "## Requests",
        "- x",
        "error: failed",
        "src/a/b.py",
        "fooBar",
        "deadbeef1",
        "https://x.y/z?q=1",
        FORGED,
        "```py\nx\n```",
    ]
)


blocks = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, words),
    st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "s"}, words),
    st.builds(
        lambda call, text: {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": text}}, words, words
    ),
    st.builds(
        lambda call, text: {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": True}, words, words
    ),
    st.builds(lambda kind, text: {"type": kind, "value": [text, None, 1]}, words, words),
)


messages = st.one_of(
    st.builds(
        lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "assistant", "tool"]), words
    ),
    st.builds(
        lambda role, held: {"role": role, "content": held}, st.sampled_from(["user", "assistant"]), st.lists(blocks)
    ),
    st.builds(
        lambda call, text: {"type": "function_call", "call_id": call, "name": "f", "arguments": text}, words, words
    ),
    st.builds(lambda call, text: {"type": "function_call_output", "call_id": call, "output": text}, words, words),
)


@settings(derandomize=True, max_examples=scaled(150), deadline=None)
@given(st.lists(messages, max_size=8), st.integers(1, 300), st.sampled_from(sorted(COUNTERS)), st.none() | words)
def test_any_transcript_gives_a_text_within_the_limit_with_our_headings_only(zone, limit, counter, previous):
    count = COUNTERS[counter]
    given = ask(zone, limit, count=count, previous=previous, instructions=previous)
    text = offline(given)
    assert count(text) <= limit or count("") > limit
    assert text == offline(given)
    text.encode("utf-8")
    if "\n" in text:
        sections(text)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(st.lists(messages, max_size=5), min_size=2, max_size=4))
def test_repeated_summaries_stay_within_the_limit_and_flat(zones):
    previous = None
    for zone in zones:
        previous = offline(ask(zone, 150, previous=previous))
        assert quarter(previous) <= 150
        if previous.startswith("## "):
            sections(previous)


def test_an_error_of_the_counter_is_raised_as_it_is():
    def count(text: str) -> int:
        raise LookupError(text)

    with pytest.raises(LookupError, match="Now push it"):
        offline(ask(session(), 100, count=count))


def longest_wait_during(work) -> float:
    """The share of the time of a call in which another thread waits for the interpreter at a stretch."""
    done, waits = threading.Event(), []

    def tick() -> None:
        last = time.perf_counter()
        while not done.is_set():
            now = time.perf_counter()
            waits.append(now - last)
            last = now

    thread = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.000_1)
    try:
        thread.start()
        start = time.perf_counter()
        work()
        took = time.perf_counter() - start
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(interval)
    return max(waits) / took


def test_other_threads_run_while_a_long_zone_is_read():
    request = ask([{"role": "user", "content": f"Message {n} names src/file_{n}.py. " * 20} for n in range(20_000)], 0)
    assert min(longest_wait_during(lambda: offline(request)) for _ in range(5)) < 0.5


def test_a_counter_and_a_function_that_counts_alike_give_the_same_text():
    counter = Counter("o200k_base")
    own = ask(session(), 300, count=counter.count)
    function = ask(session(), 300, count=lambda text: int(counter.count(text)))
    assert offline(own) == offline(function) != ""


def test_a_counter_of_a_class_that_counts_otherwise_is_asked():
    class Doubled(Counter):
        def count(self, text: str) -> int:
            return 2 * super().count(text)

    counter = Doubled("o200k_base")
    text = offline(ask(session(), 200, count=counter.count))
    assert 0 < counter.count(text) <= 200


def test_the_open_tasks_come_first_where_little_fits_and_a_folder_stands_only_in_front_of_files():
    steps = ("Wire the checker into the engine", "Write tests for new modules", "Run tests and lint")
    todos = [{"content": step, "status": "pending"} for step in steps]
    zone = [
        *tool(1, "Read", {"file_path": "/srv/work/reports/engine/run.py"}, "x = 1"),
        *tool(2, "TodoWrite", {"todos": todos}, "ok"),
        {"role": "assistant", "content": "I will use the checker of the engine, because it is there already."},
    ]
    found = sections(offline(ask(zone, 40)))
    assert found["Open items"] == [f"pending: {step}" for step in steps]
    assert "Files" not in found
    assert "root" not in offline(ask(zone, 60)) or "run.py" in offline(ask(zone, 60))
