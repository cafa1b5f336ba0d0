"""The archive as people use it: a list that says what is what, short refs, the first list back, and a diff."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support.command import run
from support.models import CLAUDE, GPT_SPLIT
from support.transcripts import transcript
from trimtab.cli.originals import first_list, short_refs

TALK = " ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    messages = transcript(TALK, provider="anthropic")
    messages[0] = {"role": "user", "content": "Fix the flaky\ntest \x1b[31min split.rs"}
    Path("s.json").write_text(json.dumps({"model": "claude-opus-4-6", "messages": messages}))
    return tmp_path


def compact(name: str, output: str, *words: str) -> str:
    done = run("compact", name, "-o", output, "--json", *(words or ("--target-share", "0.5")))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["ref"]


def grow(name: str, start: int) -> list:
    """Twelve new turns behind a list."""
    whole = json.loads(Path(name).read_text())
    new = transcript(" ".join(f"u:50 c{n} r{n}:150 a:70" for n in range(start, start + 12)), provider="anthropic")
    whole["messages"] += new
    Path(name).write_text(json.dumps(whole))
    return new


def test_the_list_shows_what_a_person_knows_a_session_by(home: Path) -> None:
    ref = compact("s.json", "o.json")
    first, second, *_ = run("archive", "list").stdout.splitlines()
    assert first.startswith(f"{ref[:8]}  20")
    assert "tokens, " in first
    assert first.endswith(" 1 compaction")
    assert second == "  s.json · claude-opus-4-6 · Fix the flaky test \\x1b[31min split.rs"
    [listed] = json.loads(run("archive", "list", "--json").stdout)["sessions"]
    assert (listed["ref"], listed["file"], listed["model"]) == (ref, str(home / "s.json"), "claude-opus-4-6")
    assert listed["tokens_before"] > listed["tokens_after"]
    assert listed["compactions"] == 1
    assert listed["messages"] > 0
    assert listed["bytes"] > 1_000


def the_session() -> str:
    [listed] = json.loads(run("archive", "list", "--json").stdout)["sessions"]
    return str(listed["session"])


def test_the_list_shows_nothing_empty_after_a_repeated_compaction(home: Path) -> None:
    assert compact("s.json", "o.json") == compact("s.json", "o.json")
    told = run("archive", "list").stdout
    assert "0 compactions" not in told
    assert "1 session, 1 compaction, " in told
    assert "removed 1 compactions" in run("archive", "prune", "--forget", the_session()).stdout
    ref = compact("s.json", "o.json")
    assert json.loads(run("restore", ref).stdout) == json.loads(Path("s.json").read_text())["messages"]
    with trimtab.Compactor(CLAUDE, archive=f"sqlite:///{home}/home/archive.db") as cm:
        messages = plain(40, "a")
        refs = [session.compact(messages, target_share=0.5).ref for session in (cm.session(), cm.session())]
    assert len({*refs}) == 2, "of sessions in a program, each has its own"


def test_a_short_ref_is_enough_for_every_verb(home: Path) -> None:
    ref = compact("s.json", "o.json")
    original = json.loads(Path("s.json").read_text())["messages"]
    assert json.loads(run("restore", ref[:8]).stdout) == original
    assert json.loads(run("diff", ref[:8], "--json").stdout)["ref"] == ref
    assert f"trimtab restore {ref}" in run("archive", "show", ref[:8]).stdout
    assert run("restore", "zzzzzzzz").returncode == 74


def test_short_refs_are_long_enough_to_differ() -> None:
    refs = ["abcdefgh1x", "abcdefgh2x", "b" * 20]
    assert short_refs(refs) == {"abcdefgh1x": "abcdefgh1", "abcdefgh2x": "abcdefgh2", "b" * 20: "b" * 8}


def test_a_short_ref_of_two_compactions_names_both(home: Path) -> None:
    refs = [compact("s.json", "o.json"), compact("s.json", "o.json", "--target-share", "0.3")]
    done = run("restore", "")
    assert done.returncode == 74
    common = next(ref[:1] for ref in refs)
    other = run("restore", common)
    if refs[0][0] == refs[1][0]:
        assert "type more of the one you mean" in other.stderr


@pytest.mark.parametrize("session", [None, "deploy"])
def test_restore_all_goes_back_to_the_first_list(home: Path, session: str | None) -> None:
    named = [] if session is None else ["--session", session]
    whole = json.loads(Path("s.json").read_text())["messages"]
    compact("s.json", "one.json", "--target-share", "0.4", *named)
    for number, (before, after) in enumerate([("one.json", "two.json"), ("two.json", "three.json")]):
        whole += grow(before, 100 * (number + 1))
        ref = compact(before, after, "--target-share", "0.4", *named)
    done = run("restore", "--all", ref, "-o", "first.json", *named)
    assert done.returncode == 0, done.stderr
    assert "before 3 compactions" in done.stderr
    assert json.loads(Path("first.json").read_text()) == whole
    assert json.loads(run("restore", ref, *named).stdout) != whole
    told = json.loads(run("restore", "--all", ref, "-o", "f.json", "--json", *named).stdout)
    assert (told["messages"], len(told["undone"])) == (len(whole), 3)


def test_restore_all_passes_over_refs_that_a_user_wrote(home: Path) -> None:
    whole = json.loads(Path("s.json").read_text())["messages"]
    first = compact("s.json", "one.json", "--target-share", "0.4")
    whole += grow("one.json", 100)
    changed = json.loads(Path("one.json").read_text())
    asked = {"role": "user", "content": f"what did trimtab restore {first} give, and restore {'0' * 20}?"}
    changed["messages"].append(asked)
    Path("one.json").write_text(json.dumps(changed))
    second = compact("one.json", "two.json", "--target-share", "0.4")
    told = {"role": "user", "content": f"trimtab restore {second}"}
    changed = json.loads(Path("two.json").read_text())
    changed["messages"] += [{"role": "assistant", "content": "done"}, told]
    Path("two.json").write_text(json.dumps(changed))
    third = compact("two.json", "three.json", "--target-share", "0.4")
    done = run("restore", "--all", third)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [*whole, asked, {"role": "assistant", "content": "done"}, told]


@pytest.mark.parametrize("policy", trimtab.policies.POLICIES)
def test_restore_all_goes_back_under_every_policy(home: Path, policy: str) -> None:
    words = ["--policy", policy, "--session", "s", "--target-share", "0.5"]
    whole = json.loads(Path("s.json").read_text())["messages"]
    first = run("compact", "s.json", "-o", "one.json", "--json", *words)
    if first.returncode or not json.loads(first.stdout)["ref"]:
        pytest.skip(f"{policy} removes nothing of a list of this size")
    whole += grow("one.json", 100)
    second = json.loads(run("compact", "one.json", "-o", "two.json", "--json", *words).stdout)["ref"]
    if not second:
        pytest.skip(f"{policy} removes nothing of the second list")
    done = run("restore", "--all", second, "--session", "s")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == whole


def test_restore_all_refuses_a_list_that_was_changed_between_two_compactions(home: Path) -> None:
    first = compact("s.json", "one.json", "--session", "s", "--target-share", "0.4")
    grow("one.json", 100)
    changed = json.loads(Path("one.json").read_text())
    changed["messages"][:60] = [message for message in changed["messages"][:60] if message["role"] == "user"][:1]
    Path("one.json").write_text(json.dumps(changed))
    done = run("validate", "one.json", "--repair")
    Path("one.json").write_text(done.stdout)
    second = compact("one.json", "two.json", "--session", "s", "--target-share", "0.4")
    done = run("restore", "--all", second, "--session", "s")
    assert done.returncode == 74
    assert f"restore {first} and {second} each by its own ref" in done.stderr


def plain(many: int, tag: str) -> list[dict[str, Any]]:
    return [{"role": ("user", "assistant")[n % 2], "content": f"{tag} {n}: {'word ' * 60}"} for n in range(many)]


def test_going_back_refuses_a_list_into_which_messages_were_put() -> None:
    session = trimtab.Compactor(CLAUDE).session("s")
    one = session.compact(plain(60, "a"), target_share=0.3)
    put = [{"role": "user", "content": "the door's code is 4711"}, {"role": "assistant", "content": "noted"}]
    for at in (len(one.messages) - 4, 1):
        two = session.compact([*one.messages[:at], *put, *one.messages[at:], *plain(40, "b")], target_share=0.2)
        with pytest.raises(trimtab.ArchiveError, match="changed in between"):
            first_list(session.archive, two.ref, "s")


@pytest.mark.parametrize("model", [CLAUDE, GPT_SPLIT])
@pytest.mark.parametrize("policy", trimtab.policies.POLICIES)
def test_going_back_finds_a_list_with_scattered_pins(policy: str, model: str) -> None:
    session, first, later = trimtab.Compactor(model, policy=policy).session("s"), plain(60, "a"), plain(40, "b")
    for at in (5, 11, 17, 23, 29, 35):
        session.pin(first[at])
    try:
        one = session.compact(first, target_share=0.3)
        two = session.compact([*one.messages, *later], target_share=0.2)
    except trimtab.errors.NothingToCompactError:
        pytest.skip(f"{policy} keeps as many messages as these lists have")
    if one.ref and two.ref:
        assert first_list(session.archive, two.ref, "s") == ([*first, *later], [two.ref, one.ref])


def test_a_session_cannot_reach_another_by_going_back(home: Path) -> None:
    compact("s.json", "one.json", "--session", "theirs", "--target-share", "0.4")
    grow("one.json", 100)
    ref = compact("one.json", "two.json", "--session", "mine", "--target-share", "0.4")
    done = run("restore", "--all", ref, "--session", "mine", "-o", "f.json", "--json")
    assert json.loads(done.stdout)["undone"] == [ref]
    assert run("restore", "--all", ref, "--session", "theirs").returncode == 74


def test_diff_tells_what_left_what_changed_and_what_stayed_in_reading_order(home: Path) -> None:
    ref = compact("s.json", "o.json", "--target-share", "0.3")
    original = json.loads(Path("s.json").read_text())["messages"]
    smaller = json.loads(Path("o.json").read_text())["messages"]
    found = json.loads(run("diff", ref, "--json").stdout)
    assert sorted(found["stayed"] + found["changed"] + found["left"]) == list(range(len(original)))
    assert all(original[at] in smaller for at in found["stayed"])
    assert not any(original[at] in smaller for at in found["changed"])
    assert len(smaller) <= len(original) - len(found["left"]) + 2
    head, *lines = run("diff", ref).stdout.splitlines()
    assert head.startswith(f"{ref}: of 80 messages {len(found['left'])} left, {len(found['changed'])} were changed")
    signs = {sign: [int(line[1:].split()[0]) for line in lines if line.startswith(sign)] for sign in "-~"}
    assert signs == {"-": found["left"], "~": found["changed"]}
    assert any(line.strip().endswith("messages stayed") for line in lines)
    gone = len(found["left"]) + len(found["changed"])
    assert f", {gone} messages removed or changed (" in run("archive", "show", ref).stdout
    assert "Fix the flaky test" in run("diff", ref).stdout or 0 in found["stayed"]
