"""Valid transcripts with something done to them, and the options that they are judged by."""

import copy

from hypothesis import strategies as st

from support.transcripts import specs, transcript

OPTIONS = st.fixed_dictionaries(
    {"in_flight": st.booleans(), "prefill": st.booleans(), "thinking": st.sampled_from([None, None, True, False])}
)

IDS = ("id", "tool_use_id", "tool_call_id", "call_id", "toolUseId")
SAID = ("content", "text", "thinking", "output", "arguments", "signature", "name")


def places(transcript):
    """All messages, blocks and calls, each as its list and its position in it."""
    lists = [transcript, *(m[key] for m in transcript for key in ("content", "tool_calls", "parts") if key in m)]
    return [(of, at) for of in lists if isinstance(of, list) for at in range(len(of))]


def fields(transcript, names):
    """All fields of these names, each as its dict and its name."""
    found = (of[at] for of, at in places(transcript))
    return [(part, name) for part in found for name in names if name in part]


@st.composite
def damaged(draw, provider):
    """A valid transcript with one to three things done to it."""
    broken = transcript(draw(specs(provider)), provider)
    for _ in range(draw(st.integers(1, 3))):
        if places(broken):
            draw(st.sampled_from(DAMAGE))(draw, broken)
    return broken


def drop(draw, broken):
    of, at = draw(st.sampled_from(places(broken)))
    del of[at]


def duplicate(draw, broken):
    of, at = draw(st.sampled_from(places(broken)))
    of.insert(draw(st.integers(0, len(of))), copy.deepcopy(of[at]))


def swap(draw, broken):
    of, at = draw(st.sampled_from(places(broken)))
    other = draw(st.integers(0, len(of) - 1))
    of[at], of[other] = of[other], of[at]


def change_an_id(draw, broken):
    ids = [(of, name) for of, name in fields(broken, IDS) if str(of[name]).startswith("call_")]
    if ids:
        of, name = draw(st.sampled_from(ids))
        of[name] = f"call_{draw(st.integers(1, 4))}"


def empty_a_text(draw, broken):
    texts = fields(broken, SAID)
    if texts:
        of, name = draw(st.sampled_from(texts))
        of[name] = draw(st.sampled_from(["", "  ", "x ", [], None]))


def mark_for_the_cache(draw, broken):
    blocks = [of[at] for of, at in places(broken) if isinstance(of[at], dict) and of[at].get("type") == "text"]
    results = [part for part in fields(broken, ["tool_use_id"]) if part[0].get("type") == "tool_result"]
    if results and draw(st.booleans()):
        block = {"type": "text", "text": draw(st.sampled_from(["", "x"]))}
        draw(st.sampled_from(results))[0]["content"] = [block]
        blocks = [block]
    if blocks:
        draw(st.sampled_from(blocks))["cache_control"] = {"type": "ephemeral"}


def change_a_role(draw, broken):
    spoken = [message for message in broken if "role" in message]
    if spoken:
        draw(st.sampled_from(spoken))["role"] = draw(st.sampled_from(["user", "assistant", "system", "tool", "model"]))


DAMAGE = (drop, duplicate, swap, change_an_id, empty_a_text, change_a_role, mark_for_the_cache)
