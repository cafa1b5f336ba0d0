"""Claude's encodings: equal to ctok on any text, and to what the provider's counting endpoint answered."""

import hashlib
import importlib.util
import json
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from support import claude_cases
from support.scale import scaled
from trimtab import Counter, _core

DATA = Path(__file__).parents[3] / "rust" / "tokens" / "data"
OLD, NEW = Counter("claude-old"), Counter("claude-new")
# Of a message: ctok's version, and the tokens of a message itself, which ctok counts and an encoding does not.
FRAMED = {"claude-3 message": ("3.0", 7), "claude-4.7 message": ("4.7", 11), "claude-4.8 message": ("4.8", 6)}
INSIDE = {"claude-old": "v3", "claude-new": "v4.7"}
ANY = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)


def counted_inside(ctok, name):
    """Return a function that counts with ctok as in the middle of a text: without the frame of a message."""
    document = ctok.main._document(ctok.main.FAMILIES[INSIDE[name]].pieces)
    model = ctok.main.TokenizerModel({**document, "meta": {**document["meta"], "frame_bow": False}})

    def count(text):
        normal = ctok.normalize.nfc(text, fold_quotes=model.fold_quotes)
        ends = len(normal) - len(normal.rstrip("\n"))
        total, _ = ctok.engine.tile(text, model)
        run, _ = ctok.engine.min_vocab_tile("\n" * ends, model.trie, lambda _: 1)
        return total - len(ctok.engine.frame_tail(ends, model)) + run

    return count


@pytest.fixture(scope="module")
def theirs(ctok):
    """For each of our encodings, ctok's count."""
    counts = {name: counted_inside(ctok, name) for name in INSIDE}
    for name, (version, message) in FRAMED.items():
        counts[name] = lambda text, v=version, m=message: ctok.main.token_count(text, v) - m
    return counts


def differences(theirs, texts):
    """Texts that ours and ctok count differently, with both counts."""
    found = []
    for name, of in theirs.items():
        ours = Counter(name).count_many(texts).tolist()
        found += [(name, text, n, of(text)) for text, n in zip(texts, ours, strict=True) if n != of(text)]
    return found


def test_generated_texts_count_as_in_ctok(theirs):
    assert differences(theirs, claude_cases.texts(2_500, seed=1)) == []


@pytest.mark.slow
def test_a_million_generated_texts_count_as_in_ctok(theirs):
    for seed in range(100):
        assert differences(theirs, claude_cases.texts(10_000, seed=seed)) == [], seed


@pytest.mark.slow
@pytest.mark.shared
def test_every_run_of_the_recorded_texts_counts_as_in_ctok_alone_and_between_spaces(ctok, theirs, shared):
    runs = set()
    for line in (shared / "data" / "pairs.jsonl").read_bytes().splitlines():
        for block in json.loads(line).get("content_blocks") or ():
            text = block.get("text") or block.get("content") or json.dumps(block.get("input"), ensure_ascii=False)
            text = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
            runs.update(body for _, body in ctok.normalize._runs(ctok.normalize.nfc(text, fold_quotes=False)))
    texts = [seen for run in sorted(runs) for seen in (run, f" {run} ")]
    print(f"{len(runs):,} runs")
    assert differences({name: theirs[name] for name in INSIDE}, texts) == []


@settings(max_examples=scaled(500))
@given(ANY)
def test_any_text_counts_as_in_ctok(theirs, text):
    assert differences(theirs, [text]) == []


def test_every_character_counts_as_in_ctok_beside_words_spaces_digits_and_quotes(theirs):
    characters = [chr(c) for c in range(0x3100) if not c % 5] + [chr(c) for c in range(0x3100, 0x1_0000, 97)]
    texts = [f"a{c}b {c} 1{c}'s {c}X" for c in characters if not "\ud800" <= c <= "\udfff"]
    assert differences(theirs, texts) == []


def test_every_piece_costs_what_the_provider_answered_for_its_probe(ctok):
    """The wheel has, for each piece, a message and its tokens as the counting endpoint gave them."""
    for name in ("claude-3 message", "claude-4.7 message"):
        version, message = FRAMED[name]
        probes = {w["probe"]: w["raw"] for w in ctok.main.pieces(version).values() if "raw" in w}
        ours = Counter(name).count_many(list(probes))
        assert len(probes) > 14_000
        wrong = [p for (p, raw), n in zip(probes.items(), ours.tolist(), strict=True) if n + message != raw]
        assert wrong == []


@pytest.mark.parametrize("name", INSIDE)
def test_a_count_is_the_fewest_pieces_of_the_marked_text(ctok, name):
    markers = {"\ufdd0": b"\xf8", "\ufdd1": b"\xf9", "\ufdd3": b"\xfa", "\ufdd4": b"\xfb"}
    family = "v3" if name == "claude-old" else "v4.7"
    document = ctok.main._document(ctok.main.FAMILIES[family].pieces)
    model = ctok.main.TokenizerModel({**document, "meta": {**document["meta"], "frame_bow": False}})
    pieces, prefixes = set(Counter.vocabulary(name)), set(map(bytes.fromhex, document["tokens"]["bytes_fallback"]))
    for text in claude_cases.texts(400, seed=2):
        if text.strip("\n") != text or max(text, default="") >= "\ufdd0" or "\ue000" in text:
            continue  # what a message's end and ctok's stand-ins do is another test's
        stream = ctok.normalize.stream(text, model)
        marked = [markers.get(c) or c.encode() for c in stream]
        assert Counter(name).count(text) == oracle.fewest(marked, pieces, prefixes), text


def test_the_vocabularies_are_what_the_published_wheel_gives(ctok):
    spec = importlib.util.spec_from_file_location("claude_data", DATA / "claude.py")
    data = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(data)
    for name, made in data.vocabularies(ctok.main, ctok.normalize).items():
        assert made == (DATA / name).read_bytes()
        assert Counter.vocabulary(name.removesuffix(".pieces")) == data.listed(made)
    classes = {}
    for line in (DATA / "claude.classes").read_text().splitlines():
        first, last, bits = (int(word, 16) for word in line.split())
        classes.update(dict.fromkeys(range(first, last + 1), bits))
    sample = [*range(0x100), *range(0x100, 0x1_0000, 7), *range(0x1_0000, 0x11_0000, 101)]
    assert {c: data.bits(ctok.normalize, chr(c)) for c in sample} == {c: classes[c] for c in sample}
    for line in (DATA / "claude.sha256").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest


def test_a_long_run_of_anything_is_counted(theirs):
    for c in ("a", "Q", " ", "\n", "\t", "=", "0", "é", "中", "😀", "\u0301", "\u200d", "'", "ा", "\u3000", "\x01"):
        for name in INSIDE:
            assert Counter(name).count(c * 1_009) == theirs[name](c * 1_009), (name, c)
            assert Counter(name).count(c * 1_000_000) <= 4 * 1_000_000


@given(st.lists(ANY, max_size=8))
def test_many_texts_count_as_each_alone(texts):
    for counter in (OLD, NEW):
        counts = counter.count_many(texts)
        assert (counts.dtype, counts.tolist()) == (np.uint32, [counter.count(text) for text in texts])


@given(ANY, st.integers(0, 40))
def test_exceeds_means_more_tokens_than(text, n):
    assert OLD.exceeds(text, n) == (OLD.count(text) > n)


def test_a_message_costs_its_texts():
    messages = [
        {"role": "user", "content": "How do I don a life-vest? ПРИВЕТ"},
        {"role": "assistant", "content": [{"type": "text", "text": "Over your head.\n"}]},
    ]
    for counter in (OLD, NEW):
        alone = [counter.count(messages[0]["content"]), counter.count("Over your head.\n")]
        assert counter.per_message(messages).tolist() == alone


def test_threads_count_alike():
    texts = claude_cases.texts(2_000, seed=3)
    expected, found = OLD.count_many(texts).tolist(), []
    threads = [threading.Thread(target=lambda: found.append([OLD.count(t) for t in texts])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_a_forked_child_counts_alike():
    text = " ".join(claude_cases.texts(500, seed=4))
    expected = OLD.count(text), NEW.count(text)
    child = os.fork()
    if child == 0:
        os._exit(0 if (OLD.count(text), NEW.count(text)) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_encoding_says_that_it_is_reconstructed():
    assert OLD.engine == "trimtab claude-old"
    assert "reconstructed" in OLD.explain()


CHECKED = pytest.mark.skipif(not hasattr(_core, "_features"), reason="needs a build with debug assertions")


def rates():
    """The committed rates, thousandths of a token for a piece of each kind."""
    source = (DATA.parent / "src" / "claude" / "rates.rs").read_text()
    found = re.findall(r"const (OLD|NEW): .*?= \[(.*?)\];", source, re.DOTALL)
    return {f"claude-{name.lower()}": [int(n) for n in numbers.split(",") if n.strip()] for name, numbers in found}


@CHECKED
@given(ANY)
def test_an_estimate_is_its_pieces_at_their_rates(text):
    for name, numbers in rates().items():
        assert len(numbers) <= 200
        thousandths = sum(n * rate for n, rate in zip(_core._features(text), numbers, strict=True))
        assert Counter(f"{name} by rates").count(text) == (thousandths + 500) // 1000


def test_an_estimate_is_near_the_count_of_the_projects_own_texts_and_says_what_it_is():
    root = DATA.parents[2]
    texts = [
        file.read_text() for file in (*root.glob("*.md"), *(root / "python").rglob("*.py"), *root.rglob("docs/*.md"))
    ]
    for counter, near in ((OLD, 0.08), (NEW, 0.08)):
        estimate = Counter(f"{counter.engine.removeprefix('trimtab ')} by rates")
        ratios = estimate.count_many(texts) / np.maximum(counter.count_many(texts), 1)
        assert abs(np.median(ratios) - 1) < near
        assert estimate.explain().endswith(": an estimate by rates of kinds of pieces")


@CHECKED
def test_what_an_estimate_sees_adds_up():
    kinds = _core._features("see the 1234 -- NASA getURL\n\nIt, Привет 中文")
    words, groups = sum(kinds[:11]) + kinds[12] + kinds[14] + kinds[29], kinds[17]
    assert (words, groups, kinds[18] + kinds[19], kinds[20], kinds[33]) == (6, 2, 1, 1, 2)
