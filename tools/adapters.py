"""Run the adapters' tests against the current release of each framework, or against the oldest that the extras name.

Each framework has an environment of its own in ``.venv``, because they do not agree on what they need: strands-agents
1.62 takes no mcp 2.2. The wheel is the one in ``dist/``.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests" / "adapters"
MODULES = {"mcp": "recall_server"}
"""Modules of extras that have another name than theirs."""

PROXY = {"litellm": "litellm[proxy]"}
"""Packages whose tests need more than the extra installs."""

TEST_NEEDS = ("hypothesis", "pytest", "pytest-httpserver", "regex", "tiktoken")
"""Packages of the extra ``dev`` that the adapters' tests import."""

WHY = re.compile("depends on|requested|No matching distribution|Could not find a version", re.IGNORECASE)
"""Lines of pip that say why a release does not install."""


def module_of(extra: str) -> str:
    """Return the adapter's module of an extra; there may be none of that name."""
    return MODULES.get(extra, extra.replace("-", "_"))


def frameworks(extras: dict[str, list[str]]) -> list[str]:
    """Return the extras whose adapter has tests of its name; those of the clients run in ``make test``."""
    return [name for name in extras if (TESTS / f"test_{module_of(name)}.py").exists()]


def name_of(requirement: str) -> str:
    """Return the package of a requirement, in the form in which pip reports it."""
    return re.split(r"[\[<>=!~ ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def oldest(requirement: str) -> str:
    """Return a requirement of exactly the lower bound."""
    found = re.fullmatch(r"([^<>=]+)>=([^,]+)(,.*)?", requirement)
    if found is None:
        raise SystemExit(f"{requirement!r} has no lower bound: write NAME>=VERSION,<VERSION")
    return f"{found[1]}=={found[2]}"


def pip(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the pip of an environment."""
    command = [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def install(folder: Path, requirements: list[str], wheel: Path) -> None:
    """Install packages into an environment, which is made if it is not there, and the wheel in place of another one.

    Raises:
        SystemExit: a package does not install; says which, and what pip says.
    """
    if not (folder / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    for arguments in (["--upgrade", *requirements], ["--force-reinstall", "--no-deps", str(wheel)]):
        done = pip(folder, "--quiet", *arguments)
        if done.returncode:
            raise SystemExit(f"{', '.join(arguments[1:])} does not install from this registry:\n{done.stderr}")


def tell_what_lags(folder: Path, requirements: list[str]) -> None:
    """Print each framework with its release, and where there is a newer one why that was not installed."""
    newest = pip(folder, "--quiet", "--dry-run", "--no-deps", "--upgrade", "--report", "-", *requirements)
    if newest.returncode:
        raise SystemExit(f"the registry does not tell its newest releases:\n{newest.stderr}")
    found = {
        item["metadata"]["name"].lower(): item["metadata"]["version"] for item in json.loads(newest.stdout)["install"]
    }
    listed = subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "list", "--format=json"], capture_output=True, check=True
    )
    installed = {item["name"].lower(): item["version"] for item in json.loads(listed.stdout)}
    for name in map(name_of, requirements):
        print(f"{name} {installed[name]}", flush=True)
        if name in found and not any("==" in line for line in requirements):
            print(f"  {found[name]} is out, and is not tested: it does not install here")
            said = pip(folder, "--dry-run", "--upgrade", f"{name}=={found[name]}", *requirements)
            reasons = [line for line in f"{said.stdout}{said.stderr}".splitlines() if WHY.search(line)]
            print("\n".join(f"    {line.strip()}" for line in reasons))


def run(folder: Path, tests: list[str]) -> int:
    """Run tests in an environment, the slow ones too."""
    command = [folder / "bin" / "python", "-m", "pytest", "-m", "slow or not slow", *tests]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--oldest", action="store_true", help="the oldest releases that the extras name")
    parser.add_argument(
        "--bench", metavar="PACKAGE", help="run benches/adapters.py, with a package of more compactions"
    )
    options, rest = parser.parse_known_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *(line for line in extras["dev"] if name_of(line) in TEST_NEEDS)]
    (wheel,) = (ROOT / "dist").glob("*.whl")
    started, failed = time.monotonic(), []
    for extra in frameworks(extras):
        module = module_of(extra)
        lines = [line.replace(extra, PROXY.get(extra, extra), 1) for line in extras[extra]]
        if options.bench and not (ROOT / "benches" / f"_adapters_{module}.py").exists():
            continue
        if options.oldest:
            lines = [oldest(line) for line in lines]
        folder = ROOT / ".venv" / f"{'oldest' if options.oldest else 'current'}-{extra}"
        install(folder, [*lines, *needs], wheel)
        if options.bench:  # it asks for one release of pydantic-ai-slim, and runs with others
            if pip(folder, "--quiet", "--no-deps", options.bench).returncode:
                raise SystemExit(f"{options.bench} does not install from this registry")
            subprocess.run([folder / "bin" / "python", "benches/adapters.py", module, *rest], cwd=ROOT, check=True)
            continue
        tell_what_lags(folder, lines)
        if run(folder, [f"tests/adapters/test_{module}.py", *rest]):
            failed.append(extra)
    print(f"{time.monotonic() - started:.0f} s; failed: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
