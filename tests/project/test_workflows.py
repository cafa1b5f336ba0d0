"""The release: workflow files pin what they use and may do little, and what is public changes only with its entry."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WRITES = {("release.yml", "publish", "id-token"), ("release.yml", "publish", "attestations")}
"""All that a job may write: how a release is signed and published."""


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_action_is_a_commit_with_its_tag_and_one_of_few(path: Path) -> None:
    used = re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))
    assert used
    for line in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
    assert {line.split("/")[0] for line in used} <= {"actions", "PyO3", "pypa"}


def test_an_action_is_of_one_commit_in_all_files() -> None:
    used = {line for path in FILES for line in re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))}
    assert len(used) == len({line.split("@")[0] for line in used})


@pytest.mark.shared
def test_every_action_has_the_digest_of_the_shared_list(shared: Path) -> None:
    table = (shared / "ACTIONS.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| ([\w./-]+) \| (v[\d.]+) \| ([0-9a-f]{40}) \|", table, flags=re.MULTILINE))
    assert listed
    for path in FILES:
        used = re.findall(r"uses: ([^@]+)@(\w+) # (\S+)", path.read_text(encoding="utf-8"))
        assert {(name, tag, commit) for name, commit, tag in used} <= listed


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_job_may_read_and_only_the_publisher_may_sign(path: Path) -> None:
    workflow = loaded(path)
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert "timeout-minutes" in job, name
        writes = {(path.name, name, scope) for scope, right in job["permissions"].items() if right == "write"}
        assert writes <= WRITES
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}


def test_the_release_builds_every_platform_and_tries_each_before_it_publishes() -> None:
    jobs = loaded(ROOT / ".github/workflows/release.yml")["jobs"]
    assert jobs["linux"]["strategy"]["matrix"] == {
        "target": ["x86_64", "aarch64"],
        "libc": ["manylinux_2_17", "musllinux_1_2"],
    }
    runners = {each["runner"] for each in jobs["native"]["strategy"]["matrix"]["include"]}
    assert runners == {"macos-15-intel", "macos-15", "windows-2025", "windows-11-arm"}
    assert set(jobs["try"]["needs"]) == {"linux", "native", "source"}
    assert runners <= set(jobs["try"]["strategy"]["matrix"]["runner"])
    assert set(jobs["publish"]["needs"]) == {"try", "audit"}
    assert jobs["publish"]["environment"] == "pypi"


def test_a_command_of_a_workflow_is_a_target_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in FILES:
        for targets in re.findall(r"run: make ([a-z -]+)", path.read_text(encoding="utf-8")):
            for target in targets.split():
                assert re.search(rf"^(?:[a-z-]+ )*{target}\b[^=]*:", makefile, flags=re.MULTILINE), target


def test_the_targets_of_wheels_are_those_of_the_release() -> None:
    """A name that the workflow gives to ``--only`` is one that the script knows."""
    import wheels

    matrix = loaded(ROOT / ".github/workflows/release.yml")["jobs"]["linux"]["strategy"]["matrix"]
    asked = {f"{target}-{libc}" for target in matrix["target"] for libc in matrix["libc"]}
    assert asked == {target.name for target in wheels.TARGETS}


def test_every_crate_that_is_asked_for_has_its_reason_on_its_line() -> None:
    for path in [ROOT / "Cargo.toml", *sorted((ROOT / "rust").glob("*/Cargo.toml"))]:
        lines = path.read_text(encoding="utf-8").splitlines()
        section = ""
        for line in lines:
            section = line.strip("[]") if line.startswith("[") else section
            if section.endswith("dependencies") and line.strip() and not line.startswith(("#", "[")):
                ours = line.startswith("trimtab-")
                assert ours or " # " in line, f"{path.parent.name}: {line}"


# --- what is public


def listed(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script that writes the list of public names, in a copy of the project."""
    return subprocess.run([sys.executable, str(folder / "tools/api.py")], capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("python", "docs", "tools"):
        ignored = shutil.ignore_patterns("*.so", "__pycache__", "*.jsonl", "*.tsv")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    return tmp_path


def test_the_list_of_public_names_is_that_of_the_source(copy: Path) -> None:
    before = (ROOT / "docs/dev/api.txt").read_text(encoding="utf-8")
    assert listed(copy).returncode == 0
    after = (copy / "docs/dev/api.txt").read_text(encoding="utf-8")
    assert after.splitlines()[1:] == before.splitlines()[1:], "run `make docs`"


def test_a_change_of_what_is_public_wants_an_entry_in_the_changelog(copy: Path) -> None:
    api, changes = copy / "docs/dev/api.txt", copy / "CHANGELOG.md"
    api.unlink()
    assert listed(copy).returncode == 0  # with the digest of the changelog as it is
    source = copy / "python/trimtab/ledger/split.py"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("def split(", "def split(\n    another: int,", 1), encoding="utf-8")
    refused = listed(copy)
    assert (refused.returncode, "CHANGELOG.md" in refused.stdout) == (1, True)
    assert "another" not in api.read_text(encoding="utf-8")
    sections = changes.read_text(encoding="utf-8").split("\n## ")
    sections[1] += "\n- `split` takes another argument.\n"
    changes.write_text("\n## ".join(sections), encoding="utf-8")
    assert listed(copy).returncode == 0
    assert "split(another: int, " in api.read_text(encoding="utf-8")


# --- the checklist


def test_each_step_of_the_checklist_is_looked_at_or_done_by_a_person() -> None:
    import release

    named = [name for name, _ in release.steps()]
    assert set(named) == {*release.STEPS, *release.BY_HAND}
    assert named[-3:] == list(release.BY_HAND)


def test_the_changelog_is_ready_when_its_newest_section_has_the_version_and_a_day(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import release

    shutil.copy(ROOT / "Cargo.toml", tmp_path)
    monkeypatch.setattr(release, "ROOT", tmp_path)
    for head, ready in [("(unreleased)", False), ("(2027-01-31)", True)]:
        (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {release.version()} {head}\n", encoding="utf-8")
        assert release.changelog()[0] is ready
