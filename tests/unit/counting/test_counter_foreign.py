"""Vocabularies that our own engine does not know count as the package `tokenizers` counts in them."""

import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from trimtab import Counter
from trimtab._core import Ledger

ROOT = Path(__file__).parents[3]
PROSE = (ROOT / "docs" / "dev" / "engine.md").read_text(encoding="utf-8")
CODE = (ROOT / "python" / "trimtab" / "counting" / "counter.py").read_text(encoding="utf-8")
LANGUAGES = "Grüße, naïve café — Ελληνικά ς, ёж, 日本語・カタカナ。 한국어 עברית ไทย हिन्दी e\u0301\u0323 ﬁ Ⅻ ½"
EMOJI = "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u270c\U0001f3fd x\U0001f600y"
WORDS = [
    *"don't I'LL 123456 1\u0663 naïve ΑΒΓ 日本語・カタ。 한국어 e\u0301 fooBarBAZ _x 3.14 ▁ [UNK] <s> ##".split(),
    *(" ", "  ", "\t", "\n", "\r\n\n", " \n ", "!", "中", "é", "\U0001f600", "\x00", "\u200b", "\u00a0", "\ufffd", "İ"),
]
ISOLATED = {"behavior": "Isolated", "invert": False}


def generated(seed, texts):
    rng = random.Random(seed)
    return ["".join(rng.choices(WORDS, k=rng.randrange(40))) for _ in range(texts)]


TEXTS = [PROSE, CODE, LANGUAGES, EMOJI, "", " ", "a", *generated(5, 200)]


def bert():
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    return made, trainers.WordPieceTrainer(vocab_size=900, special_tokens=special, show_progress=False)


def sentencepiece():
    made = Tokenizer(models.Unigram())
    steps = [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    made.normalizer, made.pre_tokenizer = normalizers.Sequence(steps), pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>"]
    return made, trainers.UnigramTrainer(vocab_size=600, special_tokens=special, unk_token="<unk>", show_progress=False)


def byte_level():
    """Another expression than those that are known, and digits one by one, as StarCoder has them."""
    made = Tokenizer(models.BPE())
    words = pre_tokenizers.Split(Regex(r"\p{Lu}?\p{Ll}+|\p{L}+|\p{N}{1,2}|\s+(?!\S)|[^\p{L}\p{N}]"), "isolated")
    steps = [pre_tokenizers.Digits(individual_digits=True), words, pre_tokenizers.ByteLevel(False, use_regex=False)]
    made.pre_tokenizer = pre_tokenizers.Sequence(steps)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return made, trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, show_progress=False)


def byte_fallback():
    """No pre-tokenizer, and bytes for what has no token, as Llama 2 has them."""
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    special = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    return made, trainers.BpeTrainer(
        vocab_size=900, special_tokens=special, limit_alphabet=80, max_token_length=16, show_progress=False
    )


KINDS = {"wordpiece": bert, "unigram": sentencepiece, "bpe": byte_level, "fallback": byte_fallback}


@pytest.fixture(scope="module", params=KINDS)
def trained(request, tmp_path_factory):
    """A file with added tokens, a template, truncation and padding; and its meaning: the package without them."""
    made, trainer = KINDS[request.param]()
    lines = [*PROSE.splitlines(), *CODE.splitlines(), LANGUAGES]
    made.train_from_iterator([line for line in lines if line], trainer)
    plain = json.loads(made.to_str()) | {"added_tokens": []}
    made.add_tokens(["fooBar", "a b"])
    made.add_special_tokens(["<|end|>"])
    made.post_processor = processors.TemplateProcessing(single="<|end|> $A", special_tokens=[("<|end|>", 900)])
    made.decoder = decoders.Fuse()
    made.enable_truncation(5)
    made.enable_padding(length=64)
    path = tmp_path_factory.mktemp("trained") / f"{request.param}.json"
    made.save(str(path))
    return path, Tokenizer.from_str(json.dumps(plain))


def expected(theirs, text):
    return len(theirs.encode(text, add_special_tokens=False))


def test_every_question_is_answered_as_by_the_package(trained, tmp_path):
    path, theirs = trained
    ours = Counter.from_file(path)
    counts = [expected(theirs, text) for text in TEXTS]
    assert [ours.count(text) for text in TEXTS] == counts == ours.count_many(TEXTS).tolist()
    assert ours.count_many(TEXTS * 30).tolist() == counts * 30
    for text, count in zip(TEXTS[:40], counts, strict=False):
        assert ours.count(text.encode()) == count
        assert [ours.exceeds(text, n) for n in (0, count - 1, count, count + 1) if n >= 0] == [
            count > n for n in (0, count - 1, count, count + 1) if n >= 0
        ]
    for text in ("<|end|>", "a fooBar b", "x" * 100):
        assert ours.count(text) == expected(theirs, text) != 0
    assert ours.count("a\ud800b") == expected(theirs, "a\ufffdb") == ours.count(b"a\xffb")
    long = "\n".join([PROSE, CODE] * 10)
    assert len(long) > 1 << 17
    assert ours.count(long) == expected(theirs, long)
    (tmp_path / "long").write_text(long, encoding="utf-8", newline="")
    assert ours.count_file(tmp_path / "long") == ours.count(long)
    growing = ours.incremental()
    for at in range(0, len(long), 1000):
        growing.append(long[at : at + 1000])
    assert growing.tokens == ours.count(long)
    if path.name == "fallback.json":
        assert ours.engine == f"trimtab {path.name}"
    else:
        assert ours.engine == f"tokenizers {path.name}"
        assert ours.fallback
        assert ours.explain() == f"tokenizers {path.name}: exact, and slow: {ours.fallback}"


def edges(theirs, text, head, tail):
    """The meaning of cutting: a character belongs to an end if all the tokens that have a part of it do."""
    places = theirs.encode(text, add_special_tokens=False).offsets
    if len(places) <= head + tail:
        return text, ""
    cut = len(places) - tail
    end = min([places[head - 1][1], *(start for start, _ in places[head:])]) if head else 0
    start = max([places[cut][0], *(end for _, end in places[:cut])]) if tail else len(text)
    return text[:end], text[start:]


def test_texts_are_cut_where_the_package_puts_its_tokens(trained):
    path, theirs = trained
    ours, rng = Counter.from_file(path), random.Random(6)
    for text in [PROSE, LANGUAGES, EMOJI, *generated(7, 150)]:
        for head, tail in [(0, 0), (1, 1), (3, 0), (0, 3), (rng.randrange(30), rng.randrange(30)), (10**9, 10**9)]:
            assert ours.truncate_tokens(text, head, tail) == edges(theirs, text, head, tail), (text, head, tail)


def test_messages_are_counted(trained):
    path, theirs = trained
    ours = Counter.from_file(path)
    turns = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate([*TEXTS[:4], *TEXTS[7:]])]
    alone = [expected(theirs, turn["content"]) for turn in turns]
    assert ours.per_message(turns).tolist() == alone
    assert Ledger.of(turns, counter=ours).total == sum(alone)


def test_threads_and_a_forked_child_count_alike(trained):
    path, theirs = trained
    ours = Counter.from_file(path)
    counts = [expected(theirs, text) for text in TEXTS]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ours.count, TEXTS * 3)) == counts * 3
    if hasattr(os, "fork"):
        program = """if True:
            import os, sys
            from trimtab import Counter
            counter, text = Counter.from_file(sys.argv[1]), "one text and " * 20_000
            before = counter.count_many([text] * 3).tolist()
            child = os.fork()
            after = [*counter.count_many([text] * 2).tolist(), counter.count(text)]
            if not child:
                os._exit(after != before)
            assert os.waitpid(child, 0)[1] == 0 and after == before
        """
        subprocess.run([sys.executable, "-W", "ignore", "-c", program, path], check=True, timeout=60)


def test_a_text_that_takes_minutes_leaves_the_interpreter_free_and_can_be_interrupted(tmp_path):
    long = {"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.0], ["a" * 20_000, -50_000.0]]}
    (tmp_path / "slow.json").write_text(json.dumps({"model": long}))
    program = """if True:
        import os, signal, sys, threading, time
        from trimtab import Counter
        counter, text = Counter.from_file(sys.argv[1]), "a" * 5_000_000
        questions = [
            lambda: counter.count(text),
            lambda: counter.count_many([text] * 4),
            lambda: counter.exceeds(text, 1),
            lambda: counter.truncate_tokens(text, 1, 1),
            lambda: counter.per_message([{"role": "user", "content": text}]),
        ]
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        for ask in questions:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            try:
                ask()
            except KeyboardInterrupt:
                print("interrupted")
        threading.Thread(target=questions[0], daemon=True).start()
        time.sleep(0.3)
        print("free", flush=True)
        os._exit(0)
    """
    run = [sys.executable, "-c", program, tmp_path / "slow.json"]
    said = subprocess.run(run, check=True, timeout=60, capture_output=True, text=True)
    assert said.stdout.split() == ["interrupted"] * 5 + ["free"]


def test_what_cannot_be_counted_is_said(tmp_path):
    words = {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}
    pieces = {"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0]]}

    def refused(file, match):
        path = tmp_path / "file"
        path.write_bytes(file if isinstance(file, bytes) else json.dumps(file).encode())
        with pytest.raises(ValueError, match=match) as error:
            Counter.from_file(path)
        assert str(path) in str(error.value)

    refused(b"{", "no tokenizer.json")
    refused(b'{"model": 3}', "did not match any variant")
    refused({"model": {"type": "Nothing"}}, r'has type "Nothing".*did not match any variant')
    refused({"model": words | {"unk_token": "none"}}, '"none", is not in its vocabulary')
    refused({"model": words, "version": "2.0"}, "version")
    refused(
        {"model": words, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}, "Cannot parse"
    )  # a panic
    refused({"model": words, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}} | ISOLATED}, "parenthesis")
    refused({"model": {"type": "BPE", "dropout": 0.1, "vocab": {"a": 0}, "merges": []}}, "counts by chance")
    path = tmp_path / "pieces.json"
    path.write_text(json.dumps({"model": pieces}))
    counter = Counter.from_file(path)
    assert counter.count("aaa") == 3
    messages = [{"role": "user", "content": "what is this"}]
    for ask in (
        lambda: counter.count("b"),
        lambda: counter.count("b" * 200_000),
        lambda: counter.count_many(["a", "b" * 200_000] * 4),
        lambda: counter.truncate_tokens("abc", 1, 1),
        lambda: counter.per_message(messages),
    ):
        with pytest.raises(ValueError, match=r"pieces.json has no tokens for a text"):
            ask()
