"""The report: the figures of the other commands on one page, which is harmless, small and the same each time."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from test_formats_claude_code import boundary, says, summary, user
from test_formats_claude_code import text as words

import trimtab
from support import format_cases
from support.command import on_terminal, run
from support.measured import COMPACTED
from support.models import CLAUDE_BOUND
from support.transcripts import transcript
from trimtab import formats
from trimtab.report import course, sizes
from trimtab.report.figures import errors
from trimtab.report.html import data, esc

EXAMPLE = str(formats.EXAMPLE)
WINDOW = ("--window", "100k")
VOID = {"meta", "!doctype"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Elements(HTMLParser):
    """The elements of a page, in order, and its text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        inside = self.open[-1:] or [""]
        (self.scripts if inside[0] in {"script", "style"} else self.text).append(data)


def written(*words: str) -> str:
    done = run("report", *words, "-o", "report.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("wrote report.html, ")
    return Path("report.html").read_text()


def test_the_page_has_the_numbers_of_count_and_show() -> None:
    page = written(EXAMPLE, *WINDOW)
    text = " ".join(Elements(page).text)
    count = json.loads(run("count", EXAMPLE, *WINDOW, "--json").stdout)
    for name in ("next_prompt", "window", "trigger", "messages"):
        assert f"{count[name]:,}" in text, name
    rows = dict(re.findall(r"<tr><td>([\w.]+)</td><td[^>]*>(.*?)</td></tr>", page))
    assert {name: unescape(rows[name]) for name in count if name not in ("kinds", "left_out")} == {
        name: str(value) for name, value in count.items() if name not in ("kinds", "left_out")
    }
    assert {name: rows[f"kinds.{name}"] for name in count["kinds"]} == {
        name: str(value) for name, value in count["kinds"].items()
    }
    show = json.loads(run("show", EXAMPLE, *WINDOW, "--json").stdout)
    for part in show["parts"]:
        assert f'{part["name"]}</span></td><td class="number">{part["tokens"]:,}</td>' in page
    assert all(f"#{block['message']}</td><td>{block['tool']}</td>" in page for block in show["largest"])
    plan = json.loads(run("plan", EXAMPLE, *WINDOW, "--json").stdout)
    assert f"{plan['tokens_after']:,}" in text
    answer = json.loads(run("report", EXAMPLE, *WINDOW, "-o", "report.html", "--json").stdout)
    assert {name: answer[name] for name in count} == count


def test_the_bars_add_up_to_the_messages_and_a_bar_lists_its_messages() -> None:
    found = trimtab.read(EXAMPLE)
    counter = trimtab.Counter.for_model(CLAUDE_BOUND)
    contents = trimtab.ledger.contents.Contents.of(found.messages, counter, found.provider)
    made = sizes(contents)
    assert made.split.sum() == contents.ledger.total
    assert (made.split.sum(axis=0) == contents.per_message).all()
    assert [listed[0][:2] for listed in made.listed] == list(enumerate(contents.per_message.tolist()))
    many = [message for _ in range(20) for message in transcript("u:9 c1 r1:30 a:9", provider="anthropic")]
    contents = trimtab.ledger.contents.Contents.of(many * 10, counter, "anthropic")
    made = sizes(contents)
    assert made.split.shape[1] == 500
    assert made.split.sum() == contents.ledger.total
    ends = made.firsts.tolist()
    for bar, listed in enumerate(made.listed):
        numbers = sorted(number for number, _, _ in listed)
        assert numbers == list(range(ends[bar], ends[bar + 1]))


def test_the_prompt_begins_anew_behind_each_compaction() -> None:
    per_message = trimtab.ledger.contents.Contents.of(
        transcript(" ".join(["u:9 a:9"] * 20), provider="anthropic"), trimtab.Counter("o200k_base"), "anthropic"
    ).per_message
    usage = [trimtab.messages.types.Charged(*call) for call in ((3, 120, 9), (15, 150, 9))]
    found = course(per_message, 100, [10, 30], usage)
    sums = per_message.cumsum()
    expected = [
        100 + int(sums[at]) - (int(sums[29]) if at >= 30 else int(sums[9]) if at >= 10 else 0) for at in range(40)
    ]
    assert found.tops.tolist() == expected
    assert found.firsts.tolist() == list(range(41))
    assert found.billed == [(3, 120, expected[2]), (15, 150, expected[14])]
    assert found.cuts == [(10, expected[9], expected[14]), (30, expected[29], expected[30])]


def test_the_policy_stands_before_all_else_and_allows_nothing_but_the_page_itself() -> None:
    page = written(EXAMPLE)
    found = Elements(page)
    assert [tag for tag, _ in found.tags[:4]] == ["html", "head", "meta", "meta"]
    policy = found.tags[3][1]
    assert policy["http-equiv"] == "Content-Security-Policy"
    allowed = str(policy["content"])
    assert allowed.startswith("default-src 'none'; ")
    style, *_, script = found.scripts
    for text in (style, script):
        assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in allowed
    for tag, attributes in found.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert not [name for name in attributes if name.startswith("on") or name in {"style", "src", "href", "srcdoc"}]
    assert not re.search(r"url\(|@import|https?://", page)


def test_equal_input_gives_equal_bytes() -> None:
    assert written(EXAMPLE) == written(EXAMPLE)


def hostile() -> list[dict[str, Any]]:
    evil = '"><img src=x onerror=alert(1)>'
    call = {
        "type": "tool_use",
        "id": "a",
        "name": f"{evil}\x1b[31m\u202e",
        "input": {"file_path": "</script><svg onload=x>"},
    }
    result = {"type": "tool_result", "tool_use_id": "a", "content": "\x1b]0;x\x07<!-- </script> " + "x" * 1_000_000}
    return [
        {"role": "user", "content": "<script>window.hit=1</script></script><script>window.hit=2</script>"},
        {"role": "assistant", "content": [{"type": "text", "text": f"{evil}\u2028&amp;"}, call]},
        {"role": "user", "content": [result]},
    ]


def test_hostile_texts_are_texts() -> None:
    Path("<img src=x>.json").write_text(json.dumps(hostile()))
    page = written("<img src=x>.json", "--target-share", "0.5")
    found = Elements(page)
    assert not found.open
    assert {tag for tag, _ in found.tags} & {"img", "b", "iframe"} == set()
    assert len([tag for tag, _ in found.tags if tag == "script"]) == 2
    assert all(c in "\n\t" or c.isprintable() for c in page)
    assert "onerror=alert" in " ".join(found.text)
    tools, bars = json.loads(found.scripts[1])
    *_, listed = bars[1]
    assert tools[listed[0][2]].startswith('"><img')


EVIL = "\"'><img src=x onerror=alert(1)></script></style></title><svg onload=alert(1)>\u202e\x1b[31m\u2028"
STRUCTURE = {"type", "role", "kind", "status", "source", "event", "subtype", "action", "observation", "schema_version"}
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "section", "footer", "h1", "h2", "p", "div"),
    *("span", "pre", "ul", "li", "figure", "figcaption", "table", "thead", "tbody", "tr", "th", "td", "details"),
    *("summary", "svg", "rect", "path", "text", "script"),
}


def spoiled(value: Any, name: str = "") -> Any:
    """The value with hostile text in front of every text that is no id and no name of a format's own."""
    if isinstance(value, dict):
        return {key: spoiled(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [spoiled(part, name) for part in value]
    own = name in STRUCTURE or name.lower().endswith(("id", "version", "format", "timestamp", "data", "cause"))
    return value if not isinstance(value, str) or own else EVIL + value


@pytest.mark.parametrize("name", [*format_cases.LINES, *format_cases.WHOLES])
def test_no_field_of_any_format_is_more_than_text(name: str) -> None:
    whole = format_cases.WHOLES.get(name)
    lines = [whole(6)] if whole else format_cases.LINES[name](6)
    Path("s.json").write_text("\n".join(json.dumps(spoiled(line)) for line in lines))
    run("compact", "s.json", "-o", "o.json", "--target-share", "0.5")
    for options in (("--target-share", "0.5"), ("--redact",)):
        page = written("s.json", *options)
        found = Elements(page)
        assert not found.open
        assert {tag for tag, _ in found.tags} - ELEMENTS == set()
        assert not [
            key for _, some in found.tags for key in some if key.startswith("on") or key in {"src", "href", "style"}
        ]
        assert all(c in "\n\t" or c.isprintable() for c in page)
    assert "onerror" in written("s.json")


def test_data_in_a_script_element_cannot_end_it() -> None:
    value = ["</script><!--", "\u2028", "&lt;", "\x1b"]
    made = data(value)
    body = made.removeprefix('<script type="application/json">').removesuffix("</script>")
    assert not set("<>&\u2028") & set(body)
    assert json.loads(body) == value
    assert esc("\u202e<") == "\\u202e&lt;"
    assert esc(esc("<")) == "&lt;"


def test_redact_hides_every_text_of_the_session(home: Path) -> None:
    messages = transcript("u:40 c1 r1:200 a:30 u:30 c2 r2:100 a:9", provider="anthropic")
    Path("secret-name.json").write_text(json.dumps(messages))
    run("compact", "secret-name.json", "-o", "o.json", "--target-share", "0.5")
    words = {word for text in _texts(messages) for word in re.findall(r"[A-Za-z]{6,}", text)}
    plain = set(re.findall(r"[A-Za-z]{6,}", written("secret-name.json", "--target-share", "0.5")))
    hides = set(re.findall(r"[A-Za-z]{6,}", written("secret-name.json", "--target-share", "0.5", "--redact")))
    said = set(re.findall(r"[A-Za-z]{6,}", written(EXAMPLE)))
    assert words & plain - said
    assert not words & hides - said
    assert "secret" in plain
    assert "secret" not in hides


def test_the_length_of_a_text_that_is_known_in_part_is_said_to_be_more() -> None:
    page = written(EXAMPLE, "--redact")
    assert "[80 characters or more]" in page
    assert "[400 characters or more]" in page
    assert "[400 characters]" not in page
    assert re.search(r"\[44 characters\]", page)


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for name, part in value.items() if name in {"content", "text", "input"} for text in _texts(part)]
    return [text for part in value for text in _texts(part)] if isinstance(value, list) else [str(value)]


def test_policies_stand_side_by_side_and_an_unknown_one_is_an_error() -> None:
    page = written(EXAMPLE, *WINDOW, "--policy", "default", "--policy", "sven")
    plans = [
        json.loads(run("plan", EXAMPLE, *WINDOW, "--policy", name, "--json").stdout) for name in ("default", "sven")
    ]
    for plan in plans:
        numbers = "".join(
            f'<td class="number">{plan[name]:,}</td>' for name in ("tokens_before", "tokens_after", "target")
        )
        assert f"<td>{plan['policy']}</td>{numbers}" in page
    assert page.count("<figcaption>sven: the messages from #0 to #140") == 1
    done = run("report", EXAMPLE, "--policy", "boldest", "-o", "r.html")
    assert done.returncode == 64
    assert not Path("r.html").exists()


def test_a_strip_of_many_messages_is_as_short_as_one_of_few() -> None:
    page = written(EXAMPLE, *WINDOW)
    messages = trimtab.read(EXAMPLE).messages * 40
    for number, message in enumerate(json.loads(json.dumps(messages))):
        messages[number] = json.loads(
            re.sub(r"toolu_\w+", lambda found, n=number // 141: f"{found[0]}{n}", json.dumps(message))
        )
    Path("s.json").write_text(json.dumps(messages))
    many = written("s.json", "--target-share", "0.5")
    assert len(many.encode()) < 300_000
    for text in (page, many):
        strip = re.findall(r'<svg class="share".*?</svg>', text[text.index("What would a compaction take?") :])[0]
        assert strip.count('class="changes"') > 0
        assert strip.count("<rect") < 500


def test_our_count_is_compared_with_the_bill_between_two_calls_of_one_prompt() -> None:
    billed = [(1, 100, 90), (3, 150, 140), (5, 210, 190), (7, 60, 50), (9, 90, 85)]
    assert errors(billed).tolist() == [0, -10, 5]
    assert errors(billed[:1]).tolist() == []


def test_the_messages_before_a_compaction_have_no_number_of_the_list() -> None:
    said = [user("a0", None, "word " * 50)]
    said += [
        says(f"a{n}", f"a{n - 1}", f"m{n}", words("done " * 40)) if n % 2 else user(f"a{n}", f"a{n - 1}", "go on")
        for n in range(1, 21)
    ]
    after = [boundary("b", "a20"), summary("s", "b"), says("z", "s", "m99", words("well"))]
    Path("s.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in (*said, *after)))
    whole, found = trimtab.read("s.jsonl", whole=True), trimtab.read("s.jsonl")
    assert whole.compactions
    earlier = len(whole.messages) - len(found.messages)
    page = written("s.jsonl", "--model", CLAUDE_BOUND)
    chart = re.findall(r'<svg class="chart".*?</svg>', page)[0]
    assert "Compacted 1 time: " in page
    assert re.search(r">\d+ before</text>", chart)
    assert ">#0</text>" in chart
    assert f">#{earlier:,}</text>" not in chart


@pytest.mark.parametrize("word", ["word ", "語", "/a-folder", "<"])
def test_a_page_of_5000_messages_is_under_300_kb(word: str) -> None:
    messages = [
        message for turn in range(1250) for message in transcript(f"u:20 c{turn} r{turn}:60 a:15", provider="anthropic")
    ]
    assert len(messages) == 5_000
    for turn, message in enumerate(messages):
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_use":
                block["name"], block["input"] = (
                    "mcp__a_server_with_a_long_name__a_tool",
                    {"file_path": f"{turn}{word * 90}"},
                )
            if block["type"] == "tool_result":
                block["content"] = word * 90
    Path("s.json").write_text(json.dumps(messages))
    assert len(written("s.json", "--target-share", "0.5").encode()) < 300_000


def test_compactions_in_the_archive_and_the_list_from_before_one(home: Path) -> None:
    Path("s.json").write_text(json.dumps(transcript("u:40 c1 r1:200 a:30 u:30 c2 r2:100 a:9", provider="anthropic")))
    assert "The archive has no compaction" in written("s.json")
    done = json.loads(run("compact", "s.json", "-o", "o.json", "--target-share", "0.5", "--json").stdout)
    page = written("s.json")
    assert f"<td>{done['ref']}</td>" in page
    assert f"{done['tokens_before']:,}</td>" in page
    assert esc(done["summary"] or "") in page
    by_ref = written(done["ref"][:8])
    assert f"{done['tokens_before']:,}" in " ".join(Elements(by_ref).text)
    assert f"<td>{done['ref']}</td>" in by_ref
    changed = json.loads(run("diff", done["ref"], "--json").stdout)
    took = f"It took {len(changed['left'])} of {changed['messages']} messages and changed {len(changed['changed'])}."
    assert took in by_ref
    assert took not in page
    missing = run("report", "0123abcd", "-o", "r.html")
    assert missing.returncode == 65
    assert "no such file" in missing.stderr


def test_the_reason_of_a_fallback_stands_in_the_history(home: Path) -> None:
    Path("s.json").write_text(json.dumps(transcript("u:400 a:300 u:300 a:90", provider="anthropic")))
    done = run("compact", "s.json", "-o", "o.json", "--target-share", "0.5", "--summarizer", "cmd:false")
    assert done.returncode == 0, done.stderr
    assert "cmd:false failed: exit code 1" in written("s.json")


def test_a_session_without_a_compaction_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    read = formats.read

    def note(*words: Any, **options: Any) -> Any:
        asked.append(options.get("whole", False))
        return read(*words, **options)

    monkeypatch.setattr(formats, "read", note)
    written(EXAMPLE)
    assert asked == [False]


@pytest.mark.parametrize("name", ["codex", "copilot_cli"])
def test_a_compaction_is_drawn_in_other_formats_too(name: str) -> None:
    lines = [*format_cases.LINES[name](6), COMPACTED[name], *format_cases.LINES[name](2)]
    Path("s.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert trimtab.read("s.jsonl", whole=True).compactions
    assert "Compacted 1 time: " in written("s.jsonl")


def test_a_session_without_messages_calls_or_prices_has_a_page() -> None:
    for messages in ([], [{"role": "user", "content": "hi"}]):
        Path("s.json").write_text(json.dumps(messages))
        done = run("report", "s.json", "--model", "no-such-model", "-o", "r.html")
        if messages:
            assert done.returncode == 0, done.stderr
            assert "prices are unknown" in Path("r.html").read_text()


def test_a_terminal_is_not_filled_with_a_page() -> None:
    Path("s.json").write_text(json.dumps(transcript("u:9 a:9", provider="anthropic")))
    assert "name a file for it: -o report.html" in on_terminal("report", "s.json")
    assert run("report", "s.json").stdout.startswith("<!doctype html>")


def test_the_split_stands_in_front_of_the_bars() -> None:
    page = written(EXAMPLE, *WINDOW)
    [zone] = [edit for edit in json.loads(run("plan", EXAMPLE, *WINDOW, "--json").stdout)["edits"] if "keep" in edit]
    chart = re.findall(r'<svg class="chart columns".*?</svg>', page)[0]
    assert chart.index('class="zone"') < chart.index('class="p0"') < chart.index('class="split"')
    assert f"the split, before #{zone['stop']}<" in page


def test_the_input_is_not_replaced() -> None:
    Path("s.json").write_text(json.dumps(transcript("u:9 a:9", provider="anthropic")))
    done = run("report", "s.json", "-o", "./s.json")
    assert done.returncode == 64
    assert "is the input" in done.stderr


def test_a_notebook_shows_plans_compactions_and_transcripts_harmlessly(home: Path) -> None:
    cm = trimtab.Compactor(CLAUDE_BOUND, window=30_000, archive="memory")
    found = trimtab.read(EXAMPLE)
    plan, done = cm.plan(found.messages), cm.compact(found.messages)
    for value, said in (
        (plan, f"{plan.tokens_before:,} -> at most {plan.tokens_after:,} tokens"),
        (done, f"{done.tokens_before:,} -> {done.tokens_after:,} tokens"),
        (found, f"{plan.tokens_before:,} tokens"),
    ):
        html = value._repr_html_()
        assert esc(said) in html
        shown = Elements(html)
        assert not shown.open
        assert not [tag for tag, _ in shown.tags if tag == "script"]
    empty = trimtab.messages.types.Transcript([], "anthropic", "anthropic")
    assert "0 messages" in empty._repr_html_()
    evil = trimtab.messages.types.Transcript(hostile()[:3], "anthropic", "anthropic")
    assert "<img" not in evil._repr_html_()


@pytest.mark.shared
def test_shared_sessions_have_pages(shared: Path) -> None:
    files = [path for path in sorted((shared / "data" / "transcripts").rglob("*.json*")) if path.is_file()]
    for path in files[::12]:
        page = written(str(path))
        assert not Elements(page).open, path
        assert len(page.encode()) < 300_000
