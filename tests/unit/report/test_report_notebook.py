"""What a notebook shows: no label is cut at an edge, and each chart has a table behind it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import trimtab
from trimtab import Transcript, formats
from trimtab.audit.lists import Lists
from trimtab.report import charts
from trimtab.report.notebook import small


@pytest.mark.parametrize("calls", [1, 3, 7, 13, 450, 12_345])
def test_no_label_below_the_chart_of_money_is_cut_at_an_edge(calls: int) -> None:
    drawn = charts.paying(0.01 * calls, 0.01, calls)
    labels = re.findall(rf'<text x="([\d.]+)" y="{charts.HEIGHT - 6:.1f}" text-anchor="(\w+)">([^<]+)<', drawn)
    assert len(labels) == 3
    for x, anchor, text in labels:
        wide = charts.WIDEST * len(text)
        left = {"start": 0.0, "middle": wide / 2, "end": float(wide)}[anchor]
        assert float(x) - left >= 0
        assert float(x) - left + wide <= charts.WIDTH, (calls, anchor, text)


def test_each_chart_of_a_transcript_in_a_notebook_has_its_table() -> None:
    html = small(trimtab.read(str(formats.EXAMPLE)))
    figure = html.index("How large is each message?")
    table = re.search(r"<summary>as a table</summary>.*?</table>", html[figure:], re.DOTALL)
    assert table
    rows = re.findall(r"<tr>", table[0])
    assert 70 <= len(rows) <= 150  # 141 messages, a row each or two
    assert "#140" in table[0]


def test_an_empty_transcript_has_a_table_without_rows() -> None:

    assert "How large is each message?" in small(Transcript([], "anthropic", "anthropic"))


def test_a_compaction_in_a_notebook_says_what_it_kept_and_what_is_gone() -> None:
    messages = [{"role": "user", "content": "Tidy the shed. Never touch the <b>blue</b> bicycle."}]
    messages += [{"role": "assistant", "content": f"shelf {n} " + "word " * 50} for n in range(40)]
    done = trimtab.Compactor("gpt-5.5", archive="memory").compact([*messages, messages[0]], target_share=0.5)
    assert "Kept: 1 of 1 rule." in small(done)
    gone = small(replace(done, lists=Lists(messages, [])))
    assert "what is gone" in gone
    assert "rule, message 0: Tidy the shed. Never touch the &lt;b&gt;blue" in gone
