"""Pieces with scores count by their definition, as in SentencePiece where it is installed, and in `tokenizers`."""

import base64
import io
import json
import random

import pytest
from test_sentencepiece import BYTES, LETTERS, keeps_its_ends, model_file, texts_of
from tokenizers import Tokenizer

from oracles.pieces import Rewriting, bonus, charsmap, lay, model_tokens, single
from support.scale import scaled
from trimtab import Counter

HALF, WIDE = "1\u20442", "\uff21"
RULES = {"\n": " ", "\t": " ", "\u3000": " ", "\x01": "", "\r": " ", "\r\n": "\n", "ﬁ": "fi", "½": HALF, WIDE: "A"}
RULES |= {"e\u0301": "é", "a\u0301": "á", "ｶﾞ": "ガ", "ｶ": "カ", "…": "...", "\u0301x": "y", "_": "  ", "▁": "▁"}
WORDS = [
    *"a b ab abc aaa aab ba bab é e\u0301 a\u0301 e\u0301\u0301 ﬁ ﬁ\u0301 ½ ｶﾞ ｶ\u0301 中 文 中文 … ▁ ▁▁".split(),
    *"<unk> <s> <0x41> [REF] [REF]2 x 1 \u0600a नि 👩\u200d👧 🇩🇪 \U0001f600 \u200b \ufeff".split(),
    *(" ", "  ", "   ", "\n", "\r\n", "\r", "\t", "\u3000", "\xa0", "\x00", "\x01", "_", " \x01 ", "\\s", WIDE),
]


def generated(rng, number):
    """Texts of what rules and pieces are made of, of few letters, of any characters, and of random bytes."""
    texts = texts_of(rng, number // 4)
    texts += ["".join(rng.choices(WORDS, k=rng.randrange(40))) for _ in range(number // 4)]
    texts += ["".join(rng.choices("ab ", k=rng.randrange(1, 200))) for _ in range(number // 4)]
    texts += [rng.randbytes(rng.randrange(40)).decode(errors="replace") for _ in range(number // 8)]
    points = (rng.randrange(rng.choice([0x250, 0x3000, 0xD7FF, 0x20000])) for _ in range(number))
    return [*texts, "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)]


def random_pieces(rng, letters=LETTERS):
    """Pieces and scores in single precision; some are sums of others, or nearly so."""
    scores = {letter: single(-rng.uniform(0, 9)) for letter in letters if rng.random() < 0.8}
    scores["b"] = single(-rng.uniform(0, 9))
    for text in ("".join(rng.choices([*letters, "a", "b"], k=rng.randrange(2, 6))) for _ in range(60)):
        total = sum(scores.get(letter, -5.0) for letter in text)
        scores[text] = single(rng.choice([total, total, total + rng.uniform(-1, 3), -rng.uniform(0, 20)]))
    scores |= {"▁" * length: single(-rng.uniform(0, 9)) for length in range(1, rng.randrange(2, 5))}
    return scores


def test_a_model_counts_by_the_definition(tmp_path):
    rng = random.Random("unigram")
    for n in range(scaled(80)):
        letters = [letter for letter in LETTERS if letter != "▁"] if rng.random() < 0.4 else LETTERS
        scores, has_bytes = random_pieces(rng, letters), rng.random() < 0.5
        whole = rng.choice([(), ("[REF]", "[REF]2", "bc"), ("aab", "▁▁▁▁▁", "é"), ("a b",)])
        scores = {text: score for text, score in scores.items() if text not in whole}
        unused = tuple(text for text in scores if len(text) == 2 and rng.random() < 0.2)
        rewriting = Rewriting(rng.choice([{}, RULES]), whole, *(rng.random() < 0.5 for _ in range(3)))
        settings = {3: int(rewriting.prefix), 4: int(rewriting.strips)}
        settings |= {2: charsmap(rewriting.rules)} if rewriting.rules else {}
        trainer = {3: 1, 24: int(rewriting.suffix), 35: int(has_bytes)}
        path = model_file(tmp_path / f"{n}.model", scores, whole, trainer.items(), settings.items(), unused=unused)
        ours, texts = Counter.from_file(path), generated(rng, 60)
        counts = [model_tokens(text, scores, rewriting, has_bytes=has_bytes, unused=unused) for text in texts]
        assert ours.count_many(texts).tolist() == counts == [ours.count(text) for text in texts], path.name
        assert ours.engine == f"trimtab {path.name}"
        for text, count in zip(texts[:20], counts, strict=False):
            keeps_its_ends(ours, text, count)


def test_the_rounding_of_a_long_text_is_that_of_the_package(tmp_path):
    rng = random.Random("long")
    scores = {"p": -8.0, "q": -7.7, "a": single(-1.3), "b": single(-2.1), "▁": -3.0, "▁p": single(-9.1)}
    scores["ab"] = single(scores["a"] + scores["b"] - 0.002)
    path = model_file(tmp_path / "long.model", scores, (), {3: 1, 35: 0}.items())
    ours = Counter.from_file(path)
    for _ in range(scaled(12)):
        text = "".join(rng.choices(["ab", "p", "q", " p", "pab", "x"], k=30_000))
        assert ours.count(text) == model_tokens(text, scores, Rewriting(), has_bytes=False)


METASPACE = {"type": "Metaspace", "replacement": "▁"}
WHITESPACE = {
    "type": "Sequence",
    "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE | {"prepend_scheme": "always"}],
}
STEPS = {
    "T5": ([["rules"], ["strip", False, True], ["spaces", "▁"]], METASPACE | {"prepend_scheme": "always"}),
    "XLM-R": ([["rules"]], WHITESPACE),
    "words": ([["replace", "\\s", " "]], METASPACE | {"prepend_scheme": "never", "split": True}),
    "whole": ([["rules"], ["spaces", " "]], METASPACE | {"prepend_scheme": "first", "split": False}),
    "no splitter": ([["strip", True, True], ["prepend", "▁"], ["replace", " ", "▁"]], None),
    "nothing": ([], None),
}


def normalizer(steps, rules):
    """The steps as a `tokenizer.json` has them."""
    made = []
    for name, *values in steps:
        if name == "rules":
            made.append({"type": "Precompiled", "precompiled_charsmap": base64.b64encode(rules).decode()})
        elif name == "strip":
            made.append({"type": "Strip", "strip_left": values[0], "strip_right": values[1]})
        elif name == "prepend":
            made.append({"type": "Prepend", "prepend": values[0]})
        else:
            pattern = {"Regex": " {2,}"} if name == "spaces" else {"String": values[0]}
            made.append({"type": "Replace", "pattern": pattern, "content": values[-1]})
    return {"type": "Sequence", "normalizers": made} if made else None


def files(vocabulary, steps, rules, *, has_bytes):
    """A `tokenizer.json` of pieces with scores."""
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocabulary, "byte_fallback": has_bytes}
    return {"normalizer": normalizer(steps[0], rules), "pre_tokenizer": steps[1], "model": model}


def assert_counts_as_tokenizers(path, file, texts):
    path.write_text(json.dumps(file))
    ours, theirs = Counter.from_file(path), Tokenizer.from_file(str(path))
    assert ours.engine == f"trimtab {path.name}", ours.explain()
    expected = [len(found) for found in theirs.encode_batch(texts, add_special_tokens=False)]
    assert ours.count_many(texts).tolist() == expected == [ours.count(text) for text in texts]


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_a_tokenizer_json_counts_as_in_tokenizers(steps, tmp_path):
    rng = random.Random("json")
    for n in range(scaled(30)):
        scores = random_pieces(rng)
        vocabulary = [
            ["<unk>", rng.choice([0.0, -30.0])],
            ["<s>", 0.0],
            *([text, score] for text, score in scores.items()),
        ]
        vocabulary += [[text, 0.0] for text in BYTES[: rng.choice([0, 255, 256])]]
        vocabulary += [["ab", -3.0], ["", -40.0]]  # a text that may be there twice, and none
        file = files(vocabulary, steps, charsmap(RULES), has_bytes=rng.random() < 0.5)
        assert_counts_as_tokenizers(tmp_path / f"{n}.json", file, generated(rng, 80))


def test_ties_are_broken_as_in_tokenizers_from_the_beginning_of_each_word(tmp_path):
    vocabulary = [["<unk>", -9.0], ["a", -0.1], ["aa", -0.2], ["aaa", -0.3], ["b", -0.7], ["ab", -0.8], ["▁", -0.3]]
    file = files(vocabulary, STEPS["words"], b"", has_bytes=False)
    rng = random.Random("ties")
    texts = ["".join(rng.choices("aab ", k=rng.randrange(200))) for _ in range(scaled(2_000))]
    assert_counts_as_tokenizers(tmp_path / "ties.json", file, [*texts, "a" * 3_000, "ab" * 2_000])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"normalizer": {"type": "NFKC"}}, 'rewritten by "NFKC"'),
        ({"normalizer": {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"}}, 'rewritten by "Replace"'),
        ({"pre_tokenizer": {"type": "Whitespace"}}, 'split by "Whitespace"'),
        ({"pre_tokenizer": METASPACE | {"replacement": "_"}}, 'split by "Metaspace"'),
        (
            {
                "normalizer": {"type": "Strip", "strip_left": True, "strip_right": False},
                "pre_tokenizer": METASPACE | {"prepend_scheme": "first"},
            },
            "may lose their beginning",
        ),
        (
            {"model": {"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0], ["▁", -1.0]]}},
            "none for unknown characters",
        ),
    ],
)
def test_what_is_not_known_is_counted_by_the_crate_and_said(change, why, tmp_path):
    file = files([["<unk>", 0.0], ["a", -1.0], ["▁", -2.0]], ([], METASPACE), b"", has_bytes=False) | change
    (tmp_path / "file.json").write_text(json.dumps(file))
    ours = Counter.from_file(tmp_path / "file.json")
    assert ours.engine == "tokenizers file.json"
    assert why in ours.explain()
    assert ours.count("aa") == len(Tokenizer.from_str(json.dumps(file)).encode("aa", add_special_tokens=False))


@pytest.mark.parametrize(
    ("scores", "trainer", "normalizer", "match"),
    [
        ({"a": -1.0}, {3: 4}, {}, "has words or characters alone"),
        ({"a": -1.0}, {}, {2: b"rules"}, "whose rules for characters are damaged"),
        ({"a": float("nan")}, {}, {}, "has pieces without a score"),
        ({"a\0": -1.0}, {}, {}, "contradicts itself"),
    ],
    ids=["characters", "rules", "score", "NUL"],
)
def test_a_model_that_is_not_known_is_refused_and_named(scores, trainer, normalizer, match, tmp_path):
    path = model_file(tmp_path / "some.model", scores, (), ({3: 1} | trainer).items(), normalizer.items())
    with pytest.raises(ValueError, match=match):
        Counter.from_file(path)


def test_damaged_models_are_refused_or_counted(tmp_path):
    rng, refused = random.Random("damaged"), 0
    settings = {2: charsmap(RULES), 4: 1}
    path = model_file(tmp_path / "some.model", random_pieces(rng), ["[REF]"], {3: 1}.items(), settings.items())
    whole = path.read_bytes()
    for _ in range(scaled(400)):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(len(data))
            data[place : place + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        path.write_bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
        try:
            ours = Counter.from_file(path)
        except ValueError as error:
            refused += str(path) in str(error)
            continue
        for text in ("abc 中", "".join(WORDS)):
            assert ours.count(text) >= 0
            ours.truncate_tokens(text, 1, 1)
    assert refused > 10


def corpus(rng):
    """Lines to train with."""
    words = "ab abc the of model models 中文 文字 日本語 カタカナ 한국어 привет नमस्ते مرحبا café ﬁne ½".split()
    return [" ".join(rng.choices(words, k=rng.randrange(1, 12))) for _ in range(600)]


@pytest.mark.parametrize("rule", ["nmt_nfkc", "identity", "nmt_nfkc_cf"])
@pytest.mark.parametrize("has_bytes", [True, False], ids=["bytes", "unknown"])
def test_trained_models_count_as_in_the_package(rule, has_bytes, tmp_path):
    package = pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")
    for n, (prefix, strips, suffix) in enumerate([(True, True, False), (True, False, False), (False, True, True)]):
        rng, written = random.Random(f"{rule} {has_bytes} {n}"), io.BytesIO()
        package.SentencePieceTrainer.train(
            sentence_iterator=iter(corpus(rng)),
            model_writer=written,
            vocab_size=400,
            hard_vocab_limit=False,
            normalization_rule_name=rule,
            byte_fallback=has_bytes,
            add_dummy_prefix=prefix,
            remove_extra_whitespaces=strips,
            treat_whitespace_as_suffix=suffix,
            user_defined_symbols=["[REF]", "aab", "▁▁▁"],
            control_symbols=["<ctl>"],
            character_coverage=0.98,
            num_threads=1,
            minloglevel=2,
        )
        path = tmp_path / f"{n}.model"
        path.write_bytes(written.getvalue())
        theirs, texts = package.SentencePieceProcessor(model_proto=written.getvalue()), generated(rng, scaled(4_000))
        texts += [" ".join(corpus(rng)), "".join(rng.choices("ab ", k=20_000))]
        assert Counter.from_file(path).count_many(texts).tolist() == [len(found) for found in theirs.encode(texts)]


def test_the_oracle_has_a_bonus_for_texts_of_users():
    assert [piece for piece, _ in lay("aab", {"a": -1.0, "b": -2.0, "aab": bonus("aab")}, -9.0, keeps_single=True)] == [
        "aab"
    ]
