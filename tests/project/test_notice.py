"""NOTICE names the licences of what the wheel is linked with."""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def linked() -> dict[str, str]:
    """The licence of each crate in the wheel."""
    words = ("cargo", "metadata", "--locked", "--offline", "--format-version", "1")
    found = json.loads(subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    packages = {package["id"]: package for package in found["packages"]}
    reached: set[str] = set()
    work = [each for each, package in packages.items() if package["name"] == "trimtab-python"]
    while work:
        if (each := work.pop()) not in reached:
            reached.add(each)
            edges = nodes[each]["deps"]
            work += [edge["pkg"] for edge in edges if any(kind["kind"] is None for kind in edge["dep_kinds"])]
    return {packages[each]["name"]: packages[each]["license"] or "" for each in reached}


def allowed(licence: str, named: set[str]) -> bool:
    """Whether one alternative of each part of an expression is named."""
    parts = [re.split(r" OR | ?/ ?", part.strip("() ")) for part in licence.split(" AND ")]
    return all(any(alternative.strip() in named for alternative in part) for part in parts)


def test_each_licence_is_named() -> None:
    head = (ROOT / "NOTICE").read_text(encoding="utf-8").split("Cargo.lock")[0]
    named = set(re.findall(r"\b(?:MIT|[A-Z][\w-]+-\d\.\d|BSD-\d-Clause)\b", head))
    crates = linked()
    assert len(crates) > 50
    assert {name: licence for name, licence in crates.items() if not allowed(licence, named)} == {}
    assert {licence for licence in named if not any(licence in each for each in crates.values())} == set()


def test_a_licence_that_is_not_named_is_found() -> None:
    assert allowed("(MIT OR Apache-2.0) AND Unicode-3.0", {"MIT", "Unicode-3.0"})
    assert not allowed("(MIT OR Apache-2.0) AND Unicode-3.0", {"MIT"})
    assert not allowed("GPL-3.0", {"MIT"})
    assert allowed("MIT/Apache-2.0", {"Apache-2.0"})
