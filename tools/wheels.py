"""Build the wheels that this machine can build, and the source distribution, and check each: ``make wheels``.

Every Linux wheel is linked by zig, which has the libc of each target: an old glibc, and musl. Wheels for macOS and
Windows are built by the release workflow on their own machines. A target whose standard library cannot be had here is
named and left out. What is built is checked: its size, the glibc it needs, the stable ABI, its list of contents.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from finish import finish, settings

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
LIMIT = 7_000_000
"""Most bytes of a wheel."""

INSTALLED = 18_000_000
"""Most bytes of its files."""

SOURCE = "source"
STABLE = "3.11"
"""The Python whose wheel, of the stable ABI, serves all later ones."""


OWN_SYMBOLS = {"PyModExport__core"}
"""What a library exports by PEP 793, from 3.15 on: abi3audit 0.0.26 takes our own name for one of the interpreter's."""


@dataclass(frozen=True)
class Target:
    """A platform of Linux: Rust's name for it, pip's, and what the compiler is told."""

    triple: str
    platform: str
    flags: str = ""

    @property
    def name(self) -> str:
        """The name for ``--only``: processor and platform."""
        return f"{self.triple.split('-')[0]}-{self.platform}"


# A shared library cannot have musl in it: it is that of the interpreter.
TARGETS = (
    Target("x86_64-unknown-linux-gnu", "manylinux_2_17"),
    Target("aarch64-unknown-linux-gnu", "manylinux_2_17"),
    Target("x86_64-unknown-linux-musl", "musllinux_1_2", "-C target-feature=-crt-static"),
    Target("aarch64-unknown-linux-musl", "musllinux_1_2", "-C target-feature=-crt-static"),
)


def run(*command: str, env: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    """Run a command; return what it printed.

    Raises:
        SystemExit: it failed; its last lines are printed.
    """
    programs = os.pathsep.join(
        (str(Path(sys.executable).parent), os.environ.get("PATH", ""))
    )  # zig is found by python3
    env = {**os.environ, "PATH": programs, **(env or {})}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        print("\n".join((done.stdout + done.stderr).splitlines()[-40:]), file=sys.stderr)
        raise SystemExit(f"failed: {' '.join(command)}")
    return done.stdout + done.stderr


def tool(name: str) -> str:
    """Return the path of a program of this environment."""
    return str(Path(sys.executable).with_name(name))


def has(triple: str) -> str:
    """Return why Rust's standard library for a target cannot be had; empty if it is there."""
    done = subprocess.run(("rustup", "target", "add", triple), capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["rustup failed"])[-1]


def build(target: Target, python: str) -> Path:
    """Build one wheel; return it."""
    env = settings(ROOT)
    env["RUSTFLAGS"] = f"{env['RUSTFLAGS']} {target.flags}".strip()
    with tempfile.TemporaryDirectory(prefix="wheel-", dir=DIST) as folder:  # DIST may have one of that name
        run(
            *(tool("maturin"), "build", "--release", "--locked", "--zig", "--compatibility", target.platform),
            *("--target", target.triple, "-i", f"python{python}", "--out", folder),
            env=env,
        )
        (made,) = Path(folder).glob("*.whl")
        finish(made)
        return made.replace(DIST / made.name)


def check(wheel: Path, target: Target) -> str:
    """Return what a wheel is, in one line.

    Raises:
        SystemExit: it is too large, needs a later libc, leaves the stable ABI, or has no list of contents.
    """
    size = wheel.stat().st_size
    with zipfile.ZipFile(wheel) as file:
        entries = file.infolist()
    installed = sum(entry.file_size for entry in entries)
    if size > LIMIT or installed > INSTALLED:
        raise SystemExit(f"{wheel.name} has {size:,} bytes, {installed:,} installed; at most {LIMIT:,}, {INSTALLED:,}")
    if not any(entry.filename.endswith(".cyclonedx.json") for entry in entries):
        raise SystemExit(f"{wheel.name} has no list of what is built in")
    told = run(tool("auditwheel"), "show", str(wheel))
    if f'"{target.platform}_{target.triple.split("-")[0]}"' not in " ".join(told.split()):
        raise SystemExit(f"{wheel.name} is not {target.platform}: {' '.join(told.split())}")
    abi = stable(wheel)
    return f"{size:,} bytes, {installed:,} installed, {target.platform}{abi}"


def stable(wheel: Path) -> str:
    """Return the stable ABI of a wheel in words; empty for a wheel of one Python.

    Raises:
        SystemExit: it needs what the stable ABI of its oldest Python has not.
    """
    named = re.search(r"-cp3(\d+)-(abi3[\w.]*)-", wheel.name)
    if named is None:
        return ""
    oldest = f"3.{named[1]}"
    audit = (tool("abi3audit"), "--report", "--assume-minimum-abi3", oldest, str(wheel))
    report = subprocess.run(audit, capture_output=True, text=True, check=False).stdout  # 1 where it finds anything
    for found in json.loads(report)["specs"].values():
        for library in (each["result"] for each in found["wheel"]):
            strange = set(library["non_abi3_symbols"]) - OWN_SYMBOLS
            if strange or not library["is_abi3_baseline_compatible"]:
                raise SystemExit(f"{wheel.name} is not of the stable ABI of {oldest}: {library}")
    kinds = {"abi3": "the stable ABI", "abi3.abi3t": "the stable ABI, with the GIL and without,"}
    return f", {kinds[named[2]]} of {oldest}"


def source() -> str:
    """Build the source distribution, and a wheel from it with nothing but what is on this disk; return a line."""
    for old in DIST.glob("*.tar.gz"):
        old.unlink()
    run(tool("maturin"), "sdist", "--out", str(DIST))
    (made,) = DIST.glob("*.tar.gz")
    with tempfile.TemporaryDirectory(prefix="trimtab-source-") as folder:
        with tarfile.open(made) as file:
            file.extractall(folder, filter="data")
        (unpacked,) = Path(folder).iterdir()
        run("cargo", "fetch", "--locked", cwd=unpacked)
        run(
            *(
                sys.executable,
                "-m",
                "pip",
                "wheel",
                "--no-build-isolation",
                "--no-deps",
                "--no-index",
                "-w",
                folder,
                ".",
            ),
            env={"CARGO_NET_OFFLINE": "true", "MATURIN_PEP517_ARGS": "--locked --profile dev"},
            cwd=unpacked,
        )
    return f"{made.stat().st_size:,} bytes; built without a network"


def main() -> int:
    """Build and check what is asked for; return 1 if a target was asked for and refused."""
    names = [target.name for target in TARGETS]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=[*names, SOURCE], default=[*names, SOURCE], metavar="NAME")
    parser.add_argument(
        "--python", nargs="+", default=[STABLE], help="3.11 and 3.15t are stable ABIs; 3.14t is one Python"
    )
    asked = parser.parse_args()
    DIST.mkdir(exist_ok=True)
    refused = 0
    for target in (target for target in TARGETS if target.name in asked.only):
        if why := has(target.triple):
            print(f"{target.name}: refused here: {why}", flush=True)
            refused += 1
            continue
        for python in asked.python:
            wheel = build(target, python)
            print(f"{wheel.name}: {check(wheel, target)}", flush=True)
    if SOURCE in asked.only:
        print(f"source distribution: {source()}", flush=True)
    return int(refused == len(asked.only))


if __name__ == "__main__":
    sys.exit(main())
