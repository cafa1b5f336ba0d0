"""The verb models: the user's own names of open models, and what is known of a model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .options import add_json, tokens
from .output import print_answer, print_note

if TYPE_CHECKING:
    from ..models.model import Model

DESCRIPTION = """Name open models by their files on this disk, so that their prompts are counted as their servers render
them, and show what is known of any model. A PLACE is a folder as models are published in, a GGUF file,
hf:Qwen/Qwen3-8B (the cache of Hugging Face), lmstudio:PUBLISHER/MODEL or ollama:qwen3:8b. Nothing is fetched."""
EXAMPLES = (
    "trimtab models add mine ~/models/Qwen3-8B --window 32k",
    "trimtab models show mine",
    "trimtab count session.jsonl --model mine",
    "trimtab models list",
    "trimtab models remove mine",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))
    command = actions.add_parser("add", help="name a model; its files are read, to see that they can be")
    command.add_argument("name", metavar="NAME", help="the name that --model takes from then on")
    command.add_argument("place", metavar="PLACE", help="where its files are")
    command.add_argument("--window", metavar="N", type=tokens, help="of the server; by default that of the files")
    add_json(command)
    command = actions.add_parser("list", help="list the models that were named")
    add_json(command)
    command = actions.add_parser("show", help="show what is known of a model: its window, and how it is counted")
    command.add_argument("name", metavar="NAME", help="a name of your own, a PLACE, or a model's id")
    add_json(command)
    command = actions.add_parser("remove", help="forget a name; the files stay")
    command.add_argument("name", metavar="NAME", help="the name")


def run(options: argparse.Namespace) -> int:
    """Do the action."""
    actions = {"add": _add, "list": _list, "show": _show, "remove": _remove}
    return actions[options.action](options)


def _add(options: argparse.Namespace) -> int:
    """Name a model, once its files were read."""
    from ..models.model import Model
    from ..templates.places import PREFIXES, NamedPlace, name_places, named_places, place_of

    place = options.place if options.place.startswith(PREFIXES) else str(place_of(options.place))
    model = Model.from_folder(place, window=options.window)
    name_places(named_places() | {options.name: NamedPlace(place, options.window)})
    fields = _fields(model)
    lines = [f"{options.name} is {place}", *_lines(model, fields)]
    print_answer(options, {"name": options.name} | fields, lines)
    return 0


def _list(options: argparse.Namespace) -> int:
    """List the names."""
    from ..templates.places import named_places

    found = sorted(named_places().items())
    rows = [{"name": name, "place": each.place, "window": each.window} for name, each in found]
    lines = [f"{name}  {each.place}{_window(each.window)}" for name, each in found]
    print_answer(options, rows, lines or ["no model is named yet: trimtab models add NAME PLACE"])
    return 0


def _window(window: int | None) -> str:
    return "" if window is None else f"  (window {window:,})"


def _show(options: argparse.Namespace) -> int:
    """Show what is known of a model."""
    from ..models.model import Model

    model = Model.named(options.name)
    fields = _fields(model)
    print_answer(options, {"name": options.name} | fields, _lines(model, fields))
    return 0


def _remove(options: argparse.Namespace) -> int:
    """Forget a name."""
    from ..templates.places import name_places, named_places

    names = named_places()
    if names.pop(options.name, None) is None:
        raise ValueError(f"no model is named {options.name!r}: trimtab models list has the names")
    name_places(names)
    print_note(f"{options.name} is no name any more; its files stay")
    return 0


def _fields(model: Model) -> dict[str, Any]:
    """Return what is known of a model."""
    from ..counting.counter import Counter

    template, counter = model.template, Counter.for_model(model)
    return {
        "model": model.name,
        "window": model.window,
        "window_from": model.source,
        "max_output": model.max_output,
        "counter": counter.explain(),
        "vocabulary": (template.vocabulary if template else "") or model.prompt.encoding,
        "contents": template.contents if template else None,
        "parses_arguments": template.parses if template else None,
    }


def _lines(model: Model, fields: dict[str, Any]) -> list[str]:
    """Return the same in lines."""
    from ..models.model import SOURCES

    said = "" if fields["vocabulary"] != model.prompt.encoding else f", {SOURCES[model.source]}"
    lines = [
        f"  window      {model.window:,} tokens{said}, {model.max_output:,} of them for an answer at most",
        f"  vocabulary  {fields['vocabulary']}",
        f"  counted by  {fields['counter']}",
    ]
    if model.template:
        contents = {"text": "texts", "either": "texts and lists of parts", "parts": "lists of parts"}
        arguments = "objects" if model.template.parses else "JSON text"
        lines.append(f"  template    reads {contents[model.template.contents]}, arguments of calls as {arguments}")
    return lines
