"""Write the table of configuration keys into ``docs/configuration.md``; ``make docs``."""

from __future__ import annotations

from pathlib import Path

from trimtab import config

PAGE = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"
BEGIN, END = "<!-- keys -->\n", "<!-- /keys -->\n"


def table() -> str:
    """A row a key: section, default, allowed values, and name in the environment."""
    rows = ["| section | key | default | may be | environment |", "|---|---|---|---|---|"]
    for section, held in config.SECTIONS.items():
        for key in config.keys(section):
            rule = "one of " + ", ".join(config.choices(key)) if key == held.preset_key else allowed(held.keys[key])
            default = config.value(section, key)
            environment = f"TRIMTAB_{section}_{key}".upper()
            rows.append(f"| `{section}` | `{key}` | `{default}` | {rule} | `{environment}` |")
    return "\n".join(rows) + "\n"


def allowed(key: config.Key) -> str:
    """The values that a key may have, in words."""
    return {"name": "text", "switch": "true, false", "model": "a model's id, or nothing"}.get(
        key.rule, config.RULES[key.rule][1].removeprefix("must be ")
    )


def page(text: str) -> str:
    """The page with a new table."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
