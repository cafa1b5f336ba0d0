"""All agents' formats together: which is which, and all the shared sessions."""

import csv
import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from support.checker import check
from support.format_cases import ASK, SAMPLES
from trimtab import read
from trimtab.formats import _READERS, FORMATS, LOGS

SHARED = Path(__file__).parents[3] / "shared" / "data" / "transcripts"
FILES = sorted(p for p in SHARED.rglob("*") if p.is_file() and p.name != "manifest.csv")
shared = pytest.mark.skipif(not FILES, reason="needs ../shared/data/transcripts")


@pytest.mark.parametrize("name", LOGS)
def test_each_format_is_recognized_by_its_own_reader_alone(name):
    for value in SAMPLES[name]:
        assert [other for other, reader in _READERS.items() if reader.recognizes(value)] == [name]
    for raw in (json.dumps(SAMPLES[name]), "\n".join(map(json.dumps, SAMPLES[name]))):
        assert read(raw.encode()).format == name
        assert [m["role"] for m in read(raw.encode(), format=name, whole=True).messages] == ["user"]


def test_every_format_has_one_name():
    assert len(set(FORMATS)) == len(FORMATS)
    assert set(SAMPLES) == set(LOGS)


def test_a_list_of_messages_is_told_from_agents_files_without_asking_their_readers(monkeypatch):
    for name in {*_READERS} - {"cline"}:  # whose file is such a list, with fields beside
        reader = _READERS[name]
        monkeypatch.setattr(reader, "recognizes", lambda value: pytest.fail(f"asked of {value}"))
    assert read(json.dumps([ASK] * 20_000).encode()).format == "openai_chat"


def manifest():
    with (SHARED / "manifest.csv").open(newline="") as file:
        return {row["raw_file"]: row for row in csv.DictReader(file)}


def agent(row):
    """The format that the manifest names; one file stands in another agent's folder."""
    is_gemini = row["path"].endswith("gemini-cli-trajectory.json")
    return "gemini_cli" if is_gemini else row["format"].replace("-", "_")


@shared
@pytest.mark.shared
@pytest.mark.parametrize("whole", [False, True])
def test_every_shared_session_of_every_agent_can_be_sent_as_it_is_read(whole):
    rows, seen = manifest(), Counter()
    for path in FILES:
        row = rows[str(path.relative_to(SHARED))]
        digest = hashlib.sha256(path.read_bytes()).digest()
        found = read(path, whole=whole)
        assert hashlib.sha256(path.read_bytes()).digest() == digest
        assert check(found.messages, found.provider) == [], path
        assert found.format == agent(row), path
        has_compactions = row["compactions"] not in ("", "0")
        made = int(row["compactions"] or path.name.endswith("context-summarization.trajectory.json"))
        assert len(found.compactions) == (made if whole else 0), path
        assert all(0 < at <= len(found.messages) for at in found.compactions), path
        if whole or not has_compactions:  # each call of a model left something, and something led to it
            assert len(found.messages) >= int(row["api_calls"] or 1), path
        seen[found.format] += 1
    assert len(rows) == len(FILES) == seen.total()
    assert len(seen) >= 8, "of the others no sessions were published"


@shared
@pytest.mark.shared
def test_the_usage_of_every_shared_session_belongs_to_an_answer():
    for path in FILES:
        found = read(path)
        places = [charged.before for charged in found.usage]
        assert places == sorted(set(places)), path
        for charged in found.usage if found.provider == "openai_chat" else ():
            assert found.messages[charged.before]["role"] == "assistant", path
