"""Renders chat templates: the program of a process of its own, because a template is a stranger's code.

It is started by its path and imports Jinja alone. A line of JSON on stdin is a request, a line on stdout its answer.
What a template can do is limited four times: Jinja's sandbox keeps it from everything but its own values, the system
ends the process after some time on a processor and refuses it more memory, and its output is measured while it is made.

The values and filters that a template finds are those of Hugging Face's `apply_chat_template`, so that it renders as
servers render it.
"""

from __future__ import annotations

import contextlib
import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import jinja2
import jinja2.runtime
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

try:
    import resource
    from signal import ITIMER_PROF, SIG_DFL, SIG_UNBLOCK, SIGPROF, pthread_sigmask, setitimer, signal
except ImportError:  # Windows has neither
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2 import Template, nodes
    from jinja2.parser import Parser

SECONDS, SECONDS_A_MEGABYTE = 1.5, 1.0
"""Time on a processor for a request: in all, and for each megabyte of its line."""

MEMORY, MEMORY_A_BYTE = 128 << 20, 40
"""Bytes of memory for a request beyond those of the process: in all, and for each byte of its line."""

OUTPUT, OUTPUT_A_BYTE = 8 << 20, 20
"""Characters of a rendered prompt: in all, and for each byte of the request's line."""

LARGEST_POWER = 64
"""Largest exponent: numbers with millions of digits take minutes in one step."""


class Places:
    """Which message the template is at, by the loops over messages that it is in."""

    def __init__(self) -> None:
        """Begin in front of all messages."""
        self.loops: list[int] = []

    def enter(self, depth: int, place: int) -> None:
        """Go on with a message in the loop at this depth; loops inside of it have ended."""
        del self.loops[depth:]
        self.loops.append(place)


class Listed(list[Any]):
    """A list of messages, or a part of it, that tells at which of them a loop is.

    Names of its attributes begin with an underscore: the sandbox hides these from templates.
    """

    def __init__(self, values: list[Any], positions: range, places: Places) -> None:
        """Take the messages and their positions in the whole list."""
        super().__init__(values)
        self._positions = positions
        self._places = places

    def __getitem__(self, key: Any) -> Any:
        """Return a message, or a part of the list that tells positions too."""
        found = super().__getitem__(key)
        return Listed(found, self._positions[key], self._places) if isinstance(key, slice) else found

    def __iter__(self) -> Iterator[Any]:
        """Yield the messages, and tell the position of each."""
        depth = len(self._places.loops)
        try:
            for place, message in zip(self._positions, super().__iter__(), strict=False):
                self._places.enter(depth, place)
                yield message
        finally:  # a loop may end early
            del self._places.loops[depth:]


class Loop(jinja2.runtime.LoopContext):
    """A loop that uses `loop`, which reads one message ahead: it tells a message when its turn comes."""

    def __init__(self, iterable: Any, *args: Any, **options: Any) -> None:
        """Take what is looped over."""
        self._messages = iterable if isinstance(iterable, Listed) else None
        self._begins = len(self._messages._places.loops) if self._messages is not None else 0  # noqa: SLF001
        super().__init__([*list.__iter__(iterable)] if self._messages is not None else iterable, *args, **options)

    def __next__(self) -> Any:
        """Return the next value."""
        if self._messages is None:
            return super().__next__()
        places = self._messages._places  # noqa: SLF001
        try:
            found = super().__next__()
        except StopIteration:
            del places.loops[self._begins :]
            raise
        places.enter(self._begins, self._messages._positions[self.index0])  # noqa: SLF001
        return found

    def __del__(self) -> None:
        """Leave the loop: one that a template breaks off is let go at once, and ends in no other way."""
        if self._messages is not None:
            del self._messages._places.loops[self._begins :]  # noqa: SLF001


class Generation(Extension):
    """The block `generation`, which marks what a model wrote: it renders its content."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Return the block's content."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class Environment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox; it takes no large power."""

    intercepted_binops = frozenset(("**",))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute a power."""
        if not isinstance(right, int | float) or right > LARGEST_POWER:
            raise jinja2.exceptions.SecurityError(f"a power of more than {LARGEST_POWER}")
        return super().call_binop(context, operator, left, right)


class Dict:
    """`dict` of a template: it makes dicts, and has nothing else of Python's."""

    def __call__(self, *args: Any, **entries: Any) -> dict[Any, Any]:
        """Return a dict."""
        return dict(*args, **entries)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """Return a dict of keys with one value."""
        return dict.fromkeys(*args)


class Namespace(jinja2.utils.Namespace):
    """`namespace` of a template, whose names begin with no underscore."""

    def __init__(*args: Any, **values: Any) -> None:
        """Take the values."""
        given = dict(*args[1:], **values)
        for name in given:
            _check_name(name)
        jinja2.utils.Namespace.__init__(args[0], given)

    def __setitem__(self, name: str, value: Any) -> None:
        """Set a name."""
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: object) -> None:
    if str(name).startswith("_"):
        raise jinja2.exceptions.SecurityError(f"{name!r} as the name of a value")


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, FBT002
    """Return a value as JSON, as Hugging Face's filter writes it: no character is escaped for HTML or ASCII."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def refuse(message: object) -> None:
    """Raise the template's own error."""
    raise jinja2.exceptions.TemplateError(str(message))


def environment() -> Environment:
    """Return the environment of all templates."""
    vars(jinja2.runtime)["LoopContext"] = Loop  # the code that Jinja makes of a template takes it from there
    made = Environment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    made.filters["tojson"] = to_json
    made.globals |= {
        "raise_exception": refuse,
        "strftime_now": lambda form: datetime.now().strftime(form),  # noqa: DTZ005 - the server's own day
        "dict": Dict(),
        "namespace": Namespace,
    }
    return made


def rendered(template: Template, values: dict[str, Any], most: int) -> list[tuple[int, str]]:
    """Return a prompt as texts, each with the position of its message: -1 in front of all, their number behind them."""
    places, messages = Places(), values["messages"]
    values = values | {"messages": Listed(messages, range(len(messages)), places)}
    parts: list[tuple[int, list[str]]] = []
    length, begun = 0, False
    for text in template.root_render_func(template.new_context(values)):
        length += len(text)
        if length > most:
            raise MemoryError
        begun = begun or bool(places.loops)
        place = places.loops[0] if places.loops else len(messages) if begun else -1
        if parts and parts[-1][0] == place:
            parts[-1][1].append(text)
        else:
            parts.append((place, [text]))
    return [(place, "".join(texts)) for place, texts in parts]


def limit(line: int) -> None:
    """Limit what a request of so many bytes may take, where the system can."""
    if resource is None:
        return
    setitimer(ITIMER_PROF, SECONDS + SECONDS_A_MEGABYTE * line / (1 << 20))  # nobody catches its signal: it ends us
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - no other import for one line
            held = int(file.read().split()[0]) * resource.getpagesize()
        wanted = held + MEMORY + MEMORY_A_BYTE * line
        resource.setrlimit(resource.RLIMIT_AS, (wanted if most < 0 else min(wanted, most), most))


def unlimited() -> None:
    """End the limits of time between two requests."""
    if resource is not None:
        setitimer(ITIMER_PROF, 0)


def answer(line: bytes, templates: dict[str, Template], made: Environment) -> dict[str, Any]:
    """Return the answer to a request: the parts, or an error."""
    try:
        source, values = json.loads(line.decode("utf-8", "surrogatepass"))
        template = templates.get(source)
        if template is None:
            template = templates[source] = made.from_string(source)
        return {"parts": rendered(template, values, OUTPUT + OUTPUT_A_BYTE * len(line))}
    except (MemoryError, RecursionError) as error:
        return {"limit": type(error).__name__}
    except Exception as error:  # noqa: BLE001 - whatever a stranger's code raises
        return {"error": f"{type(error).__name__}: {error}"[:500]}


def main() -> None:
    """Answer requests until stdin ends."""
    if resource is not None:
        signal(SIGPROF, SIG_DFL)  # whoever started this may ignore or block it
        pthread_sigmask(SIG_UNBLOCK, {SIGPROF})
    templates: dict[str, Template] = {}
    made = environment()
    for line in sys.stdin.buffer:
        limit(len(line))
        found = answer(line, templates, made)
        unlimited()
        text = json.dumps(found, ensure_ascii=False)
        sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass") + b"\n")
        sys.stdout.buffer.flush()
        if "limit" in found:
            return  # another process takes the next request


if __name__ == "__main__":
    main()
