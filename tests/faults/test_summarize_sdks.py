"""The failure cases with several releases of each client, installed into a folder each; `make slow`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.releases import RELEASES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "target" / "sdks"


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_a_client_release_passes_all_failure_cases(release: str) -> None:
    folder = FOLDER / release
    package, _, version = release.partition("==")
    if not (folder / package).is_dir():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder]
        subprocess.run([*install, release], check=True)
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    code = f"import {package}; print({package}.__version__, {package}.__file__)"
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.split() == [version, str(folder / package / "__init__.py")]
    words = f"{package} and (goes_wrong or real_clients or cancelling or no_key or redirect or server)"
    files = [
        str(ROOT / "tests" / name)
        for name in ("faults/test_summarize_matrix.py", "test_summarize.py", "test_secrets.py")
    ]
    command = [sys.executable, "-m", "pytest", "-x", "-k", words, *files]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4_000:]
    last = done.stdout.strip().splitlines()[-1]
    print(release, last)
    assert int(last.split(" passed")[0].split()[-1]) > 100, last
