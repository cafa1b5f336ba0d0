"""Texts that Claude's encodings must get right: seeded, of every script and seam, and longer ones of random code."""

import random

ATOMS = [
    *r"""
a b The the XYZ ABCD camelCase don't I'll 's ' '' " ( ) [] {} ); 1 12 123 1234 3.14 ٣ ۴٥ ²
½ ⁵ १ १२ 中 文 。 、 「 ！ ？ ） （ ー カ な 々 〆 한 국 é ñ ß ẞ İ ı I Σ ς ΑΒΓΔ ῼ ǅ ǅAB Привет ПРИВЕТ
مرحبا َ ُ ً ि क ् क्ष ा ำ ก ู ไทย ה ָ ܑ ܰ ܀ ⚖ 😀 👨‍👩‍👧 🇺🇸 „ — – … • │ ─ € £ § « » → № Ⅷ ⅷ ⓐ
Ⓐ ℂ ℳ ϓ ϴ ᄀ ᅡ ᆨ 가 া ে ো ் ப ॐ Ꭰ ა Ა ﷺ ﬁ Ⴀ _ = == === => -> // /* */ # @ $ % ^ & ` ~ \ |
<x> </x> < https:// foo_bar HTTPServer getURL ABC ABCDEF AbC aB ɤ ‘ ’ “ ”
""".split(),
    *(" ", "  ", "   ", "\n", "\n\n", "\t", "\t\t", " \n", "\n    ", " the", " " * 17, "\n" * 34),
    *("e\u0301", "\ufe0f", "\u2696\ufe0f", "\u0e4d\u0e32", "\u200d", "\u200b", "\ufeff", "\u00ad", "\ufffd"),
    *("\ufdd0", "\ufdd1", "\ufdd3", "\ue000", "\uf8ff", "\x00", "\x01", "\r", "\r\n", "\x7f", "\x85"),
    *"\u00a0\u2003\u2028\u3000\u0cf3\u1c89\ua7cb\U00010400\U0001d400\U000e0100",
    *("\xdd\u0323", "o\u0323\u0302", "\u1ea1\u0306"),
    *("it's", "we'll", "O'Neill", "'tis", "a" * 70, "1" * 70, "=" * 70, "aB3" * 30, "x" * 15, "x" * 16, "-" * 14),
    *("\u034d\u05c9\u1f59\u05bd", "\U000105d2\u0307"),  # what came after Unicode 15.1 is not composed
]
RANGES = ((0, 0x24F), (0x300, 0x36F), (0x590, 0x6FF), (0x900, 0xDFF), (0xE00, 0x10FF), (0x2000, 0x30FF), (0, 0xFFFF))


def _char(rng: random.Random) -> str:
    first, last = rng.choice(RANGES) if rng.random() < 0.95 else (0x1_0000, 0x10_FFFF)
    code = rng.randint(first, last)
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)


def _blocks(rng: random.Random) -> str:
    block = rng.randint(0, 0xFF) * 256
    near = [chr(c) for c in (block + rng.randint(0, 255) for _ in range(5)) if not 0xD800 <= c < 0xE000]
    return "".join(rng.choice([*near, " ", "a", "'", "1", "."]) for _ in range(rng.randint(1, 10)))


def _page(rng: random.Random) -> str:
    """A longer text, most of it ASCII: cells that lie across what is looked at together."""
    plain = [atom for atom in ATOMS if atom.isascii()]
    rare = rng.random() ** 3
    atoms = (rng.choice(ATOMS if rng.random() < rare else plain) for _ in range(rng.randint(10, 80)))
    return "".join(atom + " " * (rng.random() < 0.5) for atom in atoms)


def texts(count: int, seed: int) -> list[str]:
    """Return ``count`` generated texts of up to 12 parts."""
    rng = random.Random(seed)
    makers = (
        lambda: "".join(rng.choice(ATOMS) for _ in range(rng.randint(0, 12))),
        lambda: " ".join(rng.choice(ATOMS) for _ in range(rng.randint(0, 8))),
        lambda: "".join(_char(rng) for _ in range(rng.randint(1, 8))),
        lambda: _blocks(rng),
        lambda: _page(rng),
    )
    return [rng.choice(makers)() for _ in range(count)]
