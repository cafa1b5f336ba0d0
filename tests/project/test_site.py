"""The documentation names all that there is, its links lead somewhere, and it builds as a site without a warning."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import frameworks
import options
import trimtab
from support.command import commands
from trimtab import archive, config, errors, events, policies
from trimtab.cli import parser
from trimtab.summarize.named import KEYS, SECTION

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SITE = DOCS.rglob("*.md")
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *sorted(SITE)]
CODE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1|`[^`\n]*`", flags=re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
TEXT = {page: page.read_text(encoding="utf-8") for page in PAGES}


def rows(name: str) -> list[list[str]]:
    """Return the rows of all tables of a page, cell by cell."""
    lines = re.findall(r"^\| (.*) \|$", TEXT[DOCS / name], flags=re.M)
    return [re.split(r" \| ", line) for line in lines]


# --- links


def on_github(heading: str) -> str:
    """Return a heading's anchor in the repository's own view."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def on_the_site(heading: str) -> str:
    """Return a heading's anchor on the site, as Python-Markdown makes it."""
    ascii_only = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page that both views give it; of equal headings that of the first."""
    prose = re.sub(r"^```.*?^```", "", TEXT[page], flags=re.M | re.S)
    headings = [
        re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", found) for found in re.findall(r"^#+ (.+)$", prose, flags=re.M)
    ]
    return {on_github(each) for each in headings} & {on_the_site(each) for each in headings}


def links() -> list[tuple[Path, str]]:
    """Return each link within the repository, with its page."""
    found = [(page, target) for page in PAGES for target in LINK.findall(CODE.sub("", TEXT[page]))]
    return [(page, target) for page, target in found if not re.match(r"[a-z]+:", target)]


def test_every_link_leads_to_a_file_and_an_anchor_that_there_are() -> None:
    assert len(links()) > 100
    for page, target in links():
        name, _, anchor = target.partition("#")
        to = (page.parent / name).resolve() if name else page
        assert to.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(to), f"{page.name}: {target}; {to.name} has {sorted(anchors(to))}"


def test_links_of_the_site_stay_in_it() -> None:
    for page, target in links():
        if DOCS in page.parents:
            assert DOCS in (page.parent / target.partition("#")[0]).resolve().parents or target[0] == "#", (
                page,
                target,
            )


HEADINGS = {
    "Seven settings of any policy": ("seven-settings-of-any-policy", "seven-settings-of-any-policy"),
    "What is trimtab's own in a list": ("what-is-trimtabs-own-in-a-list", "what-is-trimtabs-own-in-a-list"),
    "JSONL (make bench-jsonl)": ("jsonl-make-bench-jsonl", "jsonl-make-bench-jsonl"),
    "agentpg, agentpg_summarization": ("agentpg-agentpg_summarization", "agentpg-agentpg_summarization"),
    "in - out": ("in---out", "in-out"),
}
"""Anchors in the repository's view and on the site."""


def test_anchors_are_made_as_both_views_make_them() -> None:
    assert {each: (on_github(each), on_the_site(each)) for each in HEADINGS} == HEADINGS


def test_anchors_of_the_site_are_those_of_python_markdown() -> None:
    toc = pytest.importorskip("markdown.extensions.toc", reason="needs Python-Markdown, which the site is made with")
    headings = {heading for text in TEXT.values() for heading in re.findall(r"^#+ (.+)$", text, flags=re.M)}
    assert {each: toc.slugify(each, "-") for each in headings} == {each: on_the_site(each) for each in headings}


# --- names


def test_every_verb_and_action_is_in_the_command_line_page() -> None:
    described = {re.sub(r"`trimtab (\w+).*", r"\1", row[0]) for row in rows("command-line.md") if "`trimtab " in row[0]}
    found = dict(commands(parser()))
    assert described >= {words for words in found if words and " " not in words}
    listed = {words for row in rows("command-line.md") for words in re.findall(r"`([^`]+)`", row[1] if row[1:] else "")}
    assert listed >= {words for words in found if " " in words}


def test_every_option_of_every_verb_is_in_the_command_line_page() -> None:
    text = TEXT[options.PAGE]
    assert options.page(text) == text, "run make docs"
    table = text.partition(options.BEGIN)[2].partition(options.END)[0]
    for words, each in commands(parser()):
        for name in each._option_string_actions:
            line = rf"^\| [^|]*`{name}[ `][^|]*\| (?:every command|[^|]*`{words or 'trimtab'}`)"
            assert re.search(line, table, flags=re.M), (words, name)


def test_every_policy_has_a_section_and_the_choice_stands_before_them() -> None:
    text = TEXT[DOCS / "policies.md"]
    headings = re.findall(r"^## (.*)$", text, flags=re.M)
    sections = {name for heading in headings for name in heading.split(", ")}
    assert sections >= set(policies.POLICIES)
    assert headings[0] == "Which one to take"
    presets = {name for row in rows("policies.md") if len(row) == 2 for name in re.findall(r"`(\w+)`", row[0])}
    assert presets >= set(policies.POLICIES)


def test_every_event_has_a_row() -> None:
    named = {tuple(re.findall(r"`(\w+)`", " ".join(row[:2]))) for row in rows("observing.md")}
    assert named >= {(name, kind.__name__) for name, kind in events.KINDS.items()}


def test_every_error_has_a_row_and_is_exported() -> None:
    made = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.Error)}
    named = [row[0].strip("`") for row in rows("errors.md")[1:]]
    assert sorted(named) == sorted(made - {"Error"})
    assert "`trimtab.Error`" in TEXT[DOCS / "errors.md"]
    assert made <= set(trimtab.__all__)


def test_every_configuration_key_and_recommended_setting_is_in_the_configuration_page() -> None:
    text = TEXT[DOCS / "configuration.md"]
    keys = [(section, key) for section in config.SECTIONS for key in config.keys(section)]
    for section, key in [*keys, *((SECTION, key) for key in KEYS)]:
        assert f"`TRIMTAB_{section}_{key}`".upper() in text, (section, key)
        assert f"`{key}`" in text, key
    assert all(f"`{name}`" in text for name in config.SCENARIOS)


def test_every_environment_variable_that_is_read_is_documented() -> None:
    sources = [*(ROOT / "python").rglob("*.py"), *(ROOT / "rust").glob("*/src/**/*.rs")]
    read = {name for file in sources for name in re.findall(r'"(TRIMTAB_[A-Z]+)"', file.read_text(encoding="utf-8"))}
    assert "TRIMTAB_HOME" in read
    documented = " ".join(TEXT[page] for page in PAGES)
    assert {name for name in read if name not in documented} == set()


def test_every_argument_of_a_compactor_is_described() -> None:
    described = re.findall(r"^ +(\w+): ", trimtab.Compactor.__doc__ or "", flags=re.M)
    assert set(described) >= set(inspect.signature(trimtab.Compactor).parameters)


# --- the reference


BLOCKS = [name for page in PAGES for name in re.findall(r"^::: trimtab\.([\w.]+)$", TEXT[page], flags=re.M)]


def exists(name: str) -> bool:
    """Return whether the package has a name, or a module of it that may need a framework defines it."""
    module, _, member = name.rpartition(".")
    file = ROOT / "python/trimtab" / f"{module.replace('.', '/')}.py"
    if module and file.exists():
        return bool(re.search(rf"^(?:class|def) {member}\b", file.read_text(encoding="utf-8"), flags=re.M))
    return hasattr(getattr(trimtab, module) if module else trimtab, member)


def test_the_reference_has_each_public_name_once() -> None:
    assert sorted(BLOCKS) == sorted(set(BLOCKS))
    assert [name for name in BLOCKS if not exists(name)] == []
    public = set(trimtab.__all__) - {"__version__"}
    listed = {name.rpartition(".")[2] for name in BLOCKS}
    assert public <= set(BLOCKS)
    for package in {archive, config, *(getattr(trimtab, name) for name in trimtab.MORE)}:
        short = package.__name__.removeprefix("trimtab.")
        missing = [name for name in package.__all__ if f"{short}.{name}" not in BLOCKS and name not in public]
        assert missing == [], short
    for_users = "\n".join(text for page, text in TEXT.items() if page.parent.name != "dev")
    imported = re.findall(r"^(?:>>> )?from trimtab\S* import (.+?)(?:  #.*)?$", for_users, flags=re.M)
    named = {name.strip(" ()") for names in imported for name in names.split(",")}
    assert named - listed - trimtab.PACKAGES == {"POLICIES"}


# --- the site


def pages_of(nav: list[Any]) -> list[str]:
    """Return the pages of the site's navigation, in order."""
    found = []
    for entry in nav:
        inside = [entry] if isinstance(entry, str) else list(entry.values())
        found += [page for each in inside for page in ([each] if isinstance(each, str) else pages_of(each))]
    return found


def test_the_navigation_has_each_page_once() -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    assert sorted(pages_of(project["nav"])) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


@pytest.mark.parametrize("path", frameworks.PLACES, ids=lambda path: path.name)
def test_every_frameworks_page_is_listed_referred_to_and_in_the_navigation(path: Path) -> None:
    assert frameworks.written(path) == path.read_text(), "run make docs"


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    for package in ("zensical", "mkdocstrings_handlers.python"):
        if not importlib.util.find_spec(package.partition(".")[0]) or not importlib.util.find_spec(package):
            pytest.skip(f"needs {package}, which `make site` installs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    shutil.copytree(DOCS, tmp_path / "docs")
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    environment = {**os.environ, "PYTHONPATH": str(Path(trimtab.__file__).parents[1])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    made = list((tmp_path / "target/site").rglob("*.html"))
    assert len(made) > len(list(DOCS.rglob("*.md")))
    for page in made:
        loads = re.findall(
            r"<(?:script|img|iframe|source)[^>]* src=.?https?:|<link[^>]* href=.?https?:", page.read_text()
        )
        assert loads == [], page
    for name, owner in (("session", trimtab.Session), ("counting", trimtab.Counter), ("planning", trimtab.Plan)):
        reference = (tmp_path / f"target/site/api/{name}/index.html").read_text()
        methods = [each for each in dir(owner) if each[0] != "_" and callable(getattr(owner, each))]
        missing = [each for each in methods if f'id="trimtab.{owner.__name__}.{each}"' not in reference]
        assert missing == [], "of the compiled core too, and what decorators make"
        assert "Flow[" not in reference, "a method returns what its caller gets"


def test_the_costs_of_large_jobs_follow_from_the_rates_on_their_page() -> None:
    import scale

    text = scale.PAGE.read_text(encoding="utf-8")
    assert scale.page(text) == text, "run make docs"
    assert {"count", "compact", "by_hand"} == set(scale.rates(text.partition("<!--")[0]))
