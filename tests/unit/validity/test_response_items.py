"""The table of Responses items: against the provider's own types, and that repair mends all that validate names."""

import itertools
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.scale import scaled
from trimtab import Counter, _core, repair, split, validate
from trimtab.counting.counter import scan
from trimtab.ledger import MessageFlag

USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
KINDS = {row[0]: row for row in _core.ITEMS}
PROVIDERS_OWN = {"compaction_summary"}
"""Types that files have, and the SDK has not."""

CHUNK = {"stdout": "a.py", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
ITEMS: dict[str, dict[str, Any]] = {
    "function_call": {"call_id": "c", "name": "f", "arguments": "{}"},
    "function_call_output": {"call_id": "c", "output": "a.py"},
    "custom_tool_call": {"call_id": "c", "name": "f", "input": "x"},
    "custom_tool_call_output": {"call_id": "c", "output": "a.py"},
    "local_shell_call": {"id": "i", "call_id": "c", "status": "completed", "action": {"command": ["ls"]}},
    "local_shell_call_output": {"id": "c", "output": "a.py"},
    "shell_call": {"call_id": "c", "action": {"commands": ["ls"]}, "status": "completed"},
    "shell_call_output": {"call_id": "c", "output": [CHUNK]},
    "apply_patch_call": {"call_id": "c", "operation": {"type": "delete_file", "path": "a"}, "status": "completed"},
    "apply_patch_call_output": {"call_id": "c", "status": "completed", "output": "a.py"},
    "computer_call": {"id": "i", "call_id": "c", "action": {"type": "wait"}, "status": "completed"},
    "computer_call_output": {"call_id": "c", "output": {"type": "computer_screenshot", "file_id": "f"}},
    "tool_search_call": {"call_id": "c", "arguments": {"query": "x"}, "execution": "client"},
    "tool_search_output": {"call_id": "c", "tools": [], "execution": "client"},
    "mcp_approval_request": {"id": "c", "name": "f", "arguments": "{}", "server_label": "s"},
    "mcp_approval_response": {"approval_request_id": "c", "approve": True, "reason": "a.py"},
    "program": {"id": "i", "call_id": "c", "code": "1", "fingerprint": "f"},
    "program_output": {"id": "o", "call_id": "c", "result": "a.py", "status": "completed"},
    "new_thing_call": {"call_id": "c", "action": "x"},
    "new_thing_call_output": {"call_id": "c", "output": "a.py"},
    "reasoning": {"id": "r", "summary": []},
    "compaction": {"encrypted_content": "x"},
    "compaction_trigger": {},
    "configuration_update": {"reasoning": {"effort": "low"}},
    "additional_tools": {"role": "developer", "tools": []},
    "item_reference": {"id": "i"},
    "web_search_call": {"id": "w", "status": "completed", "action": {"type": "search", "query": "x"}},
    "file_search_call": {"id": "w", "status": "completed", "queries": []},
    "code_interpreter_call": {"id": "w", "status": "completed", "container_id": "k", "code": "1", "outputs": []},
    "image_generation_call": {"id": "w", "status": "completed", "result": None},
    "mcp_call": {"id": "w", "name": "f", "arguments": "{}", "server_label": "s"},
    "mcp_list_tools": {"id": "w", "server_label": "s", "tools": []},
}
PAIRS = [(name, answer) for name, *_, answers in _core.ITEMS for answer in answers]
PAIRS += [("new_thing_call", "new_thing_call_output")]


def item(name, **fields):
    return {"type": name, **ITEMS[name], **fields}


def codes(items, **options):
    return [problem.code for problem in validate(items, provider="openai_responses", **options)]


def mended(items, **options):
    """Return the repaired items and the codes of the changes; a valid list that repair leaves alone."""
    done = repair(items, provider="openai_responses", **options)
    assert codes(done.messages, **options) == []
    assert not repair(done.messages, provider="openai_responses", **options).changes
    return done.messages, [change.code for change in done.changes]


def types_of(union):
    """Return the values of ``type`` of a union's members."""
    members = get_args(union)
    if len(members) == 2:
        members = get_args(members[0])  # the union is annotated
    hints = (getattr(member, "model_fields", None) for member in members)
    types = (h["type"].annotation if h else get_type_hints(m)["type"] for m, h in zip(members, hints, strict=True))
    return {name for hint in types for name in _literals(hint)}


def _literals(hint):
    if isinstance(hint, str):
        return {hint}
    return {name for part in get_args(hint) for name in _literals(part)}


@pytest.mark.parametrize("union", ["ResponseInputItemParam", "ResponseOutputItem", "ResponseItem"])
def test_the_table_has_every_type_of_the_sdk_s_own_union(union):
    responses = pytest.importorskip("openai.types.responses")
    new = types_of(getattr(responses, union)) - KINDS.keys()
    assert not new, f"a row in rust/core/src/shape/items.rs for {sorted(new)}"


def test_the_table_has_no_type_that_the_sdk_has_not():
    responses = pytest.importorskip("openai.types.responses")
    unions = ("ResponseInputItemParam", "ResponseOutputItem", "ResponseItem")
    known = set().union(*(types_of(getattr(responses, union)) for union in unions))
    assert KINDS.keys() - known <= PROVIDERS_OWN


def test_ids_and_texts_of_the_table_are_fields_of_the_sdk_s_types():
    responses = pytest.importorskip("openai.types.responses")
    for member in get_args(responses.ResponseInputItemParam):
        hints = get_type_hints(member)
        name = next(iter(_literals(hints["type"])))
        _, _, _, ids, _, body, _ = KINDS[name]
        assert {*ids[:1], *([body] if body else [])} <= hints.keys() | {"call_id"}, name


@pytest.mark.parametrize(("call", "output"), PAIRS)
def test_a_call_with_its_output_is_valid_and_is_not_parted(call, output):
    fields = {"id": "c"} if call == "mcp_approval_request" else {}
    items = [USER, item(call, **fields), item(output), ANSWER, USER]
    assert codes(items) == []
    assert split(items, keep_last=3) == 1


@pytest.mark.parametrize("call", dict(PAIRS))
def test_a_call_without_its_output_is_named_and_mended(call):
    items = [USER, item(call), USER]
    assert codes(items) == ["call_without_output"]
    messages, changes = mended(items)
    assert changes == ["interrupted_result"]
    assert messages[0] is USER
    assert messages[-1] is USER
    if call not in ("computer_call", "new_thing_call"):
        assert messages[1] is items[1]
        assert "interrupted" in str(messages[2]) or call == "tool_search_call"


@pytest.mark.parametrize("call", dict(PAIRS))
def test_a_call_in_flight_is_left_alone(call):
    items = [USER, item(call)]
    assert codes(items, in_flight=True) == []
    assert mended(items, in_flight=True) == (items, [])


@pytest.mark.parametrize("output", dict.fromkeys(output for _, output in PAIRS))
def test_an_output_without_its_call_is_named_and_no_text_of_it_is_lost(output):
    items = [USER, item(output), USER]
    assert codes(items) == ["output_without_call"]
    messages, changes = mended(items)
    assert changes == ["orphan_result"]
    said = output not in ("computer_call_output", "tool_search_output")
    assert ("a.py" in str(messages)) == said


@pytest.mark.parametrize("call", dict(PAIRS))
def test_a_second_call_of_one_id_is_mended(call):
    output = dict(PAIRS)[call]
    items = [USER, item(call), item(output), item(call), ANSWER]
    assert codes(items)
    assert "duplicate_call" in mended(items)[1]


@pytest.mark.parametrize("name", [name for name, _, _, ids, needs, _, _ in _core.ITEMS if ids and needs])
def test_an_item_without_its_id_is_named_and_mended(name):
    if name == "reasoning":
        return
    items = [USER, {key: value for key, value in item(name).items() if key not in KINDS[name][3]}, ANSWER]
    assert codes(items) == ["field_required"]
    assert mended(items)[1] == ["incomplete"]


def test_a_program_goes_on_when_its_calls_are_answered():
    caller = {"caller": {"type": "program", "caller_id": "p"}}
    items = [USER, item("program", call_id="p"), item("function_call", **caller), item("function_call_output")]
    assert codes(items) == []
    assert codes([*items, item("program_output", call_id="p"), ANSWER]) == []
    assert codes([*items, USER]) == ["call_without_output"]


# Control items


def test_a_trigger_that_is_not_last_is_named_and_moved():
    trigger, second = item("compaction_trigger"), item("compaction_trigger")
    assert codes([USER, ANSWER, trigger]) == []
    assert codes([USER, trigger, USER]) == ["compaction_trigger_position"]
    assert mended([USER, trigger, ANSWER, USER, second]) == ([USER, ANSWER, USER, trigger], ["compaction_trigger"] * 2)


def test_settings_parted_from_their_compaction_are_named_and_moved():
    compaction, update = item("compaction"), item("configuration_update")
    assert codes([compaction, update, USER]) == []
    assert codes([compaction, USER, update]) == ["configuration_update_parted"]
    assert mended([compaction, USER, update, ANSWER]) == (
        [compaction, update, USER, ANSWER],
        ["configuration_update"],
    )


def test_settings_that_change_later_are_no_part_of_the_compaction():
    items = [item("compaction"), USER, ANSWER, item("configuration_update"), USER]
    assert codes(items) == []


def test_no_cut_parts_settings_from_their_compaction():
    update = scan([item("configuration_update")], Counter.chars(), "openai_responses")
    assert MessageFlag(int(update.marks[0])) == MessageFlag.CONFIGURES
    items = [USER, ANSWER, item("compaction"), item("configuration_update"), USER, ANSWER]
    assert split(items, keep_last=3) == 2


def test_a_compaction_without_its_ciphertext_is_named_and_dropped():
    items = [USER, {"type": "compaction", "encrypted_content": ""}, USER]
    assert codes(items) == ["field_required"]
    assert mended(items) == ([USER, USER], ["incomplete"])


# Whatever the items


def _broken(name):
    fields = item(name)
    return st.sampled_from(
        [fields, *({k: v for k, v in fields.items() if k != key} for key in fields if key != "type")]
    )


ANY = st.one_of(st.sampled_from([USER, ANSWER]), *(_broken(name) for name in ITEMS))


@settings(max_examples=scaled(600), deadline=None)
@given(st.lists(ANY, max_size=8), st.booleans())
def test_repair_mends_every_list_of_items_that_can_be_read(items, in_flight):
    renamed = [dict(entry) for entry in items]
    if any(problem.code == "malformed" for problem in validate(renamed, provider="openai_responses")):
        return
    if not renamed:
        return
    mended(renamed, in_flight=in_flight)


def test_repair_mends_every_pair_of_items():
    for names in itertools.product(ITEMS, repeat=2):
        mended([USER, *map(item, names), USER])
