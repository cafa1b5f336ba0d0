"""Vocabularies from files count as the library counts that the files are for."""

import base64
import itertools
import json
import random

import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings
from test_counter import TEXTS, tiktoken_counts  # noqa: F401

from support.scale import scaled
from trimtab import Counter

CASELESS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CASELESS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = CASELESS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORD = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
O200K = (
    rf"{_WORD}*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{CASELESS}?|{_WORD}+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{CASELESS}?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = O200K.replace(f"{CASELESS}?", "").replace("{1,3}", "")
R50K = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
DEEPSEEK3 = [
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ\u30a0-ヿ]+",
    (
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"""
        r""" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
]
_CASED = (
    "A-Za-z\xb5\xc0-\xd6\xd8-\xf6\xf8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376\u0377"
    "\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
    "\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
    "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d"
    "\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb"
    "\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128"
    "\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4"
    "\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf"
    "\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3"
    "\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943"
)
DEEPSEEK2 = [
    r"[\r\n]",
    rf"\s?[{_CASED}]+",
    "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
    r"\s+$",
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
    r"\p{N}",
]
DEEPSEEK_CODER = [
    r"[\r\n]",
    r"\s?\p{L}+",
    r"\s?\p{P}+",
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
]
NFC = {"type": "NFC"}
GPT2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
WORDS = [
    *"don't I'LL we'Ve 123456 1\u0663 naïve ΑΒΓ 日本語・カタ。 한국어 e\u0301 fooBarBAZ _x 3.14".split(),
    *(" ", "  ", "\t", "\n", "\r\n\n", " \n ", "!", "!!\n", "/", "//\n", "中", "a", "Z", "'s", "é", "\U0001f600"),
    *("x\x00\x01y", "\x00", "\u200b", "---- "),
]


@pytest.fixture(scope="module")
def ranks():
    return {token: rank for rank, token in enumerate(Counter("cl100k_base").vocabulary("cl100k_base"))}


@pytest.fixture(scope="module")
def rank_file(tmp_path_factory, ranks):
    path = tmp_path_factory.mktemp("ranks") / "some.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items()))
    return path


def byte_names():
    """How byte-level vocabularies write each byte."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {byte: chr(256 + n) for n, byte in enumerate(hidden)}


@pytest.fixture(scope="module")
def model(ranks):
    """The model of a tokenizer.json with the first 20,000 tokens of cl100k_base."""
    names = byte_names()
    name = {token: "".join(names[byte] for byte in token) for token in ranks}
    few = {token: rank for token, rank in ranks.items() if rank < 20_000}
    merges = []
    for token, rank in few.items():
        if len(token) > 1:
            parts = [bytes([byte]) for byte in token]
            while len(parts) > 2:
                pairs = [(few.get(a + b, rank), n) for n, (a, b) in enumerate(itertools.pairwise(parts))]
                best, at = min(pairs)
                assert best < rank
                parts[at : at + 2] = [parts[at] + parts[at + 1]]
            merges.append([name[part] for part in parts])
    vocab = {name[token]: rank for token, rank in few.items()}
    return {"type": "BPE", "vocab": vocab, "merges": merges, "byte_fallback": False, "ignore_merges": False}


def split_by(*patterns):
    steps = [{"type": "Split", "pattern": {"Regex": p}, "behavior": "Isolated", "invert": False} for p in patterns]
    return {"type": "Sequence", "pretokenizers": [*steps, GPT2 | {"use_regex": False}]}


def with_digits(*patterns):
    """The same, with a step that splits off each number."""
    *steps, last = split_by(*patterns)["pretokenizers"]
    return {"type": "Sequence", "pretokenizers": [*steps, {"type": "Digits", "individual_digits": True}, last]}


def matches_of(pattern):
    """The steps that keep the matches of a pattern alone."""
    steps = split_by(pattern)
    steps["pretokenizers"][0] |= {"behavior": "Removed", "invert": True}
    return steps


def tokenizer_file(folder, model, pre, normalizer=None):
    path = folder / "tokenizer.json"
    file = {"version": "1.0", "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": pre, "model": model}
    path.write_text(json.dumps(file | {"truncation": None, "padding": None, "post_processor": None, "decoder": None}))
    return path


def generated(seed, texts):
    rng = random.Random(seed)
    return ["".join(rng.choices(WORDS, k=rng.randrange(40))) for _ in range(texts)]


@pytest.mark.parametrize("pattern", [LLAMA3, QWEN2, TEKKEN, R50K], ids=["llama3", "qwen2", "tekken", "r50k"])
def test_ranks_with_a_pattern_count_as_in_tiktoken(pattern, ranks, rank_file):
    ours = Counter.from_file(rank_file, pattern=pattern)
    theirs = tiktoken.Encoding("some", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    @settings(max_examples=scaled(300))
    @given(TEXTS)
    def holds(text):
        assert ours.count(text) == len(theirs.encode_ordinary(text))

    holds()
    texts = generated(1, 2_000)
    assert ours.count_many(texts).tolist() == [len(theirs.encode_ordinary(text)) for text in texts]
    assert ours.engine == "trimtab some.tiktoken"


def test_ranks_that_no_merge_makes_count_as_in_tiktoken(tmp_path):
    """Llama 3 has such tokens: as a pretoken each is one token, inside of another none."""
    rng = random.Random(7)
    for number in range(scaled(40)):
        tokens = [bytes([byte]) for byte in range(256)]
        made = set()
        while len(made) < 40:
            made.add("".join(rng.choices(["a", "b", "ab", "é", "中", " "], k=rng.randrange(2, 5))).encode())
        tokens += sorted(made, key=lambda token: rng.random())
        path = tmp_path / f"{number}.tiktoken"
        path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens)))
        ours = Counter.from_file(path, pattern=LLAMA3)
        ranks = {token: rank for rank, token in enumerate(tokens)}
        theirs = tiktoken.Encoding("some", pat_str=LLAMA3, mergeable_ranks=ranks, special_tokens={})
        texts = [
            "".join(rng.choices(["a", "b", "ab", "é", "中", " ", "1"], k=rng.randrange(1, 30))) for _ in range(300)
        ]
        assert ours.count_many(texts).tolist() == [len(theirs.encode_ordinary(text)) for text in texts]


def tekken_file(path, ranks, special, **changes):
    """A file as Mistral writes it: more tokens than count, behind special ones that are not listed."""
    vocab = [{"rank": n, "token_bytes": base64.b64encode(token).decode()} for token, n in ranks.items()]
    config = {
        "pattern": TEKKEN,
        "default_vocab_size": len(vocab) - 500 + special,
        "default_num_special_tokens": special,
    }
    path.write_text(json.dumps({"config": config | changes, "vocab": vocab}))
    return path


def test_a_file_of_tekken_counts_as_in_tiktoken(ranks, tmp_path):
    few = {token: rank for token, rank in ranks.items() if rank < 20_000}
    ours = Counter.from_file(tekken_file(tmp_path / "tekken.json", few, 100))
    kept = {token: rank for token, rank in few.items() if rank < 19_500}
    theirs = tiktoken.Encoding("tekken", pat_str=TEKKEN, mergeable_ranks=kept, special_tokens={})
    texts = generated(3, 2_000)
    assert ours.count_many(texts).tolist() == [len(theirs.encode_ordinary(text)) for text in texts]
    assert ours.explain().endswith(": exact")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"default_vocab_size": None}, "without default_vocab_size"),
        ({"default_vocab_size": 10**15}, "with 20000 tokens of"),
        ({"pattern": r"\w+"}, "is not known"),
    ],
    ids=["no size", "too few tokens", "another pattern"],
)
def test_a_damaged_file_of_tekken_is_refused(changes, match, ranks, tmp_path):
    few = {token: rank for token, rank in ranks.items() if rank < 20_000}
    with pytest.raises(ValueError, match=match):
        Counter.from_file(tekken_file(tmp_path / "tekken.json", few, 100, **changes))


@pytest.mark.parametrize(
    ("pre", "normalizer"),
    [
        (split_by(LLAMA3), None),
        (split_by(QWEN2), NFC),
        (split_by(QWEN35), NFC),
        (matches_of(O200K), NFC),
        (split_by(*DEEPSEEK3), None),
        (split_by(*DEEPSEEK2), None),
        (with_digits(*DEEPSEEK2[:-1]), None),
        (with_digits(*DEEPSEEK_CODER), None),
        (GPT2, None),
    ],
    ids=["llama3", "qwen2", "qwen35", "minimax", "deepseek3", "deepseek2", "deepseek2 with digits", "coder", "gpt2"],
)
def test_a_tokenizer_json_counts_as_in_tokenizers(pre, normalizer, model, tmp_path):
    path = tokenizer_file(tmp_path, model, pre, normalizer)
    ours, theirs = Counter.from_file(path), tokenizers.Tokenizer.from_file(str(path))
    texts = generated(2, 2_000)
    expected = [len(encoding) for encoding in theirs.encode_batch(texts, add_special_tokens=False)]
    assert ours.count_many(texts).tolist() == expected == [ours.count(text) for text in texts]
    assert ours.engine == "trimtab tokenizer.json", ours.explain()
    growing = ours.incremental()
    for text in texts[:50]:
        growing.append(text)
    assert growing.tokens == ours.count("".join(texts[:50]))


def random_model(rng, *, every_split):
    """A model whose tokens are random parts of words, in random order: some merge before their parts, some never.

    With ``every_split``, each pair of tokens that is a token merges, as in lists that were made of ranks.
    """
    names = byte_names()
    tokens = set()
    while len(tokens) < 60:
        word = rng.choice(["abcab", "  ab", "ababab", "中文中文", " 中文", "éaé", "цветок", "aaaaaaaa", "0123", "!!=="])
        at = rng.randrange(len(word.encode()))
        tokens.add(word.encode()[at : at + rng.randrange(2, 9)])
    made = sorted(tokens - {token for token in tokens if len(token) < 2})
    rng.shuffle(made)
    known = {*made, *(bytes([byte]) for byte in range(256))}
    merges = []
    for token in made:
        splits = [(token[:n], token[n:]) for n in range(1, len(token)) if token[:n] in known and token[n:] in known]
        rng.shuffle(splits)
        merges += splits if every_split else splits[:1]
    vocab = {name: number for number, name in enumerate(names.values())}
    vocab |= {"".join(names[byte] for byte in token): len(vocab) + n for n, token in enumerate(made)}
    pairs = [["".join(names[byte] for byte in part) for part in pair] for pair in merges]
    return {"type": "BPE", "vocab": vocab, "merges": pairs, "byte_fallback": False}


@pytest.mark.parametrize("ignores", [False, True], ids=["merges", "whole tokens"])
@pytest.mark.parametrize("every_split", [False, True], ids=["one merge", "every split"])
@pytest.mark.parametrize("pattern", [LLAMA3, QWEN35], ids=["llama3", "qwen35"])
def test_merges_in_any_order_count_as_in_tokenizers(pattern, every_split, ignores, tmp_path):
    rng = random.Random(f"{every_split} {ignores}")
    for _ in range(scaled(60)):
        model = random_model(rng, every_split=every_split) | {"ignore_merges": ignores}
        path = tokenizer_file(tmp_path, model, split_by(pattern))
        ours, theirs = Counter.from_file(path), tokenizers.Tokenizer.from_file(str(path))
        assert ours.engine == "trimtab tokenizer.json", ours.explain()
        words = ["ab", "ca", " ", "a", "b", "中", "文", "é", "ц", "вет", "ок", "aaaa", "01", "23", "!", "="]
        texts = ["".join(rng.choices(words, k=rng.randrange(1, 30))) for _ in range(100)]
        texts += ["".join(rng.choices("abc中文", k=400)), "ab" * 300, "中" * 200]
        expected = [len(encoding) for encoding in theirs.encode_batch(texts, add_special_tokens=False)]
        assert ours.count_many(texts).tolist() == expected == [ours.count(text) for text in texts]
        for text, tokens in zip(texts[:10], expected, strict=False):
            head, tail = ours.truncate_tokens(text, 1, 1)
            assert text.startswith(head)
            assert text.endswith(tail)
            assert (head + tail == text) == (tokens <= 2)


def test_a_token_that_is_too_long_to_be_merged_is_left_to_tokenizers(tmp_path):
    """Twenty merges make a token of a megabyte, which would take hours by the definition."""
    names = byte_names()
    parts = ["a" * 2**n for n in range(21)]
    vocab = {name: number for number, name in enumerate([*names.values(), *parts[1:]])}
    model = {"type": "BPE", "vocab": vocab, "merges": [[part, part] for part in parts[:-1]], "byte_fallback": False}
    ours = Counter.from_file(tokenizer_file(tmp_path, model, split_by(LLAMA3)))
    assert ours.fallback == "a token of 2048 bytes, more than 1024"
    assert ours.count("a" * 4096) == 1


def test_why_a_file_is_counted_by_tokenizers_is_said(model, tmp_path):
    ours = Counter.from_file(tokenizer_file(tmp_path, model, split_by(r"\w+")))
    assert ours.engine == "tokenizers tokenizer.json"
    assert ours.fallback == r'the pattern ["\\w+"] is not known'
    assert ours.explain() == rf"tokenizers tokenizer.json: exact, and slow: {ours.fallback}"
    assert Counter("o200k_base").fallback == ""


def test_our_own_ranks_need_no_pattern(rank_file):
    assert Counter.from_file(rank_file).engine == "trimtab cl100k_base"


def test_what_is_not_known_is_said(model, tmp_path, rank_file):
    def refused(file, match, **options):
        path = tmp_path / "file"
        path.write_bytes(file if isinstance(file, bytes) else json.dumps(file).encode())
        with pytest.raises(ValueError, match=match):
            Counter.from_file(path, **options)

    refused(b"", "does not say how texts are split")
    refused(b"what is this\n", "no tokenizer.json and no ranks")
    refused(b"\xff\xfe", "not UTF-8")
    refused(b"{", "no tokenizer.json")
    refused({"model": {"type": "WordPiece"}}, "only byte-level pairs are known")
    refused({"model": {"type": "Unigram"}}, "a tokenizer.json of pieces with scores without them")
    refused({"model": model, "pre_tokenizer": split_by("(")}, r"the pattern .* is not known; .*parenthesis")
    refused({"model": model, "pre_tokenizer": GPT2, "normalizer": {"type": "NFKX"}}, "only NFC is known")
    with pytest.raises(ValueError, match="is not known"):
        Counter.from_file(rank_file, pattern=r"\w+")
    with pytest.raises(FileNotFoundError):
        Counter.from_file(tmp_path / "none")
