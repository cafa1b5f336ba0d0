"""Pages of vector instructions: ``TRIMTAB_SIMD`` forces one, and each counts the same."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys

import pytest

from trimtab import Counter, _core

ENCODINGS = ("o200k_base", "cl100k_base", "claude-new")
TEXTS = [
    "hello world",
    "def f(x):\n    return 'it\\'s' + x[1:] // 12345\r\n\t\t\n" * 9,
    "Straße, naïve и слово: 日本語 한국어 ไทย \U0001f600 e\u0301 ٣٤ \u3000\u2028" * 7,
    '{"path": "C:\\\\a\\nb", "n": [1, 22, 333, 4444]} ' * 11,
    " " * 70 + "x" * 200 + "!" * 65 + "\n" * 130,
]
SCRIPT = f"""
import json, sys
from trimtab import Counter
texts = json.load(sys.stdin)
counters = [Counter(name) for name in {ENCODINGS!r}]
print(counters[0].explain(), flush=True)
print(json.dumps([[counter.count(text) for text in texts] for counter in counters]))
"""
ARCH = platform.machine().lower()
LACKING = {"x86_64": "mmx", "amd64": "mmx"}.get(ARCH, "avx2")
"""A page that this processor lacks."""


def run(page: str, *emulator: str) -> subprocess.CompletedProcess[str]:
    """What ``SCRIPT`` prints in a process of its own."""
    command = [*emulator, sys.executable, "-c", SCRIPT]
    env = {**os.environ, "TRIMTAB_SIMD": page, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, env=env, input=json.dumps(TEXTS), capture_output=True, text=True, check=False)


def pages() -> list[str]:
    """The pages of this processor, by the message that refuses another."""
    return run(LACKING).stderr.strip().rpartition(" has ")[2].split(", ")


def counts() -> list[list[int]]:
    return [[Counter(name).count(text) for text in TEXTS] for name in ENCODINGS]


def test_each_page_counts_the_same_and_is_named() -> None:
    found = pages()
    assert found[-1] == "portable"
    assert _core.SIMD in found
    assert ("v128" in found) == (ARCH in {"x86_64", "amd64", "aarch64", "arm64"})
    for page in found:
        explained, printed = run(page).stdout.splitlines()
        assert explained == f"trimtab o200k_base ({page}): exact"
        assert json.loads(printed) == counts(), page


def test_a_page_that_the_processor_lacks_is_refused_at_the_first_count() -> None:
    ran = run(LACKING)
    assert ran.returncode == 1
    assert ran.stdout.splitlines() == ["trimtab o200k_base: exact"]
    last = ran.stderr.strip().splitlines()[-1].replace('"', "'")
    assert last.startswith(f"ValueError: TRIMTAB_SIMD is '{LACKING}', this processor has ")


@pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="Debian's qemu-user is not installed")
@pytest.mark.skipif(ARCH != "x86_64", reason="the library is of another processor")
def test_without_avx2_the_128_bit_page_counts_and_avx2_is_refused() -> None:
    emulator = ("qemu-x86_64", "-cpu", "Nehalem")
    explained, printed = run("", *emulator).stdout.splitlines()
    assert explained == "trimtab o200k_base (v128): exact"
    assert json.loads(printed) == counts()
    ran = run("avx2", *emulator)
    assert "ValueError: TRIMTAB_SIMD is 'avx2', this processor has v128, portable" in ran.stderr.replace('"', "'")
