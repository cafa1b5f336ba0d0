"""Build the wheel twice, in two folders, and compare: ``make reproducible``.

Each build is of the commit, in a clone of its own with an empty target folder, at a path of another length. The time in
the wheel is that of the commit (``SOURCE_DATE_EPOCH``), and no path of this machine stands in it. Prints both digests;
the exit code is 1 where they differ, with the first entry of the wheel that does.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from itertools import zip_longest
from pathlib import Path

from finish import commit_time, finish, settings

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("one", "another-folder")


def output(*command: str, env: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    """Return what a command prints.

    Raises:
        SystemExit: it failed; its last lines are printed.
    """
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        print("\n".join((done.stdout + done.stderr).splitlines()[-40:]), file=sys.stderr)
        raise SystemExit(f"failed: {command[0]}")
    return done.stdout.strip()


def built(folder: Path, commit: str, profile: str) -> Path:
    """Return the wheel of a commit, built in a folder."""
    output("git", "clone", "--quiet", str(ROOT), str(folder))
    output("git", "checkout", "--quiet", commit, cwd=folder)
    env = {**os.environ, **settings(folder)}
    env.pop("CARGO_TARGET_DIR", None)
    maturin = str(Path(sys.executable).with_name("maturin"))
    output(maturin, "build", "--locked", "--profile", profile, "--out", "made", env=env, cwd=folder)
    (wheel,) = (folder / "made").glob("*.whl")
    finish(wheel)
    return wheel


def difference(one: Path, other: Path) -> str:
    """Return the first entry in which two wheels differ; empty where none does."""
    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        for mine, theirs in zip_longest(first.infolist(), second.infolist()):
            if mine is None or theirs is None or mine.filename != theirs.filename:
                return f"entries {mine and mine.filename} and {theirs and theirs.filename}"
            if first.read(mine) != second.read(theirs):
                return f"{mine.filename}: its content"
            if (mine.date_time, mine.external_attr) != (theirs.date_time, theirs.external_attr):
                return f"{mine.filename}: its time or its mode"
    return "" if one.read_bytes() == other.read_bytes() else "the archive around its entries"


def main() -> int:
    """Build twice and compare; return 1 where the wheels differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--profile", default="release", help="of Cargo.toml; dev is faster and shows the same")
    profile = parser.parse_args().profile
    commit = output("git", "rev-parse", "HEAD")  # another one may come while this one is built
    os.environ["SOURCE_DATE_EPOCH"] = str(commit_time())
    print(f"{output('git', 'log', '-1', '--format=%h %s', commit)}; {output('rustc', '--version')}; profile {profile}")
    with tempfile.TemporaryDirectory(prefix="trimtab-reproducible-") as scratch:
        wheels = []
        for name in FOLDERS:
            wheels.append(built(Path(scratch) / name, commit, profile))
            print(f"{hashlib.sha256(wheels[-1].read_bytes()).hexdigest()}  {wheels[-1].name}", flush=True)
        if found := difference(*wheels):
            print(f"they differ: {found}")
            return 1
    print("the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
