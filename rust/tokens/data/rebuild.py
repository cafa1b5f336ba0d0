"""Rebuilds the data beside it from the packages that publish it, and says what differs.

    .venv/bin/python rust/tokens/data/rebuild.py

Vocabularies: the published rank files, out of the crate bpe-openai, which Cargo fetches. Classes: the character classes
that the regular expressions of the installed tiktoken see, asked of it for each code point.
"""

import gzip
import hashlib
import shutil
import subprocess
import tempfile
from itertools import groupby
from pathlib import Path

HERE = Path(__file__).parent
CRATE = "0.3.2"
# SHA-256 of the published files, as tiktoken checks them after download.
PUBLISHED = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
# A letter for each character class that a pattern distinguishes, and the class's expression.
CLASSES = {
    "n": r"[\r\n]",
    "w": r"[\s&&[^\r\n]]",
    "l": r"\p{Ll}",
    "u": r"[\p{Lu}\p{Lt}]",
    "c": r"[\p{Lm}\p{Lo}]",
    "m": r"\p{M}",
    "d": r"\p{N}",
    "p": r"\p{P}",
    "s": r"\p{S}",
}
POINTS = [*range(0xD800), *range(0xE000, 0x110000)]


def classes() -> str:
    """Lines of first and last code point and a class, without those of no class."""
    from tiktoken import Encoding

    found = {}
    ranks = {bytes([byte]): byte for byte in range(256)}
    for letter, pattern in CLASSES.items():
        encoding = Encoding("class", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        # Text that no pattern matches has no tokens.
        seen = encoding.decode(encoding.encode_ordinary("".join(map(chr, POINTS))))
        for character in seen:
            assert found.setdefault(ord(character), letter) == letter
    lines = []
    for _, run in groupby(enumerate(sorted(found)), key=lambda at: (at[1] - at[0], found[at[1]])):
        points = [point for _, point in run]
        lines.append(f"{points[0]:X} {points[-1]:X} {found[points[0]]}\n")
    return "".join(lines)


def vocabularies(folder: Path) -> None:
    """Copies the rank files out of the crate, if they are the published ones."""
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "src").mkdir()
        (Path(scratch) / "src" / "lib.rs").touch()
        manifest = f'[package]\nname = "fetch"\nversion = "0.0.0"\n[dependencies]\nbpe-openai = "={CRATE}"\n'
        (Path(scratch) / "Cargo.toml").write_text(manifest)
        subprocess.run(["cargo", "vendor", "--quiet", "vendor"], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        for name, digest in PUBLISHED.items():
            file = Path(scratch) / "vendor" / "bpe-openai" / "data" / f"{name}.tiktoken.gz"
            assert hashlib.sha256(gzip.decompress(file.read_bytes())).hexdigest() == digest
            shutil.copyfile(file, folder / file.name)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        vocabularies(Path(scratch))
        (Path(scratch) / "classes.txt").write_text(classes())
        for file in sorted(Path(scratch).iterdir()):
            ours = HERE / file.name
            same = ours.exists() and ours.read_bytes() == file.read_bytes()
            print(f"{'same' if same else 'new '}  {hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}")
            shutil.copyfile(file, ours)


if __name__ == "__main__":
    main()
