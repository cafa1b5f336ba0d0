"""Try the wheel for this machine as users install it: ``make try-wheels``, after ``make wheels``.

Each Python of the machine that the wheel serves gets a fresh environment with nothing but the wheel and numpy, which
comes from the registry. Then a folder with a Python, its libraries and what is installed is made the root of the file
system, where there is no shell, no compiler and no other program. In each: ``trimtab demo``, and the counts of
generated texts in both encodings of OpenAI on each page of vector instructions, beside those of tiktoken. Prints a row
each; the exit code is 1 where anything failed or differs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "benches"), str(ROOT / "tests"), str(ROOT / "tests" / "unit" / "counting")]
ENCODINGS = ("o200k_base", "cl100k_base")
PAGES = ("avx2", "v128", "portable")

FIRST = "import trimtab; print(trimtab.Counter('o200k_base').count('hello world'))"
COUNT = """
import json, sys
import trimtab
texts, expected = json.load(open(sys.argv[1]))
for name, counts in expected.items():
    found = trimtab.Counter(name).count_many(texts).tolist()
    print(sum(one != other for one, other in zip(found, counts, strict=True)))
"""
"""Prints how many texts have another count, a line for each encoding."""


def expected(number: int, folder: Path) -> Path:
    """Write generated texts and tiktoken's counts of them; return the file."""
    import _rivals
    import tiktoken
    from test_counter_generated import generated

    _rivals.write_vocabularies()
    os.environ["TIKTOKEN_CACHE_DIR"] = str(_rivals.FOLDER / "tiktoken")
    texts = list(generated(27, number))
    counts = {name: [*map(len, tiktoken.get_encoding(name).encode_ordinary_batch(texts))] for name in ENCODINGS}
    file = folder / "texts.json"
    file.write_text(json.dumps([texts, counts]))
    return file


def pythons() -> dict[str, Path]:
    """Return the interpreters of this machine that the wheel serves, by version."""
    places = [*Path.home().glob(".pyenv/versions/*/bin/python3"), *Path("/usr/bin").glob("python3.[0-9]*")]
    found: dict[str, Path] = {}
    for place in sorted({place.resolve() for place in places} | {Path(sys.executable).resolve()}):
        asked = subprocess.run((place, "-VV"), capture_output=True, text=True, check=False).stdout
        version = re.match(r"Python 3\.(\d+)\.\d+\S*", asked)
        if version and int(version[1]) >= 11 and "free-threading" not in asked:
            found.setdefault(version[0].removeprefix("Python "), place)
    return found


def output(*command: str | Path, env: dict[str, str] | None = None) -> str:
    """Return what a command prints.

    Raises:
        RuntimeError: it failed; its last line.
    """
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1])
    return done.stdout


def tried(run: tuple[str | Path, ...], texts: str, home: str, **more: str) -> str:
    """Return how demo and counts went, where ``run`` begins a command with a Python and ``texts`` is there."""
    alone = {"HOME": home, "LANG": "C.UTF-8", "PATH": "/usr/sbin", **more}  # chroot's folder, which has no compiler
    output(*run, "-m", "trimtab", "demo", f"{home}/demo", env=alone)
    results = []
    for page in PAGES:
        try:
            differ = output(*run, "-c", COUNT, texts, env={**alone, "TRIMTAB_SIMD": page}).split()
            results.append(f"{page} {'+'.join(differ)} differ")
        except RuntimeError as error:
            results.append(f"{page}: {error}")
    return f"demo ok; {', '.join(results)}"


def installed(python: Path, wheel: Path, folder: Path) -> str:
    """Install the wheel for a Python in a fresh environment; return how long it took until the first count."""
    output(python, "-m", "venv", folder)
    began = time.monotonic()
    own = folder / "bin" / "python"
    output(own, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--only-binary=:all:", wheel)
    output(own, "-c", FIRST)
    return f"installed and counted in {time.monotonic() - began:.1f} s"


def bare_root(python: Path, environment: Path, root: Path) -> None:
    """Make a folder that can be the root of a file system: a Python with its libraries, and what is installed."""
    library = Path(output(python, "-c", "import os; print(os.path.dirname(os.__file__))").strip())
    without = shutil.ignore_patterns("test", "site-packages", "dist-packages", "config-*")
    shutil.copytree(library, root / "py" / "lib" / library.name, symlinks=True, ignore=without)
    (root / "py" / "bin").mkdir()
    shutil.copy(python, root / "py" / "bin" / "python3")
    (packages,) = environment.glob("lib/python3.*/site-packages")
    for package in packages.iterdir():
        if package.name.startswith(("trimtab", "numpy")):
            shutil.copytree(package, root / "packages" / package.name, symlinks=True)
    libraries = {python, *(root / "py").rglob("*.so*"), *(root / "packages").rglob("*.so*")}
    said = "\n".join(
        subprocess.run(("ldd", file), capture_output=True, text=True, check=False).stdout for file in libraries
    )
    for needed in {Path(name) for name in re.findall(r"(/\S+) \(0x", said)}:
        if not needed.is_relative_to(root):
            (root / needed.relative_to("/").parent).mkdir(parents=True, exist_ok=True)
            shutil.copy(needed, root / needed.relative_to("/"))
    (root / "tmp").mkdir()


def main() -> int:
    """Try the wheel everywhere; return 1 where anything failed or differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", nargs="?", type=Path, help="default: the one in dist/ for this machine")
    parser.add_argument("--texts", type=int, default=100_000)
    options = parser.parse_args()
    wheels = [options.wheel] if options.wheel else sorted((ROOT / "dist").glob("*-cp311-abi3-manylinux*x86_64.whl"))
    if not wheels:
        raise SystemExit('no wheel in dist/: make wheels ARGS="--only x86_64-manylinux_2_17"')
    wheel = next((each for each in wheels if "manylinux2014" in each.name), wheels[0])
    print(f"{wheel.name}, {options.texts:,} texts in {' and '.join(ENCODINGS)}", flush=True)
    rows = []
    with tempfile.TemporaryDirectory(prefix="trimtab-try-") as scratch:
        folder = Path(scratch)
        texts = expected(options.texts, folder)
        served = pythons()
        for version, python in served.items():
            environment = folder / version
            rows.append(f"Python {version}: {installed(python, wheel, environment)}; ")
            rows[-1] += tried((environment / "bin" / "python",), str(texts), str(folder / f"home-{version}"))
            print(rows[-1], flush=True)
        if os.geteuid() != 0:
            print("a root of its own: not tried, chroot takes root")
        else:
            root = folder / "root"
            version, python = next(iter(served.items()))
            bare_root(python, folder / version, root)
            shutil.copy(texts, root / "texts.json")
            run = ("chroot", root, "/py/bin/python3")
            where = {"PYTHONPATH": "/packages", "PYTHONHOME": "/py"}
            rows.append(f"a root with a Python alone: {tried(run, '/texts.json', '/tmp', **where)}")
            print(rows[-1], flush=True)
    return int(not all(row.count(" 0+0 differ") == len(PAGES) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
