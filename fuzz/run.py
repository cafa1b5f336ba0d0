"""Fuzzes the core on a stable toolchain, with libFuzzer: ``make fuzz``, ``make fuzz-short``, ``make fuzz-planted``.

Without cargo-fuzz: the flags are those of ``cargo fuzz run -s none``. One build serves all targets. A target
begins with the seeds of ``fuzz/corpus/``; what it learns and what it finds is left in ``target/fuzz/corpus/``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "target" / "fuzz"
TARGETS = tuple(sorted(path.stem for path in (ROOT / "fuzz" / "fuzz_targets").glob("*.rs")))

PASSES = ("level=4", "inline-8bit-counters", "pc-table", "trace-compares")
FLAGS = " ".join(
    ["--cfg fuzzing", "-Cpasses=sancov-module", *(f"-Cllvm-args=-sanitizer-coverage-{flag}" for flag in PASSES)]
)

PLANTED = {
    "claude": (
        "tokens/src/claude/windows.rs",
        "sure - usize::from(sure > 0 && quotes >> (sure - 1) & 1 != 0)",
        "sure",
    ),
    "engine": ("tokens/src/bpe/pretokenize/masks.rs", "true) as u32;", "true) as u32 * 0;"),
    "jsonl": (
        "core/src/jsonl.rs",
        "self.walk.place.pass_lines(bytes, found.iter().map(|(lines, _)| lines).sum());",
        "",
    ),
    "media": ("core/src/media.rs", "if long <= edge && fits(long, short)", "if long <= edge"),
    "rules": (
        "core/src/validate/anthropic.rs",
        "\n            && answers.clone().all(|row| ledger.kind[row] == Kind::Result)",
        "",
    ),
    "shapes": ("core/src/ledger/groups.rs", "*latest = before[call];", ""),
    "truncation": ("core/src/truncate/fit.rs", "if bytes > 0 && limits.hold(&made, counter)", "if bytes > 0"),
    "zones": ("core/src/ledger/cut.rs", "if tail > keep", "if tail >= keep"),
}
"""For each target a bug, as a file of ``rust``, what it says and what a copy of it says instead."""


def unable() -> str | None:
    """Why nothing can be fuzzed here; None where it can."""
    if sys.platform not in {"linux", "darwin"}:
        return f"the flags are not known on {sys.platform}"
    compiler = os.environ.get("CXX", "c++").split()[0]
    return None if shutil.which(compiler) else f"libFuzzer needs a C++ compiler, and there is no {compiler}"


def built(root: Path) -> Path:
    """Builds all targets of the tree at ``root``; gives their folder."""
    said = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = re.search(r"^host: (.*)$", said, re.MULTILINE)[1]
    manifest, folder = root / "fuzz" / "Cargo.toml", ROOT / "fuzz" / "target"
    command = ["cargo", "build", "--locked", "--quiet", "--release", "--bins", "--target", host]
    began = time.monotonic()
    # With a target named, build scripts and macros go without the flags.
    environment = os.environ | {"RUSTFLAGS": FLAGS, "CARGO_TARGET_DIR": str(folder)}
    subprocess.run([*command, "--manifest-path", str(manifest)], check=True, env=environment)
    print(f"{len(TARGETS)} targets built in {time.monotonic() - began:.0f} s", flush=True)
    return folder / host / "release"


def fuzzed(binary: Path, seconds: int, seed: int, *corpora: Path) -> tuple[bool, str]:
    """Fuzzes for so long, or until a crash; whether there was one, and all that was said. The first corpus grows."""
    corpora[0].mkdir(parents=True, exist_ok=True)
    ways = [f"-seed={seed}", f"-max_total_time={seconds}", "-max_len=400", "-timeout=20", "-print_final_stats=1"]
    where = [*map(str, corpora), f"-artifact_prefix={corpora[0].parent / binary.name}-"]
    ran = subprocess.run([str(binary), *ways, *where], capture_output=True, text=True, errors="replace", check=False)
    return ran.returncode != 0, ran.stderr


def last(pattern: str, said: str) -> str:
    """The last number that a pattern finds."""
    return (re.findall(pattern, said) or ["?"])[-1]


def told(name: str, said: str) -> str:
    """Executions and edges, in a line."""
    runs, edges = last(r"stat::number_of_executed_units: +(\d+)", said), last(r"cov: (\d+)", said)
    return f"{name:<12}{runs:>10} runs{edges:>7} edges"


def fuzz(names: list[str], seconds: int, seed: int) -> int:
    """Fuzzes each target in turn; the number of those that crashed."""
    binaries, crashed = built(ROOT), 0
    for name in names:
        found, said = fuzzed(binaries / name, seconds, seed, KEPT / "corpus" / name, ROOT / "fuzz" / "corpus" / name)
        print(told(name, said), flush=True)
        if found:
            crashed += 1
            print(said[-4_000:], file=sys.stderr)
    return crashed


def plant(names: list[str], seconds: int, seed: int, *, seeded: bool) -> int:
    """Puts the bugs into a copy of the tree and fuzzes that; the number of bugs that were not found."""
    tree = KEPT / "planted"
    shutil.rmtree(tree, ignore_errors=True)
    for folder in ("rust", "fuzz"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("target", "__pycache__"))
    for file in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / file, tree)
    for file, says, instead in PLANTED.values():
        path = tree / "rust" / file
        if path.read_text().count(says) != 1:
            sys.exit(f"{file} does not say {says!r} once: plant another bug, in fuzz/run.py")
        path.write_text(path.read_text().replace(says, instead))
    binaries, missed = built(tree), 0
    for name in names:
        with tempfile.TemporaryDirectory() as corpus:
            seeds = [ROOT / "fuzz" / "corpus" / name] if seeded else []
            found, said = fuzzed(binaries / name, seconds, seed, Path(corpus) / name, *seeds)
        missed += not found
        print(told(name, said), "found by" if found else "NOT FOUND", panic(said), flush=True)
    return missed


def panic(said: str) -> str:
    """Where a target panicked, and the first line of what it said."""
    where = re.search(r"panicked at (.*):\d+:\n(.*)", said)
    return f"{where[1]}: {where[2][:80]}" if where else ""


def main() -> int:
    """Fuzz the targets that the command line names; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="target", help=f"of {', '.join(TARGETS)}; without one, all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=0, help="of what is tried; 0 takes another one each time")
    parser.add_argument("--planted", action="store_true", help="in a copy with a bug for each target: it must be found")
    parser.add_argument("--unseeded", action="store_true", help="those bugs, from nothing")
    asked = parser.parse_args()
    if why := unable():
        print(f"fuzzing is skipped: {why}")
        return 0
    KEPT.mkdir(parents=True, exist_ok=True)
    names = asked.targets or list(TARGETS)
    if asked.planted:
        return plant(names, asked.seconds, asked.seed, seeded=not asked.unseeded)
    return fuzz(names, asked.seconds, asked.seed)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
