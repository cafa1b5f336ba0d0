"""Models: windows, limits, prices and prompt formats. Every field can be overridden.

Every function that accepts an id also accepts a ``Model``, such as
``dataclasses.replace(Model.named("claude-opus-5"), window=400_000)``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from .._log import log
from .._repr import short
from ..templates.places import PREFIXES, NamedPlace, named_places
from . import table as tables
from .catalog import Row, host_of, names, nearest, own_rows, relative, rows_of, versions
from .ids import ModelId, key_of
from .prompts import PROMPTS, PromptGrammar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from ..templates.rendered import PromptRenderer
    from .provider import Provider

MOST_TOKENS = 2**53
"""Largest number of tokens: JSON's readers know no larger integer, and a session's state is JSON."""

BETAS = {"context-1m-2025-08-07": ("sonnet", 1_000_000)}
"""Beta flags that widen a window: a part of the ids of their models, and the window in tokens."""


WindowSource: TypeAlias = Literal["argument", "refusal", "file", "profile", "table", "public", "policy", "assumed"]

SOURCES: dict[WindowSource, str] = {
    "argument": "as the caller says",
    "refusal": "as a provider's refusal said",
    "file": "the agent's own, of its session file",
    "profile": "of the framework's profile of the model",
    "table": "of trimtab's table",
    "public": "of public tables",
    "policy": "of the policy",
    "assumed": "assumed",
}
"""Where a window is from, in words; of two windows the one whose source stands first counts.

A policy's window takes the place of an assumed one, or, where the policy fixes it, of the tables' and a profile's.
"""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; unknown prices are NaN."""

    input: float = float("nan")
    output: float = float("nan")
    cache_read: float = float("nan")
    cache_write: float = float("nan")

    def of(self, fresh: float = 0, cached: float = 0, output: float = 0, written: float = 0) -> float:
        """Return the US dollars of so many tokens of a call; NaN if a price of some of them is unknown.

        Args:
            fresh: new input.
            cached: input that the provider's cache has.
            output: the answer.
            written: input that is written to the cache.
        """
        parts = ((fresh, self.input), (written, self.cache_write), (cached, self.cache_read), (output, self.output))
        return sum(tokens * price for tokens, price in parts if tokens) / 1_000_000

    def of_prompt(self, tokens: int, output: int = 0) -> dict[str, float] | None:
        """Return the US dollars of a prompt and its answer, as new ``input`` and by ``cache_read``; None if unknown."""
        cost = {"input": self.of(tokens, output=output), "cache_read": self.of(cached=tokens, output=output)}
        return None if math.isnan(self.input + self.cache_read + sum(cost.values())) else cost


UNBOUND: dict[str, object] = {
    "betas": ["thinking-binding-controls-2026-08-01"],
    "thinking": {"block_binding": {"prefix_mismatch_behavior": "drop_block"}},
}
"""Request fields that make the provider drop thinking behind an edit instead of refusing it (Anthropic documentation,
"Preserved thinking"); ``thinking`` is merged into the caller's own."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model's limits and rules.

    Attributes:
        name: the id, without host, date and version.
        provider: its usual message shape.
        prompt: its prompt format.
        window: tokens of input and output together.
        max_output: maximum tokens of one answer.
        price: its prices.
        binds_thinking: whether a thinking block is signed against everything before it, so that the provider refuses
            the block after an edit before it (Anthropic documentation, "Preserved thinking").
        prefill: whether the list may end with the beginning of the answer; Claude 4.6 and later refuse that.
        source: where the window is from. It is assumed if no table has the model of this id: that of another version,
            of the model's family, or the smallest of the hosts that serve it.
        input_limit: tokens of input, where the provider counts them apart from the output; None where the window alone
            counts.
        cache_seconds: seconds after its last use for which the provider keeps a cached prompt; None if unknown.
        template: what renders whole prompts of an open model: the chat template of one of the user's own, with its
            vocabulary, or the Harmony format of gpt-oss; None for a provider's.
    """

    __repr__ = short

    name: str
    provider: Provider
    prompt: PromptGrammar = field(repr=False)
    window: int
    max_output: int
    price: Price = field(default_factory=Price)
    binds_thinking: bool = False
    prefill: bool = True
    source: WindowSource = "argument"
    input_limit: int | None = None
    cache_seconds: int | None = None
    template: PromptRenderer | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Reject limits that leave no tokens for a prompt."""
        if not 0 < self.max_output < self.window:
            msg = f"need 0 < max_output < window, got {self.max_output} and {self.window}"
            raise ValueError(msg)

    @property
    def known(self) -> bool:
        """Whether the window is not assumed."""
        return self.source != "assumed"

    @property
    def dearer_past(self) -> int | None:
        """Tokens of a prompt past which a call is known to cost more than ``price`` says; None if there are none."""
        return next((tokens for pattern, tokens in tables.DEARER if re.match(pattern, self.name)), None)

    @property
    def takes_system(self) -> bool | None:
        """Whether Anthropic's API takes system messages between the others for it; None if that is unknown."""
        if self.name.startswith(tables.TAKES_SYSTEM):
            return True
        return False if self.name.startswith(tables.NO_SYSTEM) else None

    @property
    def signs_calls(self) -> bool:
        """Whether Gemini's API refuses a call of the current turn without its signature: from Gemini 3 on."""
        found = re.match(r"gemini-(\d+)", self.name)
        return found is not None and int(found[1]) >= _SIGNS_CALLS

    @classmethod
    def named(
        cls, name: str, *, window: int | None = None, max_output: int | None = None, betas: Iterable[str] = ()
    ) -> Model:
        """Return the model of an id.

        A prefix selects the row of its host: ``openrouter/deepseek/deepseek-r1``, ``azure:gpt-5``; so does a way to
        write ids that one host has: ``us.anthropic.claude-opus-5``. A host without a row gets the smallest window of
        all hosts. An id without a host takes its maker's row, or else that smallest window; one without a version, such
        as ``claude-haiku-latest``, the smallest of its versions. Where no table has the model, it takes the limits of
        the version before it, or else the values of its family. A public table alone never raises the window of a row
        of our own. A window that is assumed is warned of once.

        Args:
            name: such as ``claude-opus-4-5-20251101``, ``anthropic/claude-sonnet-4.5``, ``ft:gpt-4o:org::id`` or
                ``qwen3-coder-plus``; ``[1m]`` at the end of a Claude's id says that its window has 1,000,000 tokens.
                A name that ``trimtab models add`` gave, a path that begins with ``/``, ``./``, ``../`` or ``~/``, and
                a name such as ``hf:Qwen/Qwen3-8B`` stand for a model's files (``from_folder``).
            window: overrides the table, and the betas.
            max_output: overrides the table.
            betas: the request's beta flags; ``context-1m-2025-08-07`` gives every Sonnet a window of 1,000,000.

        Raises:
            OSError: a model's file cannot be read.
            ValueError: a limit is not possible, a model's file is damaged, or the file of the user's own names is, and
                no table has this one.
            CountError: a model's template cannot be rendered.
        """
        if not isinstance(name, str):
            raise TypeError(f"name must be a model's id, got {type(name).__name__}")
        if own := _own_place(name):
            return _of_files(own.place, window or own.window, {}).limited(window, max_output)
        if name.startswith(_PATHS):
            return _of_files(name, window, {}).limited(window, max_output)
        found = _found(name)
        for beta in (betas,) if isinstance(betas, str) else betas:
            part, wide = BETAS.get(beta, ("", 0))
            if part and part in name.lower() and found.window < wide:
                found = found.limited(wide)
        return found.limited(window, max_output)

    @classmethod
    def from_folder(
        cls,
        path: str | PathLike[str],
        *,
        window: int | None = None,
        max_output: int | None = None,
        **options: object,
    ) -> Model:
        """Return the model of a folder as open models are published in: its prompts are counted as servers render them.

        Tools, system text, thinking that the template drops, and the beginning of the answer are counted with the
        messages, exactly; of pictures, what the template puts in their place. The template is a stranger's code: it is
        rendered in a process of its own, with limits of time and memory (extra ``open``).

        Args:
            path: a folder with ``tokenizer.json`` or ``tokenizer.model``, ``tokenizer_config.json`` or
                ``chat_template.jinja``, and ``config.json``; or a GGUF file; or ``hf:Qwen/Qwen3-8B`` in the cache of
                Hugging Face, ``lmstudio:PUBLISHER/MODEL``, ``ollama:qwen3:8b`` on this disk. Nothing is fetched.
            window: of the server, which often has a smaller one than the files name.
            max_output: most tokens of an answer; by default what ``generation_config.json`` names, at most a quarter of
                the window.
            options: further values of the template, such as ``enable_thinking=False``.

        Raises:
            OSError: a file cannot be read.
            ValueError: there is no such place, a file is missing or damaged, or nobody names the window.
            CountError: the template cannot be rendered.
            ImportError: the extra ``open`` is not installed.
        """
        model = _of_files(str(path), window, options)
        if not model.known:
            msg = f"{path}: no file that names the window: give window="
            raise ValueError(msg)
        return model.limited(window, max_output)

    def limited(self, window: int | None = None, max_output: int | None = None) -> Model:
        """Return the model with other limits, as its caller says; None keeps a limit.

        An input limit leaves as many tokens for the output as before.

        Raises:
            ValueError: a limit is no positive integer, or the limits leave no tokens for a prompt.
        """
        for name, value in (("window", window), ("max_output", max_output)):
            if value is not None and (type(value) is not int or not 1 <= value <= MOST_TOKENS):
                msg = f"{name} must be a positive number of tokens, at most 2**53, got {value!r}"
                raise ValueError(msg)
        source = self.source if window is None else "argument"
        window = self.window if window is None else window
        max_output = min(self.max_output, window // 2) if max_output is None else max_output
        wider = max(window - self.window, 0)
        input_limit = min(self.input_limit + wider, window) if self.input_limit else None
        return replace(self, window=window, max_output=max_output, source=source, input_limit=input_limit)


_PATHS = ("/", "./", "../", "~/", *PREFIXES)
"""Beginnings of the places of files, with which no id begins."""


def _own_place(name: str) -> NamedPlace | None:
    """Return where the files of a model are that the user named so.

    Where the file of these names is damaged, ids of the tables and places go on without it, which is warned of once.

    Raises:
        ValueError: it is damaged, and may have had this name.
    """
    try:
        return named_places().get(name)
    except ValueError as error:
        found = ModelId.of(name)
        if not (name.startswith(_PATHS) or _own(found) or _family(found) or _public(found) or _relative(found)):
            raise
        _warn(f"{error}; ids of the tables and places of files go on without it")
        return None


@lru_cache(16)
def _warn(text: str) -> None:
    log.warning("%s", text)


_SMALL = 8_192
"""The window that is assumed of a model whose files name none: servers of open models begin with less."""


def _of_files(place: str, window: int | None, options: Mapping[str, object]) -> Model:
    """Return the model of a place; where nobody names its window, one is assumed, which is warned of."""
    from ..templates.files import read_files  # noqa: PLC0415 - for models of the user's own

    found = read_files(place, options)
    template, known = found.template, window or found.window or _SMALL
    grammar = PromptGrammar(
        f"the chat template of {template.name}",
        template.file,
        "whole prompts as its server renders them, exact; in fit, by fitted numbers far below the trigger",
        form="framed",
        images="tiles",
        **found.numbers,
    )
    limit = max(min(found.max_output or known, known // 4), 1)
    model = Model(template.name, "openai_chat", grammar, known, limit, template=template)
    if window or found.window:
        return model
    log.warning("%s: no file names its window; assumed %s; say window= to override", place, f"{known:,}")
    return replace(model, source="assumed")


def priced(usage: dict[str, float], model: str) -> dict[str, float]:
    """Return billed tokens with their cost in US dollars; unchanged if no table has a price."""
    if "output_tokens" not in usage:
        return usage
    kinds = ("input_tokens", "cache_read_input_tokens", "output_tokens", "cache_creation_input_tokens")
    cost = Model.named(model).price.of(*(usage.get(kind, 0) for kind in kinds))
    return usage if math.isnan(cost) else {**usage, "cost": cost}


def retired(name: str) -> bool:
    """Return whether the provider is known to have stopped serving the model of that id."""
    return ModelId.of(name).name in tables.RETIRED


def encoding_of(name: str) -> str | None:
    """Return the vocabulary by which an id is counted; None for one that neither a table nor a family has.

    No file is read, where the id is the place of one.
    """
    found = ModelId.of(name)
    prompt = (_by_key().get(found.key) or _by_family(found)).prompt
    return None if prompt is PROMPTS["unknown"] and not rows_of(found) else prompt.encoding


_SIGNS_CALLS = 3
"""The first generation of Gemini that must have its signatures back (Gemini documentation, "Thought signatures")."""

_WIDE = 1_000_000
"""The window that ``[1m]`` at the end of a Claude's id stands for."""


@cache
def own_table() -> dict[str, Model]:
    """Return every model of our own table, by name; built with the first id."""
    models = {}
    for name, row in own_rows().items():
        is_claude, prompt = name.startswith("claude"), PROMPTS[row.prompt]
        price, output_price, read_price = row.prices
        keeps = prompt.keeps_thinking or name in tables.KEEPS
        models[name] = Model(
            name,
            "anthropic" if is_claude else "openai_responses" if name in tables.RESPONSES else "openai_chat",
            replace(prompt, keeps_thinking=keeps, images=row.images or prompt.images),
            row.window,
            row.max_output,
            Price(price, output_price, read_price, _written(price, is_claude=is_claude)),
            binds_thinking=is_claude and name.endswith(tables.BINDS),
            prefill=row.prompt not in _NO_PREFILL,
            # OpenAI documents 400,000 as 272,000 of input and 128,000 of output, from GPT-5 on.
            input_limit=row.window - row.max_output if row.prompt == "openai" else None,
            cache_seconds=tables.CACHE_SECONDS["claude" if is_claude else "gpt"],
            source="table",
        )
    return models


def _written(price: float, *, is_claude: bool) -> float:
    """Return the price of a cache write of five minutes where a table has none, by that of new input."""
    return 1.25 * price if is_claude else price


_NO_PREFILL = {"claude-4.6", "claude-4.7", "claude-4.8"}


_RESPONSES_PREFIX = re.compile(r"openai(-responses[:/]|/responses/)")
"""Prefixes of ids that name OpenAI's Responses API: pydantic-ai's and LiteLLM's."""


@lru_cache(256)  # so that an id is warned of once
def _found(text: str) -> Model:
    """Return the model of an id, with the window of its host, its maker, any host, a relative, or its family."""
    found = ModelId.of(text)
    model = _own(found) or _family(found) or _public(found) or _relative(found)
    if model is None:
        model = _by_family(found)
        near = nearest(found)
        log.warning(
            "model %r is in no table%s: counted as %s, window assumed to be %s; say window= to override",
            text,
            f" (the nearest id is {near!r})" if near else "",
            model.prompt.name,
            f"{model.window:,}",
        )
    elif isinstance(model, tuple):
        model, other = model
        log.warning(
            "model %r: no table has its window; assumed %s, that of %s; say window= to override",
            text,
            f"{model.window:,}",
            other,
        )
    if model.provider != "anthropic":
        own = model.name in tables.RESPONSES and found.host in {None, "openai", "azure"}
        named = own or _RESPONSES_PREFIX.match(text)
        model = replace(model, provider="openai_responses" if named else "openai_chat")
    widens = found.wide and model.provider == "anthropic" and model.window < _WIDE
    return model.limited(_WIDE) if widens else model


_Assumed: TypeAlias = "tuple[Model, str]"
"""A model whose window is assumed, and whose window that is."""


def _own(found: ModelId) -> Model | None:
    """Return the row of our own table, which is that of the model's maker."""
    if found.tuned or host_of(found) not in {None, found.maker, "vertex_ai"}:
        return None
    return _by_key().get(found.key) or _by_key().get(tables.ALIASES.get(found.name, ""))


def _family(found: ModelId) -> _Assumed | None:
    """Return the smallest of our own rows that an id without a version and a host may mean."""
    if host_of(found) not in {None, found.maker}:
        return None
    named = [own_table()[name] for name in versions(found)]
    smallest = min(named, key=lambda model: model.window, default=None)
    return (_related(found, smallest), smallest.name) if smallest else None


def _public(found: ModelId) -> Model | _Assumed | None:
    """Return the model of the catalog's row for the host, or else of the smallest row of any host."""
    rows, host = rows_of(found), host_of(found)
    named = host or (found.maker if not found.prefix else None)  # a prefix that nobody knows is some host's
    if row := rows.get(named or ""):
        return _of_row(found, row, "public")
    if host and (own := _by_key().get(found.key)):
        prices = (own.price.input, own.price.output, own.price.cache_read, own.price.cache_write)
        maker = Row(found.maker or "", own.name, own.window, own.max_output, own.input_limit, prices)
        rows = {maker.host: maker} | rows
    if not rows:
        return None
    row = min(rows.values(), key=lambda row: row.window)
    return _of_row(found, row, "assumed"), row.host


def _relative(found: ModelId) -> _Assumed | None:
    """Return the row of the version before this one, or of the one behind it."""
    if not (key := relative(found)):
        return None
    other = replace(found, name=key, dated=key)
    row = _own(other) or _public(other)
    model = row[0] if isinstance(row, tuple) else row
    return (_related(found, model), names()[key]) if model else None


def _related(found: ModelId, model: Model) -> Model:
    """Return a model with the limits and rules of a relative, the prompt format of its family, and no price."""
    family = _by_family(found)
    limits = replace(family, window=model.window, max_output=model.max_output, input_limit=model.input_limit)
    return replace(limits, provider=model.provider, binds_thinking=model.binds_thinking)


def _of_row(found: ModelId, row: Row, source: WindowSource) -> Model:
    """Return the model of a catalog's row; prompt format and shape are those of our own row, or of its family."""
    own = _by_key().get(found.key)
    base, window, input_limit = own or _by_family(found), row.window, row.input_limit
    if own is not None and own.window < window:
        window, input_limit, source = own.window, own.input_limit, own.source
    price = Price(*row.prices)
    if math.isnan(price.cache_write) and not math.isnan(price.cache_read):
        price = replace(price, cache_write=_written(price.input, is_claude=base.provider == "anthropic"))
    return replace(
        base,
        window=window,
        max_output=min(row.max_output or base.max_output, window - 1),
        price=price,
        source=source,
        input_limit=input_limit,
    )


@cache
def _by_key() -> dict[str, Model]:
    return {key_of(name): model for name, model in own_table().items()}


def _by_family(found: ModelId) -> Model:
    bare = names().get(found.key, found.name).removeprefix("ft:")
    _, provider, prompt, window, output = next(row for row in tables.FAMILIES if re.match(row[0], bare))
    prefill = prompt not in _NO_PREFILL
    seconds = next((kept for maker, kept in tables.CACHE_SECONDS.items() if bare.startswith(maker)), None)
    renderer: PromptRenderer | None = None
    if prompt == "gpt-oss":
        from ..templates.harmony import Harmony  # noqa: PLC0415 - for these models alone

        renderer, seconds = Harmony(bare), None  # what a server keeps of a prompt is its own matter
    return Model(
        bare or "unknown",
        provider,
        PROMPTS[prompt],
        window,
        output,
        prefill=prefill,
        source="assumed",
        cache_seconds=seconds,
        template=renderer,
    )
