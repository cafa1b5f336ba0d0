"""ctok, whose counts trimtab's Claude encodings must equal, loaded out of its wheel."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

WHEELS = Path(sys.prefix) / "wheels"


def load_ctok():
    """Its modules, with the Unicode version of its character classes; None without the wheel.

    They run on older versions of Python than the wheel asks for.
    """
    wheel = next(iter(sorted(WHEELS.glob("ctok-*.whl"))), None)
    if wheel is None:
        return None
    import unicodedata2

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "unicodedata", unicodedata2)
        patch.syspath_prepend(str(wheel))
        names = ("main", "engine", "normalize", "constants")
        return SimpleNamespace(**{name: importlib.import_module(f"ctok.{name}") for name in names})
