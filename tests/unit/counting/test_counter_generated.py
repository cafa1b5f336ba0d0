"""Generated texts by the million: every one counts as in tiktoken."""

import random

import pytest
from test_counter import ENCODINGS

from trimtab import Counter

WORDS = [
    *"a b I s t ll re don word The foo Bar HTTP fooBar x's ' 's 'LL 't".split(),
    *"\u017f é ß Ä ñ 中 文字 カタ ・ 한국 й ب ǅ ٣".split(),
    *(" ", "  ", "        ", "\n", "\n\n", "\r\n", "\t", "\x0b", "\xa0", "\u2028", "\u3000", " \n", "\n    "),
    *("/", "//", "!", "...", "-" * 20, "(", "=", "_", "\x00", "\x7f", "1", "12", "345", "6789"),
    *("\u0301", "\u200d", "\U0001f600", "\U0001f468\u200d\U0001f469", "https://", "self.", "return ", "\ufffd"),
]


def generated(seed, number):
    """Texts of few kinds of parts, of many, and of any characters."""
    rng = random.Random(seed)
    for n in range(number):
        if n % 5 == 0:
            points = (
                rng.choice([rng.randrange(0x80), rng.randrange(0x3000), rng.randrange(0x110000)]) for _ in range(12)
            )
            yield "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)
        else:
            words = rng.sample(WORDS, rng.choice([2, 4, 30]))
            yield "".join(rng.choices(words, k=rng.randrange(1, 25)))


def all_equal(number, encoding_of):
    for name in ENCODINGS:
        encoding, texts = encoding_of(name), list(generated(11, number))
        counts = Counter(name).count_many(texts).tolist()
        wrong = [t for t, n in zip(texts, counts, strict=True) if n != len(encoding.encode_ordinary(t))]
        assert not wrong, wrong[:5]


def test_generated_texts_count_as_in_tiktoken(tiktoken_encoding):
    all_equal(20_000, tiktoken_encoding)


@pytest.mark.slow
def test_a_million_generated_texts_count_as_in_tiktoken(tiktoken_encoding):
    all_equal(1_000_000, tiktoken_encoding)
