"""Tokens of texts, messages and requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from .. import _core
from .._home import tables_folder
from ..errors import MessageError
from ..messages.frameworks import framework_of
from ..messages.objects import Forms, InputMessages, plain, sendable
from ..messages.request import texts_of
from ..models.model import Model
from ..templates.rendered import estimated_tools
from .tools import spaced, tool_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    import numpy as np
    from numpy.typing import NDArray

    from ..messages.frameworks import Framework
    from ..messages.types import AnyMessage, Message
    from ..models.provider import Provider
    from ..templates.rendered import PromptRenderer, RenderedTokens


def message_error(error: ValueError) -> ValueError:
    """Return the core's error about a message as a ``MessageError``, any other error unchanged."""
    match error.args:
        case (str(what), str(path), int(index), str(hint)):
            return MessageError(what, path=path, index=index, hint=hint)
        case _:
            return error


T = TypeVar("T")

LONGEST_REASON = 300
"""Characters of the reason why a file is counted by the crate ``tokenizers``: it may quote a long pattern."""


class Counter(_core.Counter):
    """Count tokens, offline and in time linear in the text.

    ``Counter("o200k_base")`` and ``Counter("cl100k_base")`` equal tiktoken's ``encode_ordinary``: text that looks like
    a special token is plain text, lone surrogates count as U+FFFD. ``Counter("o200k_harmony")`` is gpt-oss's.
    ``Counter("claude-old")`` (Claude 3 to 4.6) and ``Counter("claude-new")`` (4.7 and later) count a text as it stands
    inside a prompt, with the vocabularies that the package ctok reconstructed; the tokens that a message adds are not
    included. ``pickle`` takes a counter's settings along, and no cache; one of a file is read from that file again.

    Examples:
        >>> Counter("o200k_base").count("hello world")
        2
    """

    template: PromptRenderer | None = None
    """What renders whole prompts of an open model; None for a provider's model, and for texts alone."""

    def __getstate__(self) -> Any:
        """Return the template: the core keeps the other settings."""
        return self.template

    def __setstate__(self, template: Any) -> None:
        """Take the template."""
        self.template = template

    def __repr__(self) -> str:
        """Return the engine's name."""
        return f"<Counter: {self.engine}>"

    def explain(self) -> str:
        """Return the engine's name, its vector instructions ("avx2", "v128", "portable") if it has any, and its error.

        Of a file's vocabulary that the engine does not know: why the crate ``tokenizers`` counts in its place.
        """
        exact = "an estimate by length" if " rounded " in self.engine else "exact"
        if self.engine.startswith("trimtab claude"):
            by_rates = self.engine.endswith("by rates")
            exact = "an estimate by rates of kinds of pieces" if by_rates else "reconstructed, equal to ctok 1.3.0"
        page = f" ({_core.SIMD})" if _core.SIMD and self.is_vectorised else ""
        engine = f"{self.engine}{page}"
        if self.fallback:
            exact += f", and slow: {self.fallback[:LONGEST_REASON]}"
        if self.prompt is None:
            return f"{engine}: {exact}"
        return f"{engine}, prompts of {self.prompt.name}: {self.prompt.error}"

    @classmethod
    def for_model(cls, model: str | Model) -> Self:
        """Return the counter of a model; its ``per_message`` returns what each message adds to the model's prompt.

        Args:
            model: an id, or a ``Model`` of your own.

        Raises:
            TypeError: it is neither.
        """
        if not isinstance(model, str | Model):
            raise TypeError(f"model must be an id or a Model, got {type(model).__name__}")
        known = Model.named(model) if isinstance(model, str) else model
        if known.template is None:
            return cls(known.prompt.encoding, prompt=known.prompt)
        file = known.template.vocabulary or None
        counter = cls(known.prompt.encoding, prompt=known.prompt, path=file, kept=tables_folder() if file else None)
        counter.template = known.template
        return counter

    @classmethod
    def from_file(cls, path: str | PathLike[str], *, pattern: str | None = None) -> Self:
        """Return the counter of a vocabulary file, which is read once and stays in memory.

        The tables of trimtab's own engine are kept in the user's cache folder, or in ``TRIMTAB_HOME``, and mapped into
        memory by the next process; where they cannot be written, each process makes them. A file there that another
        user owns or can write, that is damaged, or of another version is made anew.

        trimtab's own engine counts a ``tokenizer.json`` with byte-level pairs and the pattern of Llama 3 and GLM, Qwen
        2 to 3.5, DeepSeek V2, V3 and Coder, GPT-2, ``o200k_base`` (MiniMax) or ``cl100k_base``, and Mistral's
        ``tekken.json``.
        It counts SentencePiece's ``.model`` and ``tokenizer.json`` too: pairs of characters with bytes for what has no
        token (Llama 2, Mistral before Tekken, Gemma), and pieces with scores (Unigram). ``exceeds`` has no early exit
        there, and ``incremental`` keeps the text. The crate ``tokenizers`` counts any other ``tokenizer.json``, in
        memory that grows with the text. ``engine`` names the one in use, and ``explain`` says why it is not our own.
        Special tokens are plain text, except those that SentencePiece calls user-defined, and no text is truncated or
        padded. A file of ranks in tiktoken's format is that of a built-in encoding, of Llama 3 or 4 or of Qwen as
        published, or it needs a pattern.

        Args:
            path: a ``tokenizer.json``, a ``tekken.json``, a SentencePiece ``.model``, a file of ranks, or a ``.gguf``,
                of which the first 64 MiB are read.
            pattern: the regular expression that splits texts, for a file of ranks: one of those above, as published.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is no supported vocabulary; says why. Counting raises it for a text that the tokenizer
                cannot encode.
        """
        file = Path(path).absolute()
        return cls(file.name, path=str(file), pattern=pattern, kept=tables_folder())

    def per_message(self, messages: Sequence[AnyMessage], *, provider: str | None = None) -> NDArray[np.uint32]:
        """Return the tokens that each message adds to the model's prompt: uint32, shape (messages,).

        The counter caches the last list and counts only changed messages, which it finds by the identity of their
        strings; it keeps these alive until it reads another list of more than two messages.

        Args:
            messages: a list or tuple of messages in any provider's shape.
            provider: the shape; found from the messages where it is None.

        Raises:
            MessageError: a message cannot be read; says where, why and what to do.
            OverflowError: a message has more tokens than a uint32 holds.
        """
        if self.template is None:
            return scan(messages, self, provider).per_message
        import numpy as np  # noqa: PLC0415 - loaded with the first columns

        return np.array(self.rendered(messages, provider).messages, np.uint32)

    def rendered(
        self, messages: Sequence[AnyMessage], provider: str | None = None, system: object = None, tools: object = None
    ) -> RenderedTokens:
        """Return the tokens of a whole prompt, as the model's chat template or gpt-oss's format renders it.

        Args:
            messages: a list or tuple of messages in Chat Completions' or Anthropic's shape; for gpt-oss also in that of
                the Responses API or Bedrock.
            provider: the shape; found from the messages where it is None.
            system: system text beside the messages.
            tools: tool definitions.

        Raises:
            ValueError: the counter has no template.
            MessageError: a message cannot be read.
            CountError: the template refuses the messages, or takes too much time or memory.
            ImportError: the extra ``open`` is not installed.
        """
        if self.template is None:
            raise ValueError(f"{self.engine} has no chat template: Model.from_folder reads one")
        known: Sequence[Any] = self.plain(messages)
        shape = provider or shape_of(messages) or _core.detect(known) or "openai_chat"
        return self.template.count(self, known, shape, system=sendable_all(system), tools=sendable_all(tools))

    @cached_property
    def _forms(self) -> list[Forms]:
        """The plain forms of the objects that were read last; empty while a thread uses them."""
        return [Forms()]

    def plain(self, messages: Sequence[T]) -> Sequence[T]:
        """Return messages of any kind as plain dicts, which nobody may change; unchanged objects are read once.

        Raises:
            MessageError: an object raised while it was read; names its position.
        """
        try:
            forms = self._forms.pop()
        except IndexError:
            return plain(messages)
        try:
            return forms.plain(messages)
        finally:
            self._forms.append(forms)

    def count_file(self, path: str | PathLike[str]) -> int:
        """Return the tokens of a file's text, read a megabyte at a time.

        Memory is bounded, with two exceptions: a stretch of text without a safe place to split, and a text that is
        normalized first (Qwen) or counted by the crate ``tokenizers`` (see ``engine``). Bytes that are not UTF-8 count
        as U+FFFD.

        Raises:
            OSError: the file cannot be read.
        """
        counter = self.incremental()
        with Path(path).open("rb") as file:
            while data := file.read(1 << 20):
                counter.append(data)
        return counter.tokens

    @classmethod
    def chars(
        cls,
        unit: Literal["chars", "bytes", "utf16"] = "chars",
        round: Literal["floor", "ceil", "half_up"] = "ceil",
    ) -> Self:
        """Return a counter that estimates a token for every four units of a text's length, as many agents do.

        Args:
            unit: Unicode scalar values, UTF-8 bytes or UTF-16 units.
            round: rounding of the quotient.
        """
        return cls(f"chars/4 {unit} {round}")


RAISED = "cannot be read: "
"""Begins the core's error about an object that raised while it was read; reading its fields would raise again."""


def scan(
    messages: Sequence[AnyMessage], counter: _core.Counter, provider: str | None = None, fallback: str | None = None
) -> _core.Ledger:
    """Read messages of any kind once into a ledger.

    Args:
        messages: in one provider's shape.
        counter: counts the texts.
        provider: the shape; detected where it is None.
        fallback: the shape of messages in which none is detected.

    Raises:
        MessageError: a message cannot be read; says where, why and what to do.
    """
    return read_ledger(messages, counter, provider, fallback)[0]


def read_ledger(
    messages: Sequence[AnyMessage], counter: _core.Counter, provider: str | None = None, fallback: str | None = None
) -> tuple[_core.Ledger, bool]:
    """Read messages like ``scan``; return also whether objects among them had to be made plain first.

    Raises:
        MessageError: a message cannot be read; says where, why and what to do.
    """
    if isinstance(messages, list | tuple) and messages and type(messages[0]) is dict and _ends_plain(messages):
        with suppress(ValueError):  # it is read again, to be told by its place and as what it is
            return _core.Ledger.of(
                messages, counter=counter, provider=provider, fallback=fallback or "openai_chat"
            ), False
    shape, formed = shape_of(messages) or provider, False

    def form(messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
        nonlocal formed
        known = counter.plain(messages) if isinstance(counter, Counter) else plain(messages)
        formed |= known is not messages
        return known

    return read_with(messages, lambda known: _ledger(known, counter, shape, fallback), form), formed


def framework_in(messages: object) -> Framework | None:
    """Return what reads the messages of a list, by its first; None where they are no framework's."""
    if not isinstance(messages, list | tuple) or not messages or type(messages[0]) is dict:
        return None
    return framework_of(cast("Any", type(messages[0])))


def shape_of(messages: object) -> str | None:
    """Return the shape in which a framework's messages are read; None for other messages."""
    framework = framework_in(messages)
    return framework.PROVIDER if framework else None


def read_with(
    messages: Sequence[AnyMessage],
    read: Callable[[Sequence[Message]], T],
    form: Callable[[Sequence[AnyMessage]], Sequence[AnyMessage]] = plain,
) -> T:
    """Call ``read``, a function of the core, with messages of any kind, which ``form`` makes plain.

    Raises:
        MessageError: a message cannot be read; says where, why and what to do.
    """
    if isinstance(messages, list | tuple) and not _ends_plain(messages):
        messages = form(messages)
    try:
        return _call(read, messages)
    except ValueError as error:
        known = messages if RAISED in str(error) else form(messages)
        if known is messages:
            raise
    return _call(read, known)


def read_plain(
    messages: Sequence[AnyMessage], counter: _core.Counter, provider: str | None = None, fallback: str | None = None
) -> tuple[InputMessages, _core.Ledger]:
    """Read messages of any kind once, as plain dicts and as a ledger; ``scan`` describes the arguments.

    Raises:
        MessageError: a message cannot be read; says where, why and what to do.
        TypeError: messages is no list or tuple.
    """
    if not isinstance(messages, list | tuple):
        raise TypeError(f"messages must be a list or a tuple, got {type(messages).__name__}")
    inputs, provider = InputMessages(messages), shape_of(messages) or provider
    known = messages if _ends_plain(messages) else inputs.messages
    try:
        return inputs, _call(lambda known: _ledger(known, counter, provider, fallback), known)
    except ValueError as error:
        if RAISED in str(error):
            raise
    inputs = InputMessages(messages, deep=True)
    return inputs, _call(lambda known: _ledger(known, counter, provider, fallback), inputs.messages)


def _call(read: Callable[[Sequence[Message]], T], messages: Sequence[Any]) -> T:
    try:
        return read(messages)
    except ValueError as error:
        raise message_error(error) from None


def _ledger(
    messages: Sequence[Message], counter: _core.Counter, provider: str | None, fallback: str | None
) -> _core.Ledger:
    return _core.Ledger.of(messages, counter=counter, provider=provider, fallback=fallback or "openai_chat")


def _ends_plain(messages: Sequence[object]) -> bool:
    """Return whether a list seems plain: callers that pass objects have one among their last two messages.

    The core reads a message as it is if it is a dict down to its blocks and no log entry, or another mapping.
    """
    for message in messages[-2:]:
        if type(message) is dict:
            content = message.get("content")
            if "message" in message or (isinstance(content, list | tuple) and not {*map(type, content)} <= {dict}):
                return False
        elif not isinstance(message, Mapping) or isinstance(message, dict):
            return False
    return True


def fixed_tokens(counter: Counter, system: object = None, tools: object = None) -> tuple[int, int]:
    """Return the tokens of system text with the opening of a request, and of tool definitions."""
    return _system(counter, system) + (counter.prompt.opening if counter.prompt else 0), _tools(counter, tools)


def overhead(
    counter: Counter,
    *,
    system: object = None,
    tools: object = None,
    tool_choice: object = None,
    thinking: object = None,
    output_config: object = None,
) -> int:
    """Return the tokens of a request beside its messages; with a plain encoding, those of the texts alone."""
    prompt = counter.prompt
    total = fixed_tokens(counter, system)[0] + _tools(counter, tools, tool_choice)
    if prompt:
        mode = thinking.get("type") if isinstance(thinking, dict) and not _forced(tools, tool_choice) else None
        total += {"enabled": prompt.enabled, "adaptive": prompt.adaptive}.get(str(mode), 0)
        if isinstance(output_config, dict) and output_config.get("task_budget"):
            total += prompt.budget
    schema = _schema(output_config)
    if schema is not None:
        tokens = counter.count(spaced(schema))
        total += tokens if prompt is None else prompt.schema + tokens * prompt.schemas // 1000
    return total


def sendable_all(value: object) -> Any:
    """Return tools or system text as JSON has them."""
    return value if value is None or isinstance(value, str) else json.loads(json.dumps(value, default=sendable))


def _system(counter: Counter, system: object) -> int:
    if not system:
        return 0
    text = _system_words(system)
    framed = counter.prompt is not None and counter.prompt.form == "framed"
    return counter.count(text) + (counter.prompt.system if framed and counter.prompt else 0)


def _system_words(system: object) -> str:
    """Return the words of system text as its request has them; of what is no system text the JSON."""
    if isinstance(system, str):
        return system
    try:
        return "".join(texts_of(system))
    except ValueError:
        return "".join(map(_system_words, system)) if isinstance(system, list | tuple) else spaced(system)


def listed_tools(tools: Any) -> Any:
    """Return tool definitions as they are, an iterator or another iterable as a list: it can be read once."""
    if isinstance(tools, list | tuple | Mapping | str | bytes) or hasattr(tools, "model_dump"):
        return tools
    return list(tools) if hasattr(type(tools), "__iter__") else tools


def check_tools(tools: object) -> None:
    """Reject what cannot be a tool.

    Raises:
        TypeError: names the value.
    """
    is_list = isinstance(tools, list | tuple)
    for index, tool in enumerate(cast("Sequence[object]", tools) if is_list else (tools,)):
        if isinstance(tool, _NO_TOOL):
            named = f"tools[{index}]" if is_list else "tools"
            raise TypeError(f"{named} must be a tool definition, got {type(tool).__name__}")


_NO_TOOL = (str, bytes, int, float, complex, NoneType)


def _tools(counter: Counter, tools: object, choice: object = None) -> int:
    if not tools:
        return 0
    check_tools(tools)
    if counter.template is not None:
        return estimated_tools(counter.template, counter, json.dumps(tools, default=sendable))
    return tool_tokens(
        counter, counter.prompt, json.dumps(tools, default=sendable), json.dumps(choice, default=sendable)
    )


def _forced(tools: object, choice: object) -> bool:
    """Return whether a tool must be called, which rules out thinking."""
    return bool(tools) and isinstance(choice, dict) and choice.get("type") in {"any", "tool"}


def _schema(output_config: object) -> object:
    """Return the schema of a structured answer, from Anthropic's ``output_config``."""
    form = output_config.get("format") if isinstance(output_config, dict) else None
    return form.get("schema", form) if isinstance(form, dict) else None


def count(
    messages: str | Sequence[AnyMessage],
    *,
    model: str | Model,
    system: object = None,
    tools: object = None,
    tool_choice: object = None,
    thinking: object = None,
    output_config: object = None,
    provider: Provider | None = None,
) -> int:
    """Return the tokens of a text, or of a whole request, for a model.

    Args:
        messages: a text, or messages in any provider's shape.
        model: an id, or a ``Model`` of your own.
        system: the system prompt, if it is not one of the messages.
        tools: tool definitions.
        tool_choice: the request's ``tool_choice``.
        thinking: the request's ``thinking``.
        output_config: the request's ``output_config``.
        provider: the messages' shape; detected where it is None.

    Raises:
        MessageError: a message cannot be read.
        CountError: the chat template of a model of the user's own, or gpt-oss's format, cannot render the messages.
        ImportError: it needs the extra ``open``, which is not installed.
        TypeError: a tool is a text or a number.

    Examples:
        >>> count("hello world", model="gpt-5.5")
        2
    """
    counter, tools = Counter.for_model(model), listed_tools(tools)
    if tools is not None:
        check_tools(tools)
    if isinstance(messages, str):
        return counter.count(messages)
    if counter.template is not None:
        return counter.rendered(messages, provider, system_text(messages, system), tools).total
    options = {"tool_choice": tool_choice, "thinking": thinking, "output_config": output_config}
    total: int = scan(messages, counter, provider).total
    system = system_text(messages, system)
    return total + overhead(counter, system=system, tools=tools, **options)


def system_text(messages: object, system: object) -> object:
    """Return the system text of a call: the given one, or what a framework's messages hold beside their plain ones."""
    framework = None if system else framework_in(messages)
    return (framework.system(cast("Any", messages)) or None) if framework else system
