"""Tables of a vocabulary's file are made once a machine, and believed only where they are this user's and whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_sentencepiece import model_file

from oracles.pieces import charsmap
from support.model_folders import PIECES, vocabulary
from trimtab._home import tables_folder

TEXTS = [*PIECES, " ".join(PIECES), "hello world " * 50]
CODE = """
import json, sys
from trimtab import Counter
counter = Counter.from_file(sys.argv[1])
print(json.dumps([counter.engine, counter.count_many(json.load(open(sys.argv[2]))).tolist()]))
"""


def counts(home: Path, file: Path) -> list:
    """What another process counts."""
    texts = home / "texts.json"
    texts.write_text(json.dumps(TEXTS))
    environment = os.environ | {"TRIMTAB_HOME": str(home / "trimtab")}
    command = [sys.executable, "-c", CODE, str(file), str(texts)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    path.write_text(vocabulary(), encoding="utf-8")
    return path


def kept(home: Path) -> list[Path]:
    return sorted((home / "trimtab/tables").glob("*"))


def test_the_second_process_uses_what_the_first_one_made(tmp_path: Path, file: Path) -> None:
    first = counts(tmp_path, file)
    assert first[0] == "trimtab tokenizer.json"
    [tables] = kept(tmp_path)
    stamp = tables.stat().st_mtime_ns
    if hasattr(os, "geteuid"):
        assert (tables.stat().st_mode & 0o777, tables.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert counts(tmp_path, file) == first
    assert kept(tmp_path) == [tables]
    assert tables.stat().st_mtime_ns == stamp
    changed = json.loads(vocabulary())
    changed["model"]["ignore_merges"] = True
    file.write_text(json.dumps(changed))
    again = counts(tmp_path, file)
    assert len(kept(tmp_path)) == 2
    assert counts(tmp_path, file) == again


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1_001])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def open_to_all(path: Path) -> None:
    path.chmod(0o644)


def of_another(path: Path) -> None:
    os.chown(path, 12_345, 12_345)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owner of that kind here")
@pytest.mark.parametrize("spoil", [damage, cut, empty, open_to_all, of_another])
def test_what_is_damaged_or_anothers_is_made_anew(tmp_path: Path, file: Path, spoil: object) -> None:
    if spoil is of_another and os.geteuid():
        pytest.skip("only root can give a file away")
    first = counts(tmp_path, file)
    [tables] = kept(tmp_path)
    whole = tables.read_bytes()
    assert callable(spoil)
    spoil(tables)
    assert counts(tmp_path, file) == first
    assert kept(tmp_path) == [tables]
    assert tables.read_bytes() == whole
    assert (tables.stat().st_uid, tables.stat().st_mode & 0o777) == (os.geteuid(), 0o600)


def test_where_nothing_can_be_written_each_process_makes_them(tmp_path: Path, file: Path) -> None:
    (tmp_path / "trimtab").mkdir()
    (tmp_path / "trimtab/tables").write_text("a file in the folder's place")
    assert counts(tmp_path, file)[0] == "trimtab tokenizer.json"
    assert (tmp_path / "trimtab/tables").read_text() == "a file in the folder's place"


def test_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path))
    assert tables_folder()[0] == str(tmp_path / "tables")
    monkeypatch.delenv("TRIMTAB_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert tables_folder()[0] == str(tmp_path / "cache/trimtab/tables")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tables_folder()[0] == str(tmp_path / ".cache/trimtab/tables")


def pieces(folder: Path, kind: str) -> Path:
    """A file of SentencePiece."""
    scores = {text: -float(place) for place, text in enumerate(["▁", *"helowrd", "he", "llo", "▁wor", "▁world"])}
    rules = {2: charsmap({"ﬁ": "fi", "\n": " "}), 4: 1}
    if kind == "merges":
        return model_file(folder / "some.model", scores, ["[REF]"], {3: 2}.items(), rules.items())
    if kind == "scores":
        return model_file(folder / "some.model", scores, ["[REF]"], {3: 1, 35: 0}.items(), rules.items())
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], *([*piece] for piece in scores.items())]}
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({"model": model, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁"}}))
    return path


@pytest.mark.parametrize("kind", ["merges", "scores", "json"])
def test_tables_of_sentencepiece_are_kept_too(tmp_path: Path, kind: str) -> None:
    file = pieces(tmp_path, kind)
    first = counts(tmp_path, file)
    [tables] = kept(tmp_path)
    stamp = tables.stat().st_mtime_ns
    assert counts(tmp_path, file) == first == [f"trimtab {file.name}", first[1]]
    assert tables.stat().st_mtime_ns == stamp
    for spoil in (damage, cut, empty):
        spoil(tables)
        assert counts(tmp_path, file) == first
        assert kept(tmp_path) == [tables]
        assert tables.stat().st_size > 1_000
