"""The page of a report: one file that fetches nothing and runs nothing but its own script."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from . import panels, plans
from .html import Markup, esc, tag

if TYPE_CHECKING:
    from .figures import Report

STYLE, SCRIPT = ((Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
"""The page's own style and script."""


PANELS = (
    panels.fits,
    panels.cuts,
    panels.messages,
    panels.fills,
    panels.largest,
    plans.plans,
    plans.money,
    plans.rebuilt,
    plans.history,
    panels.counted,
)
"""The panels of a page, from top to bottom."""


def page(report: Report) -> str:
    """Return the page: equal figures give equal bytes.

    Its policy stands before all else: nothing is loaded, and style and script are allowed by their digests alone. All
    texts of the session are escaped, so that they are harmless without the policy too.
    """
    allowed = f"style-src {_digest(STYLE)}; script-src {_digest(SCRIPT)}"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    title = "a session" if report.hides else report.title
    name = title if report.hides else Path(title).name
    inside = (panel(report) for panel in PANELS)
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{esc(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{esc(name)}: trimtab report</title><style>{STYLE}</style>"
    )
    fields = report.fields
    said = tag("p", f"{fields['messages']:,} messages, {fields['format']}, {fields['model']}", class_="dim")
    body = (
        tag("header", tag("h1", name), *([tag("p", title, class_="dim")] if name != title else []), said),
        tag("main", *inside),
        tag("footer", tag("p", f"Made by trimtab {report.version} on this machine; nothing was sent anywhere.")),
        Markup(f"<script>{SCRIPT}</script>"),
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body class="trimtab">{"".join(body)}</body></html>\n'


def _digest(text: str) -> str:
    """Return a text's digest as a Content-Security-Policy names it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
