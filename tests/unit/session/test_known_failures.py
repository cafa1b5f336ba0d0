"""One test for each known failure of other agents: a compaction after which the provider refused every call."""

import pytest

import trimtab
from support.checker import check
from support.models import CLAUDE, CLAUDE_BOUND
from support.transcripts import transcript
from trimtab.models.model import UNBOUND
from trimtab.planning import StripThinking

PAST = "u:90 " + " ".join(f"c{n} r{n}:60 a:90 u:60" for n in range(40, 60))
THINKS = "u:90 " + " ".join(f"t c{n} r{n}:60 a:90 u:60" for n in range(40, 60))


def compacted(messages, model=CLAUDE, **options):
    done = trimtab.Compactor(model, **options).compact(messages, target_share=0.3)
    assert done.ref
    assert check(list(done.messages), "anthropic", in_flight=True) == []
    return done


def blocks(messages, kind):
    found = [block for m in messages if isinstance(m["content"], list) for block in m["content"]]
    return [block for block in found if block["type"] == kind]


def test_no_result_is_orphaned_by_chained_compactions():
    """opencode 27594, pi 4570 and 6832, OpenHarness 191, atomic 1300."""
    messages, cm = transcript(PAST), trimtab.Compactor(CLAUDE)
    for n in range(4):
        messages = list(cm.compact(messages, target_share=0.4).messages)
        assert check(messages, "anthropic", in_flight=True) == []
        messages += transcript(" ".join(f"c{n}{k} r{n}{k}:60" for k in range(10)) + " a:60 u:60")


def test_a_call_in_flight_is_kept_while_all_else_leaves():
    """devo 186."""
    done = compacted(transcript(PAST + " c1+c2 r2:9"))
    assert [block["id"] for block in blocks(done.messages, "tool_use")][-2:] == ["call_1", "call_2"]


def test_a_parallel_batch_is_kept_or_leaves_as_one():
    """kimi-code 1054."""
    batches = " ".join(f"c{n}+c{n + 1}+c{n + 2} r{n + 1}:60 r{n + 2}:60 r{n}:60" for n in range(100, 160, 3))
    done = compacted(transcript(f"u:90 {batches} a:20"))
    asked = {block["id"] for block in blocks(done.messages, "tool_use")}
    assert asked == {block["tool_use_id"] for block in blocks(done.messages, "tool_result")}
    assert len(asked) % 3 == 0


def test_a_duplicate_id_is_named_and_mended():
    """opencode 40235."""
    messages = transcript("u c1 r1 c1 r1")
    codes = [problem.code for problem in trimtab.validate(messages, provider="anthropic")]
    assert codes == ["duplicate_tool_use_id"]
    mended = trimtab.repair(messages, provider="anthropic").messages
    assert check(list(mended), "anthropic") == []


def test_thinking_behind_an_edit_goes_where_the_model_binds_it():
    """openclaw 90108, pi 9391, opencode 41738."""
    messages = transcript(THINKS)
    done = compacted(messages, CLAUDE_BOUND)
    assert any(isinstance(edit, StripThinking) for edit in done.plan.edits)
    assert blocks(done.messages, "thinking") == []
    assert blocks(compacted(messages).messages, "thinking"), "an older model's stays"


def test_thinking_behind_an_edit_may_be_marked_instead():
    messages, system = transcript(THINKS), "rules"
    cm = trimtab.Compactor(CLAUDE_BOUND, window=12_000, max_output=2_000, thinking="mark")
    fitted = cm.fit(messages[:1], system=system)
    assert "betas" not in fitted.request
    fitted = cm.fit(messages, system=system)
    assert fitted.compaction
    assert blocks(fitted.messages, "thinking")
    for again in (fitted, cm.fit(fitted.messages, system=system)):
        assert again.request.items() >= UNBOUND.items()
    with pytest.raises(ValueError, match="strip"):
        trimtab.Compactor(CLAUDE_BOUND, thinking="keep")


def test_marked_thinking_is_said_of_every_edited_list():
    """``compact`` and ``prune`` edit the list, too, and another session object may go on with it."""
    messages = transcript(THINKS)

    def of(name: str = "a", policy: str = "default"):
        options = {"window": 12_000, "max_output": 2_000, "thinking": "mark"}
        return trimtab.Compactor(CLAUDE_BOUND, policy=policy, **options).session(name)

    session = of()
    done = session.compact(messages)
    assert blocks(done.messages, "thinking")
    for one in (session, of()):
        assert one.fit(list(done.messages)).request.items() >= UNBOUND.items()
        assert UNBOUND.items() <= one.fit(list(done.messages[:1])).request.items()
    assert "betas" not in of().fit(messages[:4]).request
    session = of(policy="opencode")
    pruned = session.prune(transcript(f"{THINKS} u:9 c91 r91:90000 u:9 t a:9 u:9 a:9 u:9 a:9 c92 r92:50000 u:9"))
    assert "betas" not in of(policy="opencode").fit(messages[:4]).request
    assert UNBOUND.items() <= session.fit(pruned[:4]).request.items()


def test_an_open_tool_loop_keeps_the_thinking_that_it_started_with():
    loop = "u:30 t c1 r1:90 " + " ".join(f"c{n} r{n}:90" for n in range(2, 20))
    messages = transcript(f"{PAST} a:30 {loop}")
    done = compacted(messages)
    assert check(list(done.messages), "anthropic", thinking=True) == []


def test_no_summary_is_placed_where_the_provider_refuses_it():
    """coder 22819, hermes 42897."""
    for name in trimtab.policies.POLICIES:
        cm = trimtab.Compactor(CLAUDE, policy=name)
        try:
            made = list(cm.compact(transcript(PAST), target_share=0.3).messages)
        except trimtab.PlanError:
            continue
        assert check(made, "anthropic", in_flight=True) == [], name


def test_a_server_s_compaction_leads_untouched_and_nothing_stands_before_it():
    block = {"type": "compaction", "content": "so far"}
    for before in ([], transcript("u:60 a:60 u:60")):
        messages = [*before, {"role": "assistant", "content": [block]}, *transcript(PAST)]
        assert compacted(messages).messages[0] is messages[len(before)]


def test_four_cache_markers_stay_four_at_most_and_those_that_stay_are_where_they_were():
    """A fifth is a 400: the summary takes the place of the markers that leave, and adds none where none left."""
    mark = {"cache_control": {"type": "ephemeral"}}
    for leaving in range(5):
        messages = transcript(PAST)
        texts = [n for n, m in enumerate(messages) if isinstance(m["content"], str) and m["role"] == "user"]
        staying = texts[len(texts) - 4 + leaving :]
        for at in [*texts[1 : leaving + 1], *staying]:
            messages[at] = {**messages[at], "content": [{"type": "text", "text": messages[at]["content"], **mark}]}
        done = trimtab.Compactor(CLAUDE).compact(messages, target_share=0.5)
        assert check(list(done.messages), "anthropic", in_flight=True) == []
        marked = [m for m in done.messages if "cache_control" in str(m["content"])]
        ours = [m for m in marked if "<trimtab-summary" in str(m["content"])]
        assert len(ours) == (leaving > 0)
        assert [m for m in marked if m not in ours] == [messages[at] for at in staying]


def test_a_cache_marker_that_leaves_stands_on_the_summary():
    mark = {"cache_control": {"type": "ephemeral"}}
    messages = transcript(PAST)
    messages[8] = {"role": "user", "content": [{"type": "text", "text": "mind this", **mark}]}
    done = compacted(messages)
    marked = [block for block in blocks(done.messages, "text") if "cache_control" in block]
    assert [block["text"].startswith("<trimtab-summary") for block in marked] == [True]
    later = transcript("a:30 " + " ".join(f"u:90 a:{60 + n}" for n in range(40)))
    again = trimtab.Compactor(CLAUDE).compact([*done.messages, *later], target_share=0.3)
    assert sum("<trimtab-summary" in str(m["content"]) for m in again.messages) == 1, "it is known with its marker"
