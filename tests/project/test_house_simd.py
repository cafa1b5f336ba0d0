"""The built library: vector instructions are inlined into their page. A call costs five times as much."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache

import pytest

from trimtab import _core

OWN = "trimtab_simd::avx2::"
WINDOWS = "trimtab_tokens::bpe::pretokenize::windows::"
ENTRIES = {f"{WINDOWS}apply", f"{WINDOWS}pad"}
"""AVX2 functions that need not be inlined: they run once a window or less."""


@cache
def functions() -> dict[str, set[str]]:
    """The functions of our crates that use 256-bit registers, and those of intrinsics.

    These are AVX2's of the standard library, and the operations of the 128-bit page.
    """
    if not (shutil.which("objdump") and shutil.which("nm")):
        pytest.skip("binutils is not installed")
    symbols = subprocess.run(["nm", "-C", _core.__file__], capture_output=True, text=True, check=True).stdout
    if OWN not in symbols:
        pytest.skip("the library has no AVX2 page, or no symbols")
    intrinsics = set(re.findall(r"\S*core_arch::x86::avx2::\S*|trimtab_simd::v128::ops::\S*", symbols))
    apart = set(re.findall(r"trimtab_tokens::bpe::pretokenize::windows::\S*", symbols)) - ENTRIES
    command = ["objdump", "-d", "-C", "--no-show-raw-insn", _core.__file__]
    wide, name = set(), ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            if line.endswith(">:\n"):
                name = line[line.index("<") + 1 : -3]
            elif "%ymm" in line and "trimtab_" in name:
                wide.add(name)
    return {"intrinsics": intrinsics, "apart": apart, "wide": wide}


def test_no_intrinsic_is_called_as_a_function() -> None:
    assert functions()["intrinsics"] == set()


def test_no_part_of_the_window_walk_is_a_function_of_its_own() -> None:
    assert functions()["apart"] == set()


def test_only_the_page_uses_wide_registers() -> None:
    assert {name for name in functions()["wide"] if OWN not in name} == set()


def test_the_page_uses_wide_registers() -> None:
    assert any(OWN in name for name in functions()["wide"])
