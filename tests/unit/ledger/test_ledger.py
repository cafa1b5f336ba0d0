"""The ledger: a transcript as numbers, against the oracle; and what cannot be read."""

import base64
import collections
import copy
import enum
import itertools
import json
import time
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from support import transcripts
from support.models import CLAUDE
from support.scale import scaled
from support.transcripts import PROVIDERS, deep_hash, messages, png, specs, transcript
from trimtab import Counter, Kind, MessageError, Role, _core
from trimtab.counting.counter import scan
from trimtab.ledger import MessageFlag, RowFlag
from trimtab.messages.envelope import wrap

O200K = Counter("o200k_base")
ROW_COLUMNS = {"owner": "uint32", "kind": "uint8", "tokens": "uint32", "pair": "int32", "flags": "uint16"}
ROW_COLUMNS |= dict.fromkeys(("bytes", "chars", "utf16"), "uint32")
MESSAGE_COLUMNS = {"role": "uint8", "marks": "uint16", "per_message": "uint32", "first": "uint32", "safe": "bool"}
COLUMNS = ROW_COLUMNS | MESSAGE_COLUMNS
EVERYTHING = {
    "anthropic": "u:9+i:300 t a:3+c1+c2 r2:4+r1:9+u:2 v3:4+a:2 u:2+x t c4",
    "openai_chat": "s:3 u:9+i:300 t a:3+c1+c2 r2:4+r1:9+u:2 a:2 u:2+x c4",
    "openai_responses": "s:3 u:9+i:300 t a:3+c1+c2 r2:4+r1:9+u:2 v3:4+a:2 u:2+x t c4",
    "bedrock": "u:9+i:300 t a:3+c1+c2 r2:4+r1:9+u:2 a:2 u:2+x t c4",
    "gemini": "u:9+i:300 t a:3+c1+c2 r2:4+r1:9+u:2 a:2 u:2+x t c4",
}

generated = pytest.mark.parametrize("provider", PROVIDERS)


def whole(ledger):
    """All that a ledger says, to be compared."""
    columns = {name: getattr(ledger, name).tolist() for name in COLUMNS}
    names, places = ledger.names
    rows = [(ledger.id_of(row), names[place]) for row, place in enumerate(places)]
    digests = [ledger.digest, *(ledger.digest_of(index) for index in range(len(ledger)))]
    return columns | {"rows": rows, "digests": digests, "total": ledger.total, "provider": ledger.provider}


def digest(message, provider="anthropic"):
    return scan([message], O200K, provider).digest_of(0)


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def call(value):
    block = {"type": "tool_use", "id": "a", "name": "f", "input": value}
    return {"role": "assistant", "content": [block]}


def item(kind, **fields):
    return {"type": kind, "call_id": "a", **fields}


def result(content):
    return user({"type": "tool_result", "tool_use_id": "a", "content": content})


REASONING, REASONING_PARTS = ("reasoning_content", "thinking", "reasoning"), ("reasoning_details", "thinking_blocks")


def thinks(**fields):
    return {"role": "assistant", "content": None, **fields}


# Columns


@generated
def test_rows_say_what_the_oracle_reads(provider):
    @settings(max_examples=scaled(150))
    @given(messages(provider, unknown=True))
    def holds(transcript):
        table = oracle.rows(transcript, provider)
        ledger = scan(transcript, O200K, provider)
        found = zip(ledger.owner, ledger.kind, [ledger.role[m] for m in ledger.owner], strict=True)
        assert [*found] == [(row.owner, row.kind, row.role) for row in table]
        names, places = ledger.names
        assert names == [*dict.fromkeys(row.name for row in table)]
        found = [(ledger.id_of(row), names[place]) for row, place in enumerate(places)]
        assert found == [(row.id, row.name) for row in table]
        assert ledger.pair.tolist() == oracle.pairs(table)
        assert ledger.tokens.tolist() == [oracle.tokens(row, O200K.count) for row in table]
        for unit in ("bytes", "chars", "utf16"):
            lengths = [sum(oracle.length(piece, unit) for piece in row.pieces) for row in table]
            assert getattr(ledger, unit).tolist() == lengths, unit

    holds()


@generated
def test_a_cut_is_safe_if_no_group_stands_on_both_sides(provider):
    @settings(max_examples=scaled(150))
    @given(messages(provider, unknown=True))
    def holds(transcript):
        assert scan(transcript, O200K, provider).safe.tolist() == oracle.safe(transcript, provider)

    holds()


@pytest.mark.parametrize(
    ("spec", "provider", "safe"),
    [
        ("u c1 r1 a", "anthropic", "11011"),
        ("u c1+c2 r1 r2 a", "anthropic", "110011"),
        ("u c1 r1 c2", "anthropic", "11010"),
        ("u c1+c2 r1", "anthropic", "1100"),
        ("u a v1 a", "anthropic", "11111"),
        ("u t", "anthropic", "110"),
        ("u t c1 r1 a", "openai_responses", "110011"),
        ("u t a", "openai_responses", "1101"),
        ("u c1+c2 r2 r1 u", "openai_responses", "1100011"),
        ("u t c1 r1 a", "openai_chat", "11011"),
        ("u r1 c1 u", "openai_chat", "11100"),
    ],
)
def test_the_safe_cuts_of_small_transcripts(spec, provider, safe):
    ledger = scan(transcript(spec, provider), O200K, provider)
    assert "".join("01"[cut] for cut in ledger.safe.tolist()) == safe


@generated
def test_a_result_takes_the_latest_open_call_of_its_id(provider):
    refs = st.lists(st.sampled_from(["c1", "c2", "r1", "r2", "r3", "u", "c1+c2", "a"]), max_size=10).map(" ".join)

    @settings(max_examples=scaled(150))
    @given(refs)
    def holds(spec):
        damaged = transcript(spec, provider)
        ledger = scan(damaged, O200K, provider)
        assert ledger.pair.tolist() == oracle.pairs(oracle.rows(damaged, provider))
        assert ledger.safe.tolist() == oracle.safe(damaged, provider)

    holds()


@generated
def test_columns_have_fixed_types_are_contiguous_and_add_up(provider):
    for spec in ("", "u", EVERYTHING[provider]):
        ledger = scan(transcript(spec, provider), Counter.for_model(CLAUDE), provider)
        for name, dtype in COLUMNS.items():
            column = getattr(ledger, name)
            assert (column.dtype, column.flags.c_contiguous, column.ndim) == (np.dtype(dtype), True, 1), name
        n, rows = len(ledger), len(ledger.owner)
        assert n == len(transcript(spec, provider))
        assert {len(getattr(ledger, name)) for name in ROW_COLUMNS} == {rows}
        lengths = {name: len(getattr(ledger, name)) - n for name in MESSAGE_COLUMNS}
        assert lengths == {"role": 0, "marks": 0, "per_message": 0, "first": 1, "safe": 1}
        assert ledger.first.tolist() == [*np.searchsorted(ledger.owner, np.arange(n)).tolist(), rows]
        assert ledger.total == sum(ledger.per_message.tolist())
        assert all(a != b and ledger.pair[b] == a for a, b in enumerate(ledger.pair) if b >= 0)


def test_columns_are_copies_that_do_not_change_the_ledger():
    ledger = scan(transcript("u c1 r1"), O200K, "anthropic")
    before = whole(ledger)
    for name in COLUMNS:
        getattr(ledger, name)[:] = 0
    assert whole(ledger) == before


def test_flags_and_marks_say_what_is_notable():
    cached = {"cache_control": {"type": "ephemeral"}}
    ledger = scan(
        [
            user({"type": "text", "text": " \n", **cached}, {"type": "text", "text": "a "}, {"type": "text"}),
            user({"type": "tool_result", "tool_use_id": "a", "content": f"{_core.PRUNED}9 tokens]", "is_error": True}),
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "s"}]},
            {"role": "user", "content": wrap("x", ref="0a", count=1)},
            {"role": "user", "content": None},
            {"role": "user", "content": []},
        ],
        O200K,
        "anthropic",
    )
    blank = RowFlag.EMPTY | RowFlag.BLANK
    assert [*map(RowFlag, ledger.flags.tolist())] == [
        RowFlag.BLANK | RowFlag.CACHED | RowFlag.TRAILING,
        RowFlag.TRAILING,
        blank | RowFlag.INCOMPLETE,
        RowFlag.PRUNED | RowFlag.ERROR,
        blank | RowFlag.SIGNED,
        RowFlag.SUMMARY | RowFlag.TAGGED,
    ]
    thinks = MessageFlag.GLUED | MessageFlag.THINKS
    assert [*map(MessageFlag, ledger.marks.tolist())] == [
        MessageFlag(0),
        MessageFlag(0),
        thinks,
        MessageFlag.PLAIN,
        MessageFlag.NULL,
        MessageFlag.EMPTY,
    ]


def test_no_cut_inside_a_turn_leaves_something_in_front_of_its_thinking():
    thinking = {"type": "thinking", "thinking": "", "signature": "s"}
    said = [[thinking, {"type": "text", "text": "so"}], "then", [thinking, {"type": "text", "text": "done"}]]
    messages = [{"role": "user", "content": "go"}, *({"role": "assistant", "content": content} for content in said)]
    assert scan(messages, O200K, "anthropic").safe.tolist() == [True, True, False, True, True]
    assert oracle.safe([*messages[:2], *messages[3:]], "anthropic") == [True, True, True, True]


# Split


@generated
def test_split_means_the_earliest_safe_cut_that_fits(provider):
    @settings(max_examples=scaled(150))
    @given(messages(provider), st.integers(0, 200))
    def holds(transcript, keep):
        ledger = scan(transcript, O200K, provider)
        expected = oracle.split(ledger.per_message.tolist(), ledger.safe.tolist(), keep)
        assert _core.split(ledger.per_message, ledger.safe, keep=keep) == expected

    holds()


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=12), st.booleans(), st.integers(0, 2**64 - 1))
def test_split_holds_for_any_columns(pairs, end, keep):
    costs, safe = [cost for cost, _ in pairs], [*(cut for _, cut in pairs), end]
    arrays = np.array(costs, dtype=np.uint32), np.array(safe, dtype=np.bool_)
    for limit in (keep, keep % 100):
        assert _core.split(*arrays, keep=limit) == oracle.split(costs, safe, limit)


def test_split_adds_past_what_a_column_can_name():
    costs = np.full(5, 2**32 - 1, dtype=np.uint32)
    assert _core.split(costs, np.ones(6, dtype=np.bool_), keep=3 * (2**32 - 1)) == 2


def test_split_refuses_columns_of_another_kind_or_length():
    costs, safe = np.zeros(3, dtype=np.uint32), np.ones(4, dtype=np.bool_)
    with pytest.raises(TypeError, match=r"(?s)int64.*uint32"):
        _core.split(costs.astype(np.int64), safe, keep=1)
    for wrong in (costs.reshape(1, 3), np.zeros(6, dtype=np.uint32)[::2], [0, 0, 0], None):
        with pytest.raises(TypeError):
            _core.split(wrong, safe, keep=1)
    with pytest.raises(ValueError, match="safe has 3 entries, expected 4"):
        _core.split(costs, safe[:3], keep=1)
    with pytest.raises(OverflowError):
        _core.split(costs, safe, keep=-1)


# Extend


@generated
def test_a_ledger_extended_by_the_rest_is_the_ledger_of_the_whole(provider):
    @settings(max_examples=25)
    @given(specs(provider, unknown=True))
    def holds(spec):
        full = transcript(spec, provider)
        expected = whole(scan(full, O200K, provider))
        for cut in range(len(full) + 1):
            assert whole(scan(full[:cut], O200K, provider).extend(full[cut:])) == expected

    holds()


@generated
def test_a_ledger_extended_message_by_message_is_the_ledger_of_the_whole(provider):
    full, counter = transcript(EVERYTHING[provider], provider), Counter.for_model(CLAUDE)
    ledger = scan([], counter, provider)
    for message in full:
        ledger = ledger.extend([message])
    assert whole(ledger) == whole(scan(full, counter, provider))


def test_to_extend_leaves_the_ledger_as_it_was():
    ledger = scan(transcript("u c1"), O200K, "anthropic")
    before = whole(ledger)
    ledger.extend(transcript("r1 a"))
    assert whole(ledger) == before


def test_an_error_in_an_extension_is_placed_in_the_whole():
    ledger = scan(transcript("u a u"), O200K, "anthropic")
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its parts are compared
        ledger.extend([*transcript("a"), user({"type": 5})])
    assert caught.value.args[1:3] == ("messages[4].content[0].type", 4)


# Digests


def leaves(value, path=()):
    """All strings in a message, with the way to them."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from leaves(inner, (*path, at))


def altered(message, path, text):
    message = copy.deepcopy(message)
    at = message
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = text
    return message


# Keys that change neither count nor digest: texts, ids, names, pictures, types and roles do.
SILENT = {
    "anthropic": {"media_type"},  # of a picture whose data is the same
    "openai_chat": set(),
    "openai_responses": set(),
    "bedrock": {"format"},
    "gemini": {"mimeType"},
}


@generated
def test_a_digest_changes_with_any_text_id_name_or_picture(provider):
    missed = set()
    for message in transcript(EVERYTHING[provider], provider):
        for path, text in leaves(message):
            if path[-1] in {"type", "role"}:
                continue
            for other in (f"{text}x", text[:-1]):
                if digest(altered(message, path, other), provider) == digest(message, provider):
                    missed.add(path[-1])
    assert missed == SILENT[provider]


@generated
def test_an_equal_copy_has_an_equal_digest(provider):
    first, second = (scan(transcript(EVERYTHING[provider], provider), O200K, provider) for _ in range(2))
    copied = scan(json.loads(json.dumps(transcript(EVERYTHING[provider], provider))), O200K, provider)
    assert whole(first) == whole(second) == whole(copied)


def test_a_digest_does_not_depend_on_the_counter_or_the_neighbours():
    one, many = transcript("a:9"), transcript("u a:9 u")
    digests = {scan(one, counter, "anthropic").digest_of(0) for counter in (O200K, Counter.chars())}
    assert {*digests, digest(one[0])} == {digest(transcript("a:9")[0])}
    assert scan([many[0], *one], O200K, "anthropic").digest_of(1) == digest(one[0])


def test_texts_that_differ_in_their_borders_alone_have_other_digests():
    def text(*words):
        return user(*({"type": "text", "text": word} for word in words))

    def named(ref, name):
        return {"role": "assistant", "content": [{"type": "tool_use", "id": ref, "name": name, "input": {}}]}

    digests = [digest(m) for m in (text("ab"), text("a", "b"), text("ab", ""), text("", "ab"), text("b", "a"))]
    digests += [digest(m) for m in (named("ab", "c"), named("a", "bc"), named("", "abc"), named("abc", ""))]
    digests += [digest(m) for m in (result("ab"), result([{"type": "text", "text": t} for t in "ab"]), result("b"))]
    assert len({*digests}) == len(digests)


def test_found_messages_are_those_with_the_digests():
    ledger = scan([*transcript("u:3 a:5"), *transcript("u:3"), *transcript("a")], O200K, "anthropic")
    wanted = [ledger.digest_of(0), ledger.digest_of(3), "no digest"]
    assert ledger.find(set(wanted)) == [0, 2, 3]
    assert ledger.find(set()) == []


def test_a_position_out_of_range_is_refused():
    ledger = scan(transcript("u a"), O200K, "anthropic")
    for look_up in (ledger.digest_of, ledger.id_of):
        with pytest.raises(ValueError, match="position 2 is out of range, the ledger has 2"):
            look_up(2)
        with pytest.raises(OverflowError):
            look_up(-1)


# Input of every kind


@generated
def test_messages_are_not_mutated(provider):
    @settings(max_examples=50)
    @given(messages(provider, unknown=True))
    def holds(transcript):
        before = deep_hash(transcript)
        scan(transcript, O200K, provider).extend(transcript)
        _core.detect(transcript)
        assert deep_hash(transcript) == before

    holds()


def wrapped(value, mapping, sequence):
    """Return the value with other mapping and sequence types."""
    if isinstance(value, dict):
        return mapping({key: wrapped(inner, mapping, sequence) for key, inner in value.items()})
    if isinstance(value, list):
        return sequence(wrapped(inner, mapping, sequence) for inner in value)
    return value


class Text(str):
    __slots__ = ()


@generated
@pytest.mark.parametrize(
    ("mapping", "sequence"),
    [
        (types.MappingProxyType, tuple),
        (collections.UserDict, list),
        (collections.OrderedDict, type("Sequence", (list,), {})),
        (collections.ChainMap, tuple),
        (type("Dict", (dict,), {}), list),
    ],
)
def test_tuples_and_mappings_read_like_lists_and_dicts(provider, mapping, sequence):
    plain = transcript(EVERYTHING[provider], provider)
    expected = whole(scan(plain, O200K, provider))
    assert whole(scan(wrapped(plain, mapping, sequence), O200K, provider)) == expected


def test_a_subclass_of_str_reads_like_its_text():
    plain = {"role": Text("user"), "content": [{"type": Text("text"), "text": Text("naïve")}]}
    assert whole(scan([plain], O200K)) == whole(scan([user({"type": "text", "text": "naïve"})], O200K))


@pytest.mark.parametrize(
    ("spec", "provider"),
    [
        (EVERYTHING["anthropic"], "anthropic"),
        (EVERYTHING["openai_chat"], "openai_chat"),
        (EVERYTHING["openai_responses"].removeprefix("s:3 "), "openai_responses"),
        ("c1 r1", "anthropic"),
        ("u c1 r1", "openai_chat"),
        ("u", "openai_responses"),
    ],
)
def test_the_shape_is_seen_from_the_messages(spec, provider):
    assert _core.detect(transcript(spec, provider)) == provider
    assert scan(transcript(spec, provider), O200K).provider == provider


def test_where_several_shapes_fit_none_is_seen_and_chat_is_taken():
    plain = transcript("u a")
    assert (_core.detect([]), _core.detect(plain), scan(plain, O200K).provider) == (None, None, "openai_chat")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\b\f"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('aé"\\\n😀', max_size=3), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_a_block_that_nobody_knows_is_one_opaque_row_of_its_json(value):
    block = {"type": "hologram", "value": value, "id": "hg"}
    for message, provider in (
        (user(block), "anthropic"),
        (user(block), "openai_chat"),
        (user(block), "openai_responses"),
        (block, "openai_responses"),
    ):
        ledger = scan([message], O200K, provider)
        assert (ledger.kind.tolist(), ledger.names[0], ledger.pair.tolist()) == ([Kind.OPAQUE], ["hologram"], [-1])
        assert ledger.bytes.tolist() == [len(oracle.compact(block).encode())]
        assert ledger.tokens.tolist() == [O200K.count(oracle.compact(block))]


def test_roles_are_read_by_name():
    roles = ["user", "assistant", "system", "developer", "tool", "function", "robot"]
    chat = [{"role": role, "content": "x", "tool_call_id": "a", "name": "f"} for role in roles]
    expected = [Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.SYSTEM, Role.TOOL, Role.TOOL, Role.OTHER]
    assert scan(chat, O200K, "openai_chat").role.tolist() == expected


# Pictures

SIZES = [(200, 200), (1, 1), (28, 29), (1000, 1000), (1092, 1092), (1920, 1080), (3840, 2160), (1, 8000), (8000, 80)]


def picture(data, kind="anthropic"):
    if kind == "anthropic":
        return user({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
    if kind == "bedrock":
        return user({"image": {"format": "png", "source": {"bytes": data}}})
    if kind == "gemini":
        return {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": data}}]}
    url = f"data:image/png;base64,{data}"
    part = {"type": "image_url", "image_url": {"url": url}}
    return user(part if kind == "openai_chat" else {"type": "input_image", "image_url": url})


def test_the_oracle_prices_pictures_as_documented():
    assert [oracle.patches(*size) for size in SIZES] == [64, 1, 2, 1296, 1521, 1560, 1560, 56, 56]


@generated
@pytest.mark.parametrize("size", SIZES)
def test_a_picture_costs_its_patches(provider, size):
    ledger = scan([picture(png(*size), provider)], O200K, provider)
    assert (ledger.kind.tolist(), ledger.tokens.tolist()) == ([Kind.IMAGE], [oracle.patches(*size)])


@settings(max_examples=60)
@given(st.integers(1, 9_000), st.integers(1, 9_000))
def test_a_picture_of_any_size_costs_its_patches(width, height):
    data = png(width, 1)[:-4]  # only the header is read: another height needs no other pixels
    import base64

    raw = base64.b64decode(data + "=" * (-len(data) % 4))
    forged = base64.b64encode(raw[:20] + height.to_bytes(4) + raw[24:]).decode()
    assert scan([picture(forged)], O200K, "anthropic").tokens.tolist() == [oracle.patches(width, height)]


@generated
def test_a_picture_never_costs_its_base64(provider):
    small, large = png(300, 200), png(300, 200) + "A" * 400_000
    ledgers = [scan([picture(data, provider)], O200K, provider) for data in (small, large)]
    assert [ledger.tokens.tolist() for ledger in ledgers] == [[88], [88]]
    assert [[*ledger.bytes, *ledger.chars, *ledger.utf16] for ledger in ledgers] == [[0, 0, 0]] * 2
    assert ledgers[0].digest != ledgers[1].digest


def test_a_picture_in_a_result_costs_its_patches_too():
    parts = [{"type": "text", "text": "seen"}, picture(png(300, 200))["content"][0]]
    ledger = scan([result(parts)], O200K, "anthropic")
    assert (ledger.kind.tolist(), ledger.tokens.tolist()) == ([Kind.RESULT], [O200K.count("seen") + 88])


@pytest.mark.parametrize("data", ["", "====", "no base64 at all", "iVBORw0KGgo", "AAAA", "ééé"])
def test_a_picture_that_cannot_be_read_costs_a_full_one(data):
    assert scan([picture(data)], O200K, "anthropic").tokens.tolist() == [oracle.UNKNOWN_IMAGE]


# Unreadable input


class Sdk:
    """As an SDK answers: an object with the fields of a message."""

    def __init__(self, **fields):
        vars(self).update(fields)


class Broken(collections.UserDict):
    def __contains__(self, key):
        raise RuntimeError("out of order")


def nested(depth, wrap):
    value = None
    for _ in range(depth):
        value = wrap(value)
    return value


def cycle(wrap):
    value = wrap(None)
    value[0 if isinstance(value, list) else "a"] = value
    return value


def as_list(value):
    return [value]


def as_dict(value):
    return {"a": value}


ASK = {"role": "user", "content": "hi"}
BAD = {
    "a string": ("hi", ""),
    "null": (None, ""),
    "a number": (7, ""),
    "a list": ([ASK], ""),
    "bytes": (b"hi", ""),
    "a set": ({"role"}, ""),
    "an SDK's message": (Sdk(role="user", content="hi"), ""),
    "no role": ({"content": "hi"}, ".role"),
    "null for a role": ({"role": None, "content": "hi"}, ".role"),
    "a number for a role": ({"role": 3, "content": "hi"}, ".role"),
    "a number for content": ({"role": "user", "content": 7}, ".content"),
    "true for content": ({"role": "user", "content": True}, ".content"),
    "bytes for content": ({"role": "user", "content": b"hi"}, ".content"),
    "a set for content": ({"role": "user", "content": {"hi"}}, ".content"),
    "a block for content": ({"role": "user", "content": {"type": "text", "text": "hi"}}, ".content"),
    "an SDK's content": ({"role": "user", "content": Sdk(type="text")}, ".content"),
    "a block without a type": (user({"type": "text", "text": "ok"}, {"text": "hi"}), ".content[1].type"),
    "a number for a type": (user({"type": 5}), ".content[0].type"),
    "a cycle": (user({"type": "hologram", "a": cycle(as_dict)}), ".content[0]"),
    "a cycle of lists": (user({"type": "hologram", "a": cycle(as_list)}), ".content[0]"),
    "a set in a block": (user({"type": "hologram", "a": {1}}), ".content[0]"),
    "bytes in a block": (user({"type": "hologram", "a": b"1"}), ".content[0]"),
    "an SDK's part in a block": (user({"type": "hologram", "a": Sdk(b=1)}), ".content[0]"),
    "dicts 100,000 deep": (lambda: user({"type": "hologram", "a": nested(10**5, as_dict)}), ".content[0]"),
    "lists 1,000 deep": (lambda: user({"type": "hologram", "a": nested(1_000, as_list)}), ".content[0]"),
    "dicts one too deep": (lambda: user({"type": "hologram", "a": nested(200, as_dict)}), ".content[0]"),
}
BAD_FOR_ONE = {
    "anthropic": {
        "a string for a block": (user("hi"), ".content[0]"),
        "content that holds itself": ({"role": "user", "content": cycle(as_list)}, ".content[0]"),
        "an SDK's block": (user(Sdk(type="text", text="hi")), ".content[0]"),
        "a set for an input": (call({"a": {1}}), ".content[0]"),
        "an SDK's input": (call(Sdk(a=1)), ".content[0]"),
        "a cycle for an input": (call(cycle(as_dict)), ".content[0]"),
        "a million lists, one in the other": (lambda: call(nested(10**6, as_list)), ".content[0]"),
        "a deep input": (lambda: call(nested(100_000, as_dict)), ".content[0]"),
        "a set for a result": (result({"ok"}), ".content[0]"),
        "a cycle for a result": (result(cycle(as_list)), ".content[0]"),
        "a deep result": (lambda: result(nested(100_000, as_list)), ".content[0]"),
    },
    "openai_chat": {
        "a number for a result": ({"role": "tool", "tool_call_id": "a", "content": 7}, ".content"),
        "a string for a part": (user("hi"), ".content[0]"),
    },
    "openai_responses": {
        "neither role nor type": ({}, ".role"),
        "a set in an item": ({"type": "hologram", "a": {1}}, ""),
        "a deep item": (lambda: {"type": "hologram", "a": nested(100_000, as_list)}, ""),
        "a deep output": (
            lambda: {"type": "function_call_output", "call_id": "a", "output": nested(100_000, as_list)},
            "",
        ),
    },
    "bedrock": {
        "a string": ("hi", ""),
        "no role": ({"content": [{"text": "hi"}]}, ".role"),
        "a string for content": (ASK, ".content"),
        "a string for a block": (user("hi"), ".content[0]"),
        "a deep input": (lambda: user({"toolUse": {"input": nested(100_000, as_dict)}}), ".content[0]"),
        "a cycle for a result": (user({"toolResult": {"content": [{"json": cycle(as_list)}]}}), ".content[0]"),
    },
    "gemini": {
        "null": (None, ""),
        "a string for parts": ({"role": "user", "parts": "hi"}, ".parts"),
        "a string for a part": ({"role": "user", "parts": ["hi"]}, ".content[0]"),
        "a deep response": (
            lambda: {"parts": [{"functionResponse": {"name": "f", "response": nested(100_000, as_dict)}}]},
            ".content[0]",
        ),
    },
}


def bad_input():
    for provider in PROVIDERS:
        common = {} if provider in {"bedrock", "gemini"} else BAD
        for name, (message, path) in (common | BAD_FOR_ONE[provider]).items():
            yield pytest.param(message, path, provider, id=f"{provider}-{name}")


@pytest.mark.parametrize(("message", "path", "provider"), [*bad_input()])
def test_what_cannot_be_read_is_named_at_once_and_left_alone(message, path, provider):
    ask = transcripts.transcript("u", provider)[0]
    transcript = [ask, message() if callable(message) else message, ask]
    before = deep_hash(transcript)
    O200K.count("the encoding is loaded once")
    times = []
    for _ in range(3):
        start = time.thread_time()  # of work: what else runs on the machine is none of it
        with pytest.raises(MessageError) as caught:
            scan(transcript, O200K, provider)
        times.append(time.thread_time() - start)
    error = caught.value
    assert (error.path.removeprefix("messages[1]"), error.index) == (path, 1)
    assert error.args[0]
    assert error.hint
    assert str(error) == f"{error.path}: {error.args[0]}\n  hint: {error.hint}"
    assert min(times) < 0.01
    assert deep_hash(transcript) == before


@pytest.mark.parametrize("depth", [1, 100, 190])
def test_what_is_nested_less_deeply_than_the_limit_is_read(depth):
    for value in (nested(depth, as_list), nested(depth, as_dict)):
        assert scan([call(value)], O200K, "anthropic").bytes.tolist() == [len("f" + oracle.compact(value))]


def test_what_is_no_list_of_messages_is_a_type_error():
    one = {"role": "user", "content": "hi"}
    for wrong in ("hi", one, None, 5, iter([one]), {"a"}, (m for m in [one]), collections.deque([one]), Sdk()):
        for read in (lambda w: scan(w, O200K, "anthropic"), lambda w: scan(w, O200K), _core.detect):
            with pytest.raises(TypeError, match="^messages must be a list"):
                read(wrong)


def test_an_unknown_provider_is_told_the_known_ones():
    with pytest.raises(ValueError, match="known are anthropic, openai_chat, openai_responses"):
        scan([], O200K, "cohere")


def test_what_an_object_raises_is_said_and_goes_no_further():
    with pytest.raises(MessageError, match=r"messages\[0\]: cannot be read: RuntimeError: out of order"):
        scan([Broken(ASK)], O200K, "anthropic")


# Each field with content changes the count or the digest

PHOTO = png(300, 200) + "A" * 40_000
PDF = {"type": "base64", "media_type": "application/pdf", "data": "A" * 40_000}


def base64_url(kind="application/pdf"):
    return f"data:{kind};base64,{PHOTO}"


@pytest.mark.parametrize(
    ("message", "provider"),
    [
        (result([{"type": "document", "source": PDF}]), "anthropic"),
        (item("computer_call_output", output={"image_url": base64_url("image/png")}), "openai_responses"),
        ({"type": "image_generation_call", "id": "a", "result": PHOTO}, "openai_responses"),
        (user({"type": "input_file", "file_data": base64_url()}), "openai_responses"),
        (user({"type": "file", "file": {"file_data": base64_url()}}), "openai_chat"),
        (user({"type": "input_audio", "input_audio": {"data": PHOTO, "format": "wav"}}), "openai_chat"),
    ],
    ids=["document in a result", "screenshot", "generated image", "input_file", "file", "input_audio"],
)
def test_media_never_cost_their_base64(message, provider):
    assert scan([message], O200K, provider).total < 3_000


@pytest.mark.parametrize(
    ("message", "provider"),
    [
        (item("apply_patch_call", operation={"diff": "one two three"}), "openai_responses"),
        (item("tool_search_output", tools=[{"name": "one two three"}]), "openai_responses"),
        ({"role": "assistant", "content": None, "refusal": "one two three"}, "openai_chat"),
        (user({"type": "document", "title": "one two three", "source": {"type": "url", "url": "a"}}), "anthropic"),
        (user({"type": "document", "context": "one two three", "source": PDF}), "anthropic"),
        (user({"document": {"name": "d", "source": {"content": [{"text": "one two three"}]}}}), "bedrock"),
        (user({"document": {"name": "d", "context": "one two three", "source": {"bytes": "QUI="}}}), "bedrock"),
        *((thinks(**{name: "one two three"}), "openai_chat") for name in REASONING),
        (thinks(reasoning_details=[{"type": "reasoning.summary", "summary": "one two three"}]), "openai_chat"),
        (thinks(thinking_blocks=[{"type": "thinking", "thinking": "one two three"}]), "openai_chat"),
    ],
    ids=itertools.count(),
)
def test_what_is_sent_costs_something(message, provider):
    less = json.loads(json.dumps(message).replace("one two three", ""))
    assert scan([message], O200K, provider).total >= scan([less], O200K, provider).total + 2


@pytest.mark.parametrize(
    ("message", "provider"),
    [
        (user({"type": "image", "source": {"type": "url", "url": "other"}}), "anthropic"),
        (user({"type": "image", "source": {"type": "file", "file_id": "other"}}), "anthropic"),
        (user({"type": "document", "source": {"type": "url", "url": "other"}}), "anthropic"),
        (user({"type": "document", "title": "other", "source": PDF}), "anthropic"),
        (user({"type": "mcp_tool_use", "id": "a", "name": "f", "input": {}, "server_name": "other"}), "anthropic"),
        ({"role": "user", "name": "other", "content": "x"}, "openai_chat"),
        ({"role": "assistant", "content": None, "refusal": "other"}, "openai_chat"),
        (user({"type": "input_image", "file_id": "other"}), "openai_responses"),
        (item("apply_patch_call", operation={"diff": "other"}), "openai_responses"),
        (item("function_call", id="other", name="f", arguments="{}"), "openai_responses"),
        (user({"type": "document", "context": "other", "source": PDF}), "anthropic"),
        (user({"document": {"name": "d", "source": {"content": [{"text": "other"}]}}}), "bedrock"),
        (user({"document": {"name": "d", "context": "other", "source": {"text": "x"}}}), "bedrock"),
        (user({"document": {"name": "d", "source": {"s3Location": {"uri": "s3://other"}}}}), "bedrock"),
        (user({"image": {"format": "png", "source": {"s3Location": {"uri": "s3://other"}}}}), "bedrock"),
        (user({"image": {"source": {"s3Location": {"uri": "s3://a", "bucketOwner": "other"}}}}), "bedrock"),
        *((thinks(**{name: "other"}), "openai_chat") for name in REASONING),
        (thinks(reasoning_details=[{"type": "reasoning.text", "text": "other"}]), "openai_chat"),
        (thinks(reasoning_details=[{"type": "reasoning.encrypted", "data": "other"}]), "openai_chat"),
        (thinks(thinking_blocks=[{"type": "thinking", "thinking": "a", "signature": "other"}]), "openai_chat"),
    ],
    ids=itertools.count(),
)
def test_a_digest_sees_all_that_a_message_says(message, provider):
    changed = json.loads(json.dumps(message).replace("other", "another"))
    assert digest(changed, provider) != digest(message, provider)


@pytest.mark.parametrize("fields", [(name,) for name in (*REASONING, *REASONING_PARTS)] + [REASONING, REASONING_PARTS])
def test_reasoning_is_the_first_text_of_its_fields(fields):
    """Servers and gateways of one API write it under five names; what stands twice is sent once."""
    parts = [{"text": "one"}, {"summary": "two"}, {"thinking": "three"}]
    given = {name: "hm, a text" if name in REASONING else parts for name in fields}
    made = [ASK, thinks(**given) | {"content": "ok"}]
    read = scan(made, O200K)
    assert read.provider == "openai_chat"
    rows = oracle.rows(made, "openai_chat")
    assert read.kind.tolist() == [row.kind for row in rows] == [Kind.TEXT, Kind.THINKING, Kind.TEXT]
    assert read.tokens.tolist() == [oracle.tokens(row, O200K.count) for row in rows]
    empty = thinks(**dict.fromkeys(REASONING), **{name: [] for name in REASONING_PARTS})
    assert scan([empty | {"content": "ok"}], O200K).kind.tolist() == [Kind.TEXT]


CSV = "".join(f"row {n},größer,{n * 7}\n" for n in range(300))
CODED = base64.b64encode(CSV.encode()).decode()


@pytest.mark.parametrize(
    ("message", "provider"),
    [
        (user({"type": "file", "file": {"file_data": f"data:text/csv;base64,{CODED}"}}), "openai_chat"),
        (user({"type": "input_file", "file_data": f"data:text/csv;base64,{CODED}"}), "openai_responses"),
        (user({"document": {"format": "csv", "name": "d", "source": {"bytes": CODED}}}), "bedrock"),
        (user({"document": {"format": "csv", "name": "d", "source": {"bytes": CSV.encode()}}}), "bedrock"),
        ({"parts": [{"inlineData": {"mimeType": "text/csv", "data": CODED}}]}, "gemini"),
        ({"parts": [{"inline_data": {"mime_type": "text/csv", "data": CSV.encode()}}]}, "gemini"),
        (user({"type": "document", "source": {"type": "base64", "data": CODED}}), "anthropic"),
        (result([{"type": "document", "source": {"type": "base64", "data": CODED}}]), "anthropic"),
    ],
    ids=itertools.count(),
)
def test_a_file_of_text_counts_its_words(message, provider):
    """It counted as pages of a PDF, about a tenth."""
    read = scan([message], O200K, provider)
    assert O200K.count(CSV) <= int(read.tokens.sum()) <= O200K.count(CSV) + 40
    assert read.request_bytes >= len(CODED)
    changed = json.dumps(message, default=lambda data: base64.b64encode(data).decode()).replace(CODED[:40], CODED[4:44])
    assert digest(json.loads(changed), provider) != read.digest_of(0)


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize("value", [Level.HIGH, np.float64(1.5), {True: 1}, {None: 1}, "\b\f"], ids=str)
def test_json_is_written_as_python_writes_it(value):
    block = {"type": "hologram", "value": value}
    sent = json.loads(oracle.compact(block))
    assert digest(user(block)) == digest(user(sent))
    assert scan([user(block)], O200K, "anthropic").bytes.tolist() == [len(oracle.compact(sent).encode())]


@pytest.mark.parametrize("value", [161988484045326.62, -161988484045326.62, 2.0**-1074, 9007199254740993.0, 5e22])
def test_a_float_between_two_shortest_texts_is_the_same_from_json(value):
    """.625 in a double: Python ends in the even digit, .62."""
    reader = _core.Reader(counter=O200K)
    reader.push(json.dumps([call({"n": value})]).encode())
    assert reader.finish()[1].digest == scan([call({"n": value})], O200K).digest


def test_numbers_too_long_to_print_are_refused_or_told_apart():
    """Python does not print an integer of more than 4,300 digits: ours are read as nothing."""
    assert digest(call({"n": 10**5_000})) != digest(call({"n": 10**5_001}))


def test_a_summary_of_reasoning_is_its_text():
    reasoning = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "one two"}]}
    assert scan([reasoning], O200K, "openai_responses").tokens.tolist() == [O200K.count("one two")]


def test_the_message_that_raises_is_the_one_named():
    with pytest.raises(MessageError) as caught:
        scan([user({"type": "text", "text": "hi"}), Broken(ASK)], O200K, "anthropic")
    assert (caught.value.path, caught.value.index) == ("messages[1]", 1)


def test_a_string_for_a_part_is_called_a_string():
    with pytest.raises(MessageError, match="is a string, expected a part"):
        scan([user("hi")], O200K, "openai_responses")


class Growing:
    """A key that adds to its dict while it is written."""

    def __init__(self, of):
        self.of = of

    def __str__(self):
        self.of[len(self.of)] = None
        return "key"


def test_a_dict_that_changes_while_it_is_read_is_an_error_not_a_panic():
    """PanicException is no Exception: it would pass every handler of an agent."""
    growing = {}
    growing.update({Growing(growing): 1, "b": 2})
    caught = None
    try:
        scan([call(growing)], O200K, "anthropic")
    except BaseException as error:  # noqa: BLE001 - that is the point
        caught = error
    assert isinstance(caught, Exception)


@pytest.mark.parametrize("spec", ["s u c1 r1", "s t a", "s c1 r1"])
def test_items_without_a_role_give_the_shape_away_behind_system_text_too(spec):
    assert _core.detect(transcript(spec, "openai_responses")) == "openai_responses"
