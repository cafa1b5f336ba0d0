"""Install an environment from files of exact versions with hashes: ``python tools/environment.py FOLDER FILE...``.

The files are those of ``requirements/``, which ``make lock`` writes. A package with another hash is refused.
uv installs, because seven environments take pip minutes; uv itself comes from ``requirements/uv.txt`` by pip.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "requirements"
UV_FOLDER = ROOT / ".venv"
"""The environment that has uv, for the others too."""

TRIES, PAUSE = 3, 5.0
"""How often a fault of the network is tried, and the seconds between."""

NETWORK = re.compile(
    r"(?i)timed? ?out|\bconnection\b|\bnetwork\b|temporary failure|name resolution|dns error|unreachable|reset by peer"
    r"|error sending request|failed to fetch|max retries|\bssl\b|\b(?:429|50[0234])\b"
)
"""What a client says of a fault of the network, and not of a package."""

CAUSES = (re.compile(r"(?i)hash mismatch|because|no matching|conflict"), re.compile(r"(?i)error|not found"))
"""Lines of a client that name a cause, the best kind first."""


def python_of(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def cause_of(said: str) -> str:
    """Return the line of a client's output that names the cause best, without the tree that uv draws."""
    lines = [line.strip(" \u00d7\u2570\u2500\u25b6\u2502") for line in said.splitlines() if line.strip()]
    found = (line for cause in CAUSES for line in lines if cause.search(line))
    return re.sub(r"^(?:error|cause): ", "", next(found, lines[-1] if lines else "no output"))


def run(command: list[str], what: str) -> str:
    """Run a command of pip or uv, a fault of the network up to three times; return what it printed.

    Raises:
        SystemExit: it failed; one line names the cause.
    """
    for attempt in range(1, TRIES + 1):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.returncode:
            return done.stdout
        said = f"{done.stdout}\n{done.stderr}"
        if not NETWORK.search(said):
            raise SystemExit(f"{what} does not install: {cause_of(said)}")
        print(f"{what}: the network failed, attempt {attempt} of {TRIES}: {cause_of(said)}", file=sys.stderr)
        if attempt < TRIES:
            time.sleep(PAUSE)
    raise SystemExit(f"{what}: the network failed {TRIES} times; nothing is wrong with the packages")


def make(folder: Path, python: str = sys.executable) -> None:
    """Make an environment where there is none."""
    if not python_of(folder).exists():
        subprocess.run([python, "-m", "venv", folder], check=True)


def uv() -> str:
    """Return the program uv in the release of its file, which is installed first where it is another."""
    make(UV_FOLDER)
    program, lock = python_of(UV_FOLDER).with_name("uv"), LOCKS / "uv.txt"
    wanted = re.search(r"^uv==(\S+)", lock.read_text(), re.MULTILINE)
    there = (
        subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        if program.exists()
        else None
    )
    if not wanted or there is None or there.stdout.split()[1:2] != [wanted[1]]:
        pip = [str(python_of(UV_FOLDER)), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        run([*pip, "--require-hashes", "--no-deps", "-r", str(lock)], lock.name)
    return str(program)


def install(folder: Path, *locks: Path) -> None:
    """Install the packages of files into an environment, which is made where there is none.

    Raises:
        SystemExit: a package does not install, or its hash is another; says which.
    """
    make(folder)
    for lock in locks:
        command = [uv(), "pip", "install", "--quiet", "--python", str(python_of(folder))]
        run([*command, "--require-hashes", "--no-deps", "-r", str(lock)], lock.name)


def install_wheel(folder: Path, wheel: Path) -> None:
    """Install a wheel of ours in the place of an earlier one of the same version."""
    command = [uv(), "pip", "install", "--quiet", "--offline", "--python", str(python_of(folder))]
    run([*command, "--reinstall", "--no-deps", str(wheel)], wheel.name)


def download(folder: Path, lock: Path, *options: str) -> None:
    """Download the files of packages, with their hashes checked, into a folder."""
    pip = [str(python_of(UV_FOLDER)), "-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--no-deps"]
    run([*pip, "--require-hashes", *options, "--dest", str(folder), "-r", str(lock)], lock.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of the environment, or of the files with --download or --wheel")
    parser.add_argument("files", nargs="+", type=Path, help="files of requirements/, or a wheel with --wheel")
    parser.add_argument("--wheel", action="store_true", help="install a wheel of ours, without its dependencies")
    parser.add_argument("--download", metavar="OPTIONS", help="download with options of pip, and install nothing")
    options = parser.parse_args()
    if options.wheel:
        install_wheel(options.folder, *options.files)
    elif options.download is not None:
        download(options.folder, *options.files, *options.download.split())
    else:
        install(options.folder, *options.files)


if __name__ == "__main__":
    main()
