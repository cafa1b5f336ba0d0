"""`make reproducible` names the first difference of two wheels."""

import zipfile
from pathlib import Path

import reproducible


def wheel(path: Path, entries: dict[str, bytes], *, time: tuple[int, ...] = (2026, 1, 1, 0, 0, 0)) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, data in entries.items():
            file.writestr(zipfile.ZipInfo(name, time), data)  # type: ignore[arg-type]
    return path


def test_the_first_difference_is_named(tmp_path: Path) -> None:
    entries = {"trimtab/_core.abi3.so": b"code", "trimtab/__init__.py": b"text"}
    one = wheel(tmp_path / "one.whl", entries)
    assert reproducible.difference(one, wheel(tmp_path / "same.whl", entries)) == ""
    other = wheel(tmp_path / "code.whl", entries | {"trimtab/_core.abi3.so": b"other"})
    assert reproducible.difference(one, other) == "trimtab/_core.abi3.so: its content"
    later = wheel(tmp_path / "time.whl", entries, time=(2026, 1, 2, 0, 0, 0))
    assert reproducible.difference(one, later) == "trimtab/_core.abi3.so: its time or its mode"
    fewer = wheel(tmp_path / "fewer.whl", {"trimtab/_core.abi3.so": b"code"})
    assert reproducible.difference(one, fewer) == "entries trimtab/__init__.py and None"
    tail = tmp_path / "tail.whl"
    wheel(tail, entries)
    with zipfile.ZipFile(tail, "a") as file:
        file.comment = b"made by hand"
    assert reproducible.difference(one, tail) == "the archive around its entries"
