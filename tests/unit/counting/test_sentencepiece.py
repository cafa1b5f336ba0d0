"""Vocabularies of SentencePiece count by its definition; the package itself is asked by `make bench-open`."""

import json
import random
import struct

import pytest
from tokenizers import Tokenizer

import oracle
from oracles.pieces import Rewriting, charsmap
from support.scale import scaled
from trimtab import Counter

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
LETTERS = ["a", "b", "c", "▁", "é", "中", "文", "\n", "1"]
WORDS = [*LETTERS, " ", "  ", "ab", "abc", " ab", "x", "\U0001f600", "[REF]", "[REF", "<0x41>", "<s>", "\x00"]


def number(value):
    found = b""
    while value > 0x7F:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def field(of, value):
    """A field of protobuf."""
    if isinstance(value, int):
        return number(of << 3) + number(value)
    if isinstance(value, float):
        return number(of << 3 | 5) + struct.pack("<f", value)
    return number(of << 3 | 2) + number(len(value)) + value


def model_file(path, scores, whole=(), trainer=(), normalizer=(), *, unused=()):
    """A file as SentencePiece writes it; `trainer` and `normalizer` replace fields of these settings."""
    pieces = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL)]
    pieces += [(text, 0.0, BYTE) for text in BYTES] if dict(trainer).get(35, 1) else []
    pieces += [(text, 0.0, USER_DEFINED) for text in whole]
    pieces += [(text, score, UNUSED if text in unused else NORMAL) for text, score in scores.items()]
    data = b"".join(
        field(1, field(1, text.encode()) + field(2, score) + field(3, kind)) for text, score, kind in pieces
    )
    data += field(2, b"".join(field(*pair) for pair in ({3: 2, 24: 0, 35: 1} | dict(trainer)).items()))
    data += field(3, b"".join(field(*pair) for pair in ({1: b"identity", 3: 1, 4: 0} | dict(normalizer)).items()))
    path.write_bytes(data)
    return path


def random_scores(rng):
    """Pieces and their scores: some are made of others, some cannot be reached, some have the same score."""
    made = {letter for letter in LETTERS if rng.random() < 0.8}
    while len(made) < 40:
        made.add("".join(rng.choices(LETTERS, k=rng.randrange(2, 5))))
    some = sorted(made)
    rng.shuffle(some)
    return {text: -float(place // rng.choice([1, 1, 3])) for place, text in enumerate(some)}


def texts_of(rng, count):
    texts = ["".join(rng.choices(WORDS, k=rng.randrange(20))) for _ in range(count)]
    return [*texts, "".join(rng.choices(WORDS, k=400)), "ab" * 200, " " * 120, "中文" * 90, ""]


def keeps_its_ends(counter, text, count):
    """A text of `count` tokens is cut to its first and its last one; one of two stays whole."""
    head, tail = counter.truncate_tokens(text, 1, 1)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert count > 2 or head + tail == text


@pytest.mark.parametrize("prefix", [True, False])
def test_a_model_counts_by_the_definition(prefix, tmp_path):
    rng = random.Random(f"models {prefix}")
    for n in range(scaled(60)):
        scores, whole = random_scores(rng), rng.choice([(), ("[REF]", "[REF]2", "bc")])
        path = model_file(tmp_path / f"{n}.model", scores, whole, normalizer={3: int(prefix)}.items())
        ours, texts = Counter.from_file(path), texts_of(rng, 40)
        counts = [oracle.pieces(text, scores, whole, prefix=prefix) for text in texts]
        assert [ours.count(text) for text in texts] == counts == ours.count_many(texts).tolist(), path.name
        assert ours.engine == f"trimtab {path.name}"
        for text, count in zip(texts[:10], counts, strict=False):
            keeps_its_ends(ours, text, count)


def test_a_model_that_rewrites_texts_counts_by_the_definition(tmp_path):
    rng = random.Random("rewritten")
    for n in range(scaled(40)):
        scores, rules = random_scores(rng), {"é": "ab", "文": "", "\n": " ", "中1": "a b", "x": " "}
        strips, suffix, prefix = rng.random() < 0.5, rng.random() < 0.3, rng.random() < 0.7
        settings = {2: charsmap(rules), 3: int(prefix), 4: int(strips)}
        path = model_file(tmp_path / f"{n}.model", scores, (), {24: int(suffix)}.items(), settings.items())
        rewriting, texts = Rewriting(rules, (), prefix, suffix, strips), texts_of(rng, 40)
        counts = [oracle.pieces(rewriting(text), scores, prefix=False) for text in texts]
        assert Counter.from_file(path).count_many(texts).tolist() == counts


def merges_of(scores):
    """The merges of a tokenizer.json: all pairs of pieces that are a piece, by score."""
    pairs = []
    for text in sorted((text for text in scores if len(text) > 1), key=lambda text: -scores[text]):
        splits = [(text[:at], text[at:]) for at in range(1, len(text))]
        pairs += [split for split in splits if all(part in scores for part in split)]
    return pairs


REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
PREPEND = {"type": "Prepend", "prepend": "▁"}
METASPACE = {"type": "Metaspace", "replacement": "▁", "split": False}
STEPS = {
    "Llama 2": ({"type": "Sequence", "normalizers": [PREPEND, REPLACE]}, None),
    "Gemma": (
        REPLACE,
        {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
    ),
    "Mistral": (None, METASPACE | {"prepend_scheme": "first"}),
    "never": (None, METASPACE | {"prepend_scheme": "never"}),
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_a_tokenizer_json_of_characters_counts_as_in_tokenizers(steps, tmp_path):
    rng = random.Random("json")
    for n in range(scaled(40)):
        scores = random_scores(rng)
        vocabulary = {text: place for place, text in enumerate(["<unk>", *BYTES, *scores])}
        model = {"type": "BPE", "vocab": vocabulary, "merges": merges_of(scores), "byte_fallback": True}
        model |= {"unk_token": "<unk>", "fuse_unk": True}
        path = tmp_path / f"{n}.json"
        path.write_text(json.dumps({"normalizer": steps[0], "pre_tokenizer": steps[1], "model": model}))
        ours, theirs, texts = Counter.from_file(path), Tokenizer.from_file(str(path)), texts_of(rng, 60)
        expected = [len(found) for found in theirs.encode_batch(texts, add_special_tokens=False)]
        assert ours.count_many(texts).tolist() == expected == [ours.count(text) for text in texts]
        assert ours.engine == f"trimtab {path.name}", ours.explain()


STRIP = {"type": "Strip", "strip_left": True, "strip_right": False}
SPACES = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": ""}


@pytest.mark.parametrize("cuts", [STRIP, SPACES, REPLACE | {"content": ""}], ids=["strip", "spaces", "replace"])
def test_texts_that_may_lose_their_beginning_count_as_in_tokenizers(cuts, tmp_path):
    """The space in front of the first word alone is left out where the text began with something else."""
    rng, scores = random.Random("beginnings"), {"▁a": -1.0, "a": -2.0, "b": -3.0, "▁": -4.0}
    vocabulary = {text: place for place, text in enumerate(["<unk>", *BYTES, *scores])}
    model = {"type": "BPE", "vocab": vocabulary, "merges": merges_of(scores), "byte_fallback": True}
    splitter = METASPACE | {"prepend_scheme": "first"}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"normalizer": cuts, "pre_tokenizer": splitter, "model": model}))
    ours, theirs, texts = Counter.from_file(path), Tokenizer.from_file(str(path)), [" a", "a", *texts_of(rng, 40)]
    assert ours.count_many(texts).tolist() == [len(theirs.encode(text, add_special_tokens=False)) for text in texts]
    assert ours.engine.startswith("tokenizers")


def test_a_long_text_without_a_space_is_counted(tmp_path):
    scores = {"a": -3.0, "aa": -1.0, "aaaa": -2.0, "中": -4.0}
    ours = Counter.from_file(model_file(tmp_path / "some.model", scores, normalizer={3: 0}.items()))
    assert ours.count("a" * 400_000) == 100_000
    assert ours.count("a中" * 100_000) == 200_000
    assert ours.count("é" * 100_000) == 200_000
    growing = ours.incremental()
    for _ in range(100):
        growing.append("aaa")
    assert growing.tokens == 75


@pytest.mark.parametrize(
    ("trainer", "normalizer", "match"),
    [
        ({3: 3}, {}, "has words or characters alone"),
        ({35: 0}, {}, "has no tokens for bytes"),
        ({}, {2: b"rules"}, "whose rules for characters are damaged"),
    ],
    ids=["words", "unknown", "rules"],
)
def test_a_model_that_is_not_known_is_refused(trainer, normalizer, match, tmp_path):
    path = model_file(tmp_path / "some.model", {"a": -1.0}, (), trainer.items(), normalizer.items())
    with pytest.raises(ValueError, match=match):
        Counter.from_file(path)


def test_a_whole_text_with_a_space_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a whole text with a space"):
        Counter.from_file(model_file(tmp_path / "some.model", {"a": -1.0}, ["a b"]))


def test_damaged_models_are_refused_or_counted_and_nothing_breaks(tmp_path):
    scores = random_scores(random.Random("damaged"))
    whole = model_file(tmp_path / "some.model", scores, ["[REF]"]).read_bytes()
    rng, refused = random.Random("bytes"), 0
    for _ in range(scaled(400)):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        path = tmp_path / "damaged.model"
        path.write_bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
        said = ""
        try:
            assert Counter.from_file(path).count("abc 中") > 0
        except ValueError as error:
            said = str(error)
        assert not said or str(path) in said
        refused += bool(said)
    assert refused > 10
