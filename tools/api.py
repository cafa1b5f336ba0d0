"""Write ``docs/dev/api.txt``: every public name with its signature, read from the source by griffe, nothing imported.

Public is what the pages of ``docs/api`` name. A change of it wants a line in ``CHANGELOG.md``: the list holds a digest
of the newest section there, and is not written anew while that section says nothing new. ``make docs`` runs it.
"""

from __future__ import annotations

import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import griffe

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "docs" / "dev" / "api.txt"
CHANGES = ROOT / "CHANGELOG.md"
TOLD = "# CHANGELOG.md: "


def names() -> list[str]:
    """Return the public names, without the package's own."""
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    return sorted(re.findall(r"^::: trimtab\.([\w.]+)$", text, flags=re.MULTILINE))


def signature(function: Any) -> str:
    """Return a function's parameters and what it returns."""
    found: list[str] = []
    kinds = griffe.ParameterKind
    marks = {kinds.var_positional: "*", kinds.var_keyword: "**"}
    for one in function.parameters:
        if one.kind is kinds.keyword_only and not any(part.startswith("*") for part in found):
            found.append("*")
        kind = f": {one.annotation}" if one.annotation is not None else ""
        default = f" = {one.default}" if one.default is not None else ""
        found.append(f"{marks.get(one.kind, '')}{one.name}{kind}{default}")
    return f"({', '.join(found)}) -> {function.returns}"


def lines(name: str, each: Any) -> Iterator[str]:
    """Yield the lines of a name: of a class one for each public member."""
    found = each.final_target if each.is_alias else each
    if found.is_module:  # a function has the name of a module: its own, or one beside the package's door
        last = name.rpartition(".")[2]
        door = found.parent.filepath
        own = griffe.visit(found.parent.path, door, door.read_text(encoding="utf-8")).members[last]
        yield from lines(name, found.modules_collection[own.target_path] if own.is_alias else own)
    elif found.is_function:
        yield f"{name}{signature(found)}"
    elif found.is_class:
        bases = ", ".join(str(base) for base in found.bases)
        yield f"class {name}({bases})" if bases else f"class {name}"
        for member, value in sorted(found.all_members.items()):
            if (not member.startswith("_") or member == "__init__") and not value.is_class:
                yield from (f"    {line}" for line in lines(member, value))
    else:
        label = "property " * ("property" in found.labels)
        yield f"{label}{name}: {found.annotation}" if found.annotation is not None else f"{label}{name}"


def listing() -> str:
    """Return the list of everything public."""
    package = griffe.load("trimtab", search_paths=[str(ROOT / "python")], allow_inspection=False)
    return "\n".join(line for name in names() for line in lines(name, package[name])) + "\n"


def told() -> str:
    """Return a digest of the newest section of the changelog."""
    newest = CHANGES.read_text(encoding="utf-8").split("\n## ")[1]
    return sha256(newest.encode()).hexdigest()[:16]


def main() -> int:
    """Write the list; refuse where the public names change and the changelog says nothing new."""
    before = LIST.read_text(encoding="utf-8") if LIST.exists() else ""
    head, _, rest = before.partition("\n")
    now = listing()
    if rest == now:
        return 0
    if head == TOLD + told():
        print("what is public changed: say in the newest section of CHANGELOG.md what that means for users")
        return 1
    LIST.write_text(f"{TOLD}{told()}\n{now}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
