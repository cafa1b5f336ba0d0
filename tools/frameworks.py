"""Write where a framework's page is named, from the pages of ``docs/frameworks/``; ``make docs``.

Three places name a page: the list of ``docs/frameworks/README.md``, the navigation of the site, and the API reference,
which has the names of the adapter that the page mentions.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "frameworks"
ADAPTERS = ROOT / "python" / "trimtab" / "adapters"


def pages() -> list[Path]:
    """Return the frameworks' pages, by name."""
    return sorted(page for page in FOLDER.glob("*.md") if page.name != "README.md")


def public(page: Path) -> list[str]:
    """Return what a page names of its adapter, as ``module.name``, in the adapter's order."""
    module = page.stem.replace("-", "_")
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = ast.parse((ADAPTERS / f"{module}.py").read_text()).body
    named = set(re.findall(r"\w+", page.read_text()))
    return [f"{module}.{node.name}" for node in nodes if isinstance(node, kinds) and node.name in named]


def title(page: Path) -> str:
    """Return a page's title."""
    return page.read_text().partition("\n")[0].removeprefix("# ")


def listed() -> str:
    return "".join(f"- [{title(page)}]({page.name})\n" for page in pages())


def referred() -> str:
    return "".join(f"\n::: trimtab.adapters.{name}\n" for page in pages() for name in public(page))


def navigated() -> str:
    return "".join(f'        "frameworks/{page.name}",\n' for page in pages())


PLACES = {
    FOLDER / "README.md": (r"(?<=<!-- frameworks -->\n).*?(?=<!-- /frameworks -->)", listed),
    ROOT / "docs" / "api" / "adapters.md": (r"(?<=\n<!-- adapters -->\n).*(?=\n<!-- /adapters -->)", referred),
    ROOT / "zensical.toml": (r'(?<="frameworks/README.md",\n).*?(?=    \] \},\n)', navigated),
}
"""By file, the place that is written, and what is written there."""


def written(path: Path) -> str:
    """Return the text of a file as it should be."""
    place, text = PLACES[path]
    return re.sub(place, lambda _: text(), path.read_text(), count=1, flags=re.DOTALL)


if __name__ == "__main__":
    for each in PLACES:
        each.write_text(written(each))
