"""The report in Chromium: nothing but its own script runs, no request leaves, and it works by pointer and keyboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from test_report import hostile

from support.command import run
from trimtab import formats

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = which("chromium") or which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

GRAVE = {"serious", "critical"}
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        found = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(*words: str) -> Path:
    done = run("report", *words, "-o", "report.html", "--target-share", "0.5")
    assert done.returncode == 0, done.stderr
    return Path("report.html").absolute()


def opened(browser: Any, path: Path, **options: Any) -> tuple[Any, list[str]]:
    """Open a page; return it with all that it asks for, prints and fails at, which stays empty."""
    page, heard = browser.new_page(**options), []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("dialog", lambda dialog: heard.append(dialog.message))
    page.on("request", lambda request: None if request.url == path.as_uri() else heard.append(request.url))
    page.goto(path.as_uri())
    return page, heard


def sources(shared: Path | None) -> list[str]:
    if shared is None:
        return []
    folder = shared / "data" / "transcripts"
    return [str(next(path for path in sorted((folder / name).rglob("*.json*")) if path.is_file())) for name in
            ("claude-code", "codex", "openhands")]  # fmt: skip


def works(browser: Any, path: Path) -> None:
    """Point, click and type; look at it in light and dark."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    page, heard = opened(browser, path, viewport={"width": 1100, "height": 900})
    chart, detail = page.locator("svg.columns"), page.locator(".detail")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] / 2)
    pointed = detail.inner_text()
    assert re.match(r"#\d+: |\d+ messages from #\d+", pointed), pointed
    page.mouse.click(box["x"] + box["width"] * 0.99, box["y"] + box["height"] / 2)
    last = int(chart.get_attribute("aria-valuemax"))
    assert int(chart.get_attribute("aria-valuenow")) >= last - 5
    chart.focus()
    page.keyboard.press("Home")
    assert chart.get_attribute("aria-valuenow") == "0"
    page.keyboard.press("ArrowRight")
    assert chart.get_attribute("aria-valuenow") == str(min(1, last))
    assert chart.get_attribute("aria-valuetext") in detail.inner_text()
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details[open] table").first.is_visible()
    for scheme, width in (("light", 1100), ("dark", 1100), ("light", 400)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        faults = axe.run(page).response["violations"]
        assert [fault["id"] for fault in faults if fault["impact"] in GRAVE] == [], faults
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert heard == []
    page.close()


def test_the_example_works(browser: Any) -> None:
    works(browser, report(str(formats.EXAMPLE), "--policy", "default", "--policy", "sven"))


@pytest.mark.shared
@pytest.mark.parametrize("place", range(3))
def test_shared_sessions_work(browser: Any, shared: Path, place: int) -> None:
    works(browser, report(sources(shared)[place]))


def test_a_printed_page_shows_what_is_folded(browser: Any) -> None:
    page, _ = opened(browser, report(str(formats.EXAMPLE)))
    table = page.locator("details table").first
    shown = "table => table.checkVisibility({contentVisibilityAuto: true})"
    assert not table.evaluate(shown)
    page.emulate_media(media="print")
    assert table.evaluate(shown)


def test_a_name_of_60_characters_does_not_widen_a_narrow_page(browser: Any) -> None:
    call = {"type": "tool_use", "id": "a", "name": "very_long_tool_name_" * 3, "input": {"path": "/src" * 90}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "found " * 900}
    messages = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]}]  # fmt: skip
    Path("s.json").write_text(json.dumps(messages))
    page, _ = opened(browser, report("s.json"), viewport={"width": 380, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 380


def test_a_hostile_session_works_and_runs_nothing(browser: Any) -> None:
    Path("s.json").write_text(json.dumps(hostile()))
    works(browser, report("s.json"))


def test_a_hostile_session_runs_nothing_without_the_policy_too(browser: Any) -> None:
    Path("s.json").write_text(json.dumps(hostile()))
    path = report("s.json")
    bare, removed = POLICY.subn("", path.read_text())
    assert removed == 1
    path.write_text(bare)
    page, heard = opened(browser, path)
    page.locator("svg.columns").click()
    assert page.evaluate("window.hit") is None
    assert page.locator("img, iframe, svg [onload]").count() == 0
    assert heard == []
    page.close()


def test_the_policy_stops_a_script_that_stands_in_the_page(browser: Any) -> None:
    path = report(str(formats.EXAMPLE))
    path.write_text(path.read_text().replace("</main>", "<script>window.hit=1</script><img src=//x.invalid/y></main>"))
    page, heard = opened(browser, path)
    assert page.evaluate("window.hit") is None
    assert any("Content Security Policy" in text for text in heard)
    page.close()
