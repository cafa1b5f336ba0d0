"""Five seeded corpora, made from files of the machine: tuples of texts of at most 100,000 characters.

- prose: documentation and manual pages
- code: Python, Rust, C, JavaScript and Perl sources
- logs: JSON, directory listings, package lists, synthetic server logs; lines of recorded sessions, if there are any
- multilingual: translated messages and manual pages of Chinese, Japanese, Korean, Russian, Arabic, Greek, Thai, ...
- chat: 100,000 passages of the other four, of the lengths that an agent's messages have

``<|`` is written ``< |``, because two of the rivals always read the spelling of a special token as that token.
"""

from __future__ import annotations

import gzip
import hashlib
import random
import re
import subprocess
import sysconfig
from functools import cache
from gettext import GNUTranslations
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

NAMES = ("prose", "code", "logs", "multilingual", "chat")
BYTES = 8_000_000
"""UTF-8 bytes of each corpus but ``chat``."""
SMALL = 400_000
"""UTF-8 bytes of each corpus where a bench is only to be tried."""
LONGEST = 100_000  # characters of one text
MESSAGES = 100_000
SEED = 20_261_122

SESSIONS = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "transcripts"
SHARE = Path("/usr/share")
STDLIB = Path(sysconfig.get_paths()["stdlib"])
LOCALES = ("zh_CN", "zh_TW", "ja", "ko", "ru", "ar", "el", "th", "he", "hi", "fa", "uk", "vi", "tr", "ta", "bn", "ka")
TAG = re.compile(r"<[^>]*>")


@cache
def corpus(name: str) -> tuple[str, ...]:
    """The texts of a corpus.

    Raises:
        ValueError: unknown name, or the machine has too few files.
    """
    if name == "chat":
        return tuple(_messages())
    sources = {"prose": _prose, "code": _code, "logs": _logs, "multilingual": _multilingual}
    if name not in sources:
        msg = f"unknown corpus {name!r}, known are {', '.join(NAMES)}"
        raise ValueError(msg)
    texts = list(_unique(sources[name](random.Random(f"{SEED} {name}"))))
    if size(texts) < BYTES // 8:
        msg = f"this machine has only {size(texts):,} bytes for {name}"
        raise ValueError(msg)
    return tuple(texts)


def first_bytes(texts: Sequence[str], limit: int) -> list[str]:
    """The first texts with ``limit`` UTF-8 bytes together, at least one."""
    ends = accumulate(len(text.encode()) for text in texts)
    return [text for n, (text, end) in enumerate(zip(texts, ends, strict=True)) if end <= limit or not n]


def halves(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Every second text, and the others: what a counter has seen before, and text of the same kind that is new."""
    return list(texts[::2]), list(texts[1::2])


def size(texts: Iterable[str]) -> int:
    """UTF-8 bytes."""
    return sum(len(text.encode()) for text in texts)


def digest(texts: Iterable[str]) -> str:
    """SHA-256 of the texts, 12 hexadecimal digits."""
    hashed = hashlib.sha256()
    for text in texts:
        hashed.update(text.encode() + b"\0")
    return hashed.hexdigest()[:12]


def _unique(texts: Iterable[str]) -> Iterator[str]:
    """Each text once, at most ``LONGEST`` characters of it, until there are ``BYTES``."""
    seen, left = set(), BYTES
    for text in texts:
        cut = text[:LONGEST].replace("<|", "< |")
        if len(cut) < 200 or (key := hash(cut)) in seen:
            continue
        seen.add(key)
        yield cut
        left -= len(cut.encode())
        if left <= 0:
            return


def _read(path: Path) -> str:
    """A file as text; empty if it cannot be read as text."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return data.decode()
    except (OSError, EOFError, UnicodeDecodeError):
        return ""


def _shuffled(rng: random.Random, *patterns: tuple[Path, str]) -> list[Path]:
    """Files in an order that depends on the machine's files and the seed only."""
    found = [path for root, pattern in patterns if root.is_dir() for path in sorted(root.rglob(pattern))]
    found = [path for path in found if path.is_file() and not path.is_symlink()]
    rng.shuffle(found)
    return found


def _prose(rng: random.Random) -> Iterator[str]:
    rust = Path.home() / ".rustup" / "toolchains"
    files = _shuffled(
        rng,
        (SHARE / "doc", "*.txt*"),
        (SHARE / "doc", "README*"),
        (SHARE / "man" / "man1", "*.gz"),
        (SHARE / "man" / "man5", "*.gz"),
        (SHARE / "man" / "man7", "*.gz"),
        (SHARE / "perl", "*.pod"),
        (SHARE / "vim", "*.txt"),
        (rust, "*.md"),
        (STDLIB, "*.rst"),
    )
    for path in files:
        text = _read(path)
        yield TAG.sub("", text) if path.suffix in {".html", ".htm"} else text


def _code(rng: random.Random) -> Iterator[str]:
    crates = Path.home() / ".cargo" / "registry" / "src"
    roots = ((STDLIB, "*.py"), (crates, "*.rs"), (Path("/usr/include"), "*.h"), (SHARE, "*.js"), (SHARE, "*.pm"))
    kinds = [_shuffled(rng, root) for root in roots]
    while any(kinds):  # by turns, so that every language has a share
        for kind in kinds:
            if kind:
                yield _read(kind.pop())


def _logs(rng: random.Random) -> Iterator[str]:
    listings = [_listing(path) for path in (SHARE / "doc", SHARE / "perl", STDLIB)]
    packages = [_read(path) for path in _shuffled(rng, (Path("/var/lib/dpkg/info"), "*.md5sums"))]
    objects = [_read(path) for path in _shuffled(rng, (Path("/usr/lib"), "*.json"), (SHARE, "*.json"))]
    sessions = [
        "\n".join(lines[at : at + 40])
        for path in _shuffled(rng, (SESSIONS, "*.jsonl"))[:20]
        for lines in [_read(path).splitlines()]
        for at in range(0, len(lines), 40)
    ]
    kinds = [listings, packages, objects, sessions, [_server(rng) for _ in range(120)]]
    for kind in kinds:
        rng.shuffle(kind)
    while any(kinds):
        for kind in kinds:
            if kind:
                yield kind.pop()


def _listing(path: Path) -> str:
    """The beginning of ``ls -laR``, without times."""
    if not path.is_dir():
        return ""
    command = ["ls", "-laR", "--time-style=+%Y", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, errors="replace").stdout[:LONGEST]


def _server(rng: random.Random) -> str:
    """A web server's log of 100 to 400 lines."""
    paths = ("/api/v1/messages", "/healthz", "/static/app.js", "/login", "/v1/sessions/42/events", "/metrics")
    lines = []
    for n in range(rng.randint(100, 400)):
        address = ".".join(str(rng.randint(1, 254)) for _ in range(4))
        ident = f"{rng.getrandbits(128):032x}"
        lines.append(
            f"2026-11-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:{n % 60:02}:{rng.randint(0, 59):02}."
            f"{rng.randint(0, 999):03}Z {rng.choice(('INFO', 'WARN', 'ERROR', 'DEBUG'))} [{rng.choice('abcdef')}-"
            f"{rng.randint(0, 9)}] {address} {rng.choice(('GET', 'POST', 'PUT'))} {rng.choice(paths)} "
            f"{rng.choice((200, 201, 204, 301, 404, 429, 500))} {rng.randint(20, 90_000)}B {rng.random() * 900:.3f}ms "
            f"trace={ident[:8]}-{ident[8:12]}-{ident[12:16]}-{ident[16:20]}-{ident[20:]}"
        )
    return "\n".join(lines)


def _multilingual(rng: random.Random) -> Iterator[str]:
    kinds = []
    for locale in LOCALES:
        manuals = [_read(path) for path in _shuffled(rng, (SHARE / "man" / locale, "*.gz"))]
        messages = _translations(SHARE / "locale" / locale / "LC_MESSAGES")
        texts = [*manuals, *messages]
        rng.shuffle(texts)
        kinds.append(texts)
    while any(kinds):
        for kind in kinds:
            if kind:
                yield kind.pop()


def _translations(folder: Path) -> Iterator[str]:
    """The translated messages of a locale, forty to a text."""
    for path in sorted(folder.glob("*.mo")) if folder.is_dir() else ():
        with path.open("rb") as file:
            try:
                catalog = GNUTranslations(file)
            except (OSError, ValueError, UnicodeDecodeError):
                continue
        texts = catalog._catalog.values()  # noqa: SLF001 - gettext has no public way to list them
        translated = [text for text in texts if isinstance(text, str) and not text.isascii()]
        for at in range(0, len(translated), 40):
            yield "\n".join(translated[at : at + 40])


def _messages() -> Iterator[str]:
    """Passages of the other corpora: half under 180 characters, a tenth over 820, the longest 50,000."""
    rng = random.Random(f"{SEED} chat")
    shares = {"prose": 0.4, "code": 0.3, "logs": 0.25, "multilingual": 0.05}
    pools = {name: corpus(name) for name in shares}
    for name in rng.choices(list(shares), list(shares.values()), k=MESSAGES):
        length = min(int(rng.lognormvariate(5.19, 1.18)) + 1, 50_000)
        text = rng.choice(pools[name])
        start = rng.randrange(max(len(text) - length, 1))
        yield text[start : start + length]
