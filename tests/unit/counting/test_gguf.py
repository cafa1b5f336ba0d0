"""GGUF files count as the `tokenizer.json` and the `.model` that they were made of."""

import json
import random
import struct

import pytest
from test_counter_files import DEEPSEEK3, GPT2, LLAMA3, O200K, QWEN2, TEKKEN, generated, model, ranks, split_by  # noqa: F401
from test_sentencepiece import BYTES, model_file, random_scores, texts_of

from support.scale import scaled
from trimtab import Counter

U32, I32, F32, BOOL, STRING, LIST, U64 = 4, 5, 6, 7, 8, 9, 10
PACKED = {U32: "<I", I32: "<i", F32: "<f", BOOL: "<?", U64: "<Q"}


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, of):
    if isinstance(of, list):
        return struct.pack("<IQ", kind, len(of)) + b"".join(value(kind, one) for one in of)
    return text(of) if kind == STRING else struct.pack(PACKED[kind], of)


def gguf(path, keys, *, version=3, weights=b"weights" * 1000):
    """A file with these keys: kinds and values by name."""
    data = b"GGUF" + struct.pack("<IQQ", version, 7, len(keys))
    for name, (kind, of) in keys.items():
        data += text(name) + struct.pack("<I", LIST if isinstance(of, list) else kind) + value(kind, of)
    path.write_bytes(data + weights)
    return path


def pairs_of_bytes(model, pre, /, **changes):  # noqa: F811 - the fixture's value
    tokens = [*model["vocab"], "<|end|>"]
    merges = [" ".join(pair) for pair in model["merges"]]
    return {
        "general.architecture": (STRING, "llama"),
        "llama.context_length": (U32, 8192),
        "tokenizer.ggml.model": (STRING, "gpt2"),
        "tokenizer.ggml.pre": (STRING, pre),
        "tokenizer.ggml.tokens": (STRING, tokens),
        "tokenizer.ggml.token_type": (I32, [1] * (len(tokens) - 1) + [3]),
        "tokenizer.ggml.merges": (STRING, merges),
    } | {f"tokenizer.ggml.{name}": pair for name, pair in changes.items()}


def pieces(scores, /, **changes):
    tokens = ["<unk>", "<s>", *BYTES, *scores]
    kinds = [2, 3, *[6] * 256, *[1] * len(scores)]
    return {
        "tokenizer.ggml.model": (STRING, "llama"),
        "tokenizer.ggml.tokens": (STRING, tokens),
        "tokenizer.ggml.scores": (F32, [0.0] * 258 + list(scores.values())),
        "tokenizer.ggml.token_type": (I32, kinds),
    } | {f"tokenizer.ggml.{name}": pair for name, pair in changes.items()}


@pytest.mark.parametrize(
    ("pre", "patterns"),
    [
        ("llama-bpe", [LLAMA3]),
        ("glm4", [LLAMA3]),
        ("qwen2", [QWEN2]),
        ("tekken", [TEKKEN]),
        ("gpt-4o", [O200K]),
        ("deepseek-v3", DEEPSEEK3),
    ],
    ids=["llama-bpe", "glm4", "qwen2", "tekken", "gpt-4o", "deepseek-v3"],
)
def test_pairs_of_bytes_count_as_in_the_tokenizer_json(pre, patterns, model, tmp_path):  # noqa: F811
    ours = Counter.from_file(gguf(tmp_path / "model.gguf", pairs_of_bytes(model, pre)))
    file = {"pre_tokenizer": split_by(*patterns), "model": model | {"ignore_merges": pre in {"llama-bpe", "tekken"}}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    theirs, texts = Counter.from_file(tmp_path / "tokenizer.json"), generated(11, 1_000)
    assert ours.count_many(texts).tolist() == theirs.count_many(texts).tolist()
    assert ours.engine == "trimtab model.gguf"


def test_gpt2_and_digits_one_by_one_are_split_as_named(model, tmp_path):  # noqa: F811
    (tmp_path / "tokenizer.json").write_text(json.dumps({"pre_tokenizer": GPT2, "model": model}))
    theirs, texts = Counter.from_file(tmp_path / "tokenizer.json"), generated(12, 500)
    ours = Counter.from_file(gguf(tmp_path / "model.gguf", pairs_of_bytes(model, "gpt-2")))
    assert ours.count_many(texts).tolist() == theirs.count_many(texts).tolist()
    digits = Counter.from_file(gguf(tmp_path / "digits.gguf", pairs_of_bytes(model, "starcoder")))
    assert digits.engine == "tokenizers digits.gguf"
    assert digits.count("1234") == 4


@pytest.mark.parametrize("prefix", [True, False])
def test_pairs_of_characters_count_as_in_the_model(prefix, tmp_path):
    rng = random.Random(f"gguf {prefix}")
    for n in range(scaled(20)):
        scores = random_scores(rng)
        path = gguf(tmp_path / f"{n}.gguf", pieces(scores, add_space_prefix=(BOOL, prefix)))
        theirs = Counter.from_file(model_file(tmp_path / f"{n}.model", scores, normalizer={3: int(prefix)}.items()))
        ours, texts = Counter.from_file(path), texts_of(rng, 100)
        assert ours.count_many(texts).tolist() == theirs.count_many(texts).tolist()
        assert ours.engine == f"trimtab {path.name}"


def test_what_is_not_known_is_said(model, tmp_path):  # noqa: F811
    def refused(keys, match, **options):
        with pytest.raises(ValueError, match=match):
            Counter.from_file(gguf(tmp_path / "model.gguf", keys, **options))

    scores = {"a": -1.0}
    refused(pairs_of_bytes(model, "some"), 'splits texts as "some"')
    refused(pairs_of_bytes(model, "gpt-2", model=(STRING, "bert")), 'of the kind "bert"')
    refused(pairs_of_bytes(model, "gpt-2"), "version 1: 2 and 3 are known", version=1)
    refused(pairs_of_bytes(model, "gpt-2", merges=(STRING, [])), "lists no pairs")
    refused({}, "without a vocabulary")
    kinds = [4 if set(name) == {"Ġ"} else 1 for name in model["vocab"]] + [3]
    refused(pairs_of_bytes(model, "gpt-2", token_type=(I32, kinds)), "spaces are whole texts")
    refused(pieces(scores, remove_extra_whitespaces=(BOOL, True)), "rewrites texts")
    refused(pieces(scores, token_type=(I32, [4] + [2] * 300)), "has no tokens for bytes")
    whole = pieces(scores | {"[REF]": 0.0})
    whole["tokenizer.ggml.token_type"][1][-1] = 4
    refused(whole, "puts spaces behind whole texts")


def test_damaged_files_are_refused_or_counted_and_nothing_breaks(tmp_path):
    whole = gguf(tmp_path / "model.gguf", pieces(random_scores(random.Random("gguf"))), weights=b"").read_bytes()
    rng, refused = random.Random("bytes of gguf"), 0
    for n in range(scaled(300)):
        data = bytearray(whole)
        if n % 3:
            at = rng.randrange(4, len(data))
            data[at] = rng.randrange(256)
        else:
            data = data[: rng.randrange(4, len(data))]
        path, said = tmp_path / "damaged.gguf", ""
        path.write_bytes(data)
        try:
            assert Counter.from_file(path).count("abc") > 0
        except ValueError as error:
            said = str(error)
        assert not said or str(path) in said
        refused += bool(said)
    assert refused > 10
    endless = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", LIST, STRING, 2**60)
    deep = (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", LIST) + struct.pack("<IQ", LIST, 1) * 50
    )
    long = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", LIST, 0, 1 << 24) + bytes(1 << 24)
    for data in (endless, deep, long, b"GGUF"):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="cut off or damaged"):
            Counter.from_file(path)
