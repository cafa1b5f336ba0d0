"""Reads a provider's error: whether the call was refused because it was too long, and the limit that it states."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

MOST_TEXT = 20_000
"""Characters of an error's text that are read: the refusal stands first, and a body may repeat the whole prompt."""

MAX_DEPTH = 20
"""Nesting of a body that is read."""

_UNIT = r"(?:bytes?|octets?|[KMG]i?B)\b"
_TOO_LONG = re.compile(
    "|".join(
        (
            r"(?:context|prompt|input)(?: \w+)? (?:is )?too (?:long|large)",  # Anthropic, Bedrock, Ollama
            r"request (?:is )?too long",
            r"context_?(?:length|window)_?exceeded",  # OpenAI; the name of a class of LiteLLM's
            r"context[ _](?:length|size)[ _](?:has been )?exceeded",  # Z.ai, LM Studio
            r"exceed_context_size",  # llama.cpp
            r"exceed\w*(?: \S+){0,4} (?:context|input|prompt|token)(?: \w+)? (?:window|length|size|limit|count)",
            r"exceed\w* (?:the )?max(?:imum)? (?:context |input |prompt )?length",  # Ollama, Bedrock
            r"exceed context limit",  # Anthropic, with max_tokens
            r"input token count\b.*\bexceeds",  # Google
            r"maximum (?:allowed )?(?:prompt|context|input) length",  # xAI, OpenRouter, DeepSeek, vLLM
            r"too long to fit into the model",  # vLLM
            r"(?:longer|greater|larger|more) than (?:the )?(?:model'?s )?(?:maximum )?(?:context|model len|max tokens)",
            r"reduce the length of the (?:messages|prompt|input)",  # Groq, vLLM
            rf"exceeds the limit of \d[\d,]*\b(?! ?{_UNIT})",  # Copilot
            r"context window exceeds limit|exceeded model token limit",  # MiniMax, Kimi
            r"too large for model with \d+ maximum context",  # Mistral
            r"context length of only \d|n_keep\W+\d+\W+n_ctx",  # LM Studio
            r"prompt has [\d,.]+ tokens, but",
            r"tokens (?:\(?\d[\d,]{0,18}\)? )?exceed",  # Azure, Bedrock's OpenAI endpoint
            r"range of input length should be",  # DashScope
            r"length of all messages is too long",  # Perplexity
            r"exceed\w* max message tokens",  # Volcengine
            r"too many (?:input )?tokens|token limit exceeded",
            r"^\s*400 (?:status code )?\(no body\)",  # Cerebras
        )
    ),
    re.IGNORECASE,
)
"""Refusals of a prompt with too many tokens."""

_BODY = r"(?:request|body|payload|entity|content)"
_TOO_BIG = re.compile(
    "|".join(
        (
            rf"{_BODY}(?: (?:body|size|entity|payload))? (?:is )?too (?:large|big)",  # nginx, Go, Express, Kestrel
            rf"(?:request|body|payload)(?: \w+)? exceed\w* (?:the )?(?:max\w*|limit|size|allowed|\d[\d,]* ?{_UNIT})",
            rf"exceed\w* (?:the )?(?:max\w*|limit|allowed)(?: \w+){{0,3}}:? (?:number of bytes|\d[\d,]* ?{_UNIT})",
            r"max\w* (?:allowed )?(?:request |body |payload )+size\b.{0,20} exceeded",  # aiohttp
            r"body: length limit exceeded",  # axum
            r"request_too_large|entity\.too\.large",
        )
    ),
    re.IGNORECASE,
)
"""Refusals of a request with too many bytes, by a provider or by a server in front of it."""

_STATUS = re.compile(
    r"^\W*(?:error\W+)?413(?=\W*$|\s*[:{(<-]|\W+(?:413|status|request|payload|content|entity|error|failed)\b)"
    r"|\b(?:http|status|code|error|failed)(?: code)?\W{1,3}413\b",
    re.IGNORECASE,
)
"""HTTP status 413 in a text."""

_BYTES = tuple(
    re.compile(rf"{before}\D{{0,30}}?\b(\d[\d,]{{0,18}}(?:\.\d+)?) ?({_UNIT})?", re.IGNORECASE)
    for before in (">", r"\bmax\w*", r"\blimit", r"\bexceed\w*")
)
"""A limit in bytes; the first word that a number follows decides, because an error may state what was sent too."""

_SCALES = {"k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_LEAST_BYTES = 1_024
"""A smaller number is no limit of a request: HTTP's own 413."""
_BUSY = re.compile(
    r"rate.?limit|too many requests|throttl|service unavailable|quota|please wait|overloaded", re.IGNORECASE
)
_RATE = re.compile(r"tokens? per (?:min|minute|hour|day)\b|\bTP[MD]\b", re.IGNORECASE)
"""A rate limit, even one that says "Request too large" (OpenAI with status 429, Groq with 413)."""

_CODES = frozenset({"context_length_exceeded", "model_context_window_exceeded"})
_BYTE_CODES = frozenset({"request_too_large", "entity.too.large", "RequestEntityTooLargeException"})
_RATE_CODES = frozenset(
    {"rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED", "ThrottlingException", "overloaded_error"}
)
_TOO_LARGE = 413
"""HTTP status of a body that is too large."""

_NO_LENGTH = frozenset({401, 402, 403, 404, 429, 503, 529})
"""HTTP statuses that say nothing about a prompt's length, whatever the text."""

_N = r"\(?(\d[\d,]{0,18})"
"""A number; bounded, because a longer one would make the search quadratic, and an ``int`` raises past 4,300 digits."""

_ABOVE = re.compile(rf"{_N}\)?(?: [a-z]+){{0,3}}\)? exceed\w*(?: [a-z']+){{0,8}}? {_N}", re.IGNORECASE)
"""The tokens sent, and the limit that they exceed (llama.cpp, Google, Copilot, Poolside, Workers AI)."""

_IS_SENT = r"(?![\d,]{0,18}\)?(?: tokens)?\)? (?:exceed|is (?:longer|greater|larger)))"
"""Follows a limit, and no number that was sent."""

_LIMITS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"tokens > {_N} maximum",  # Anthropic
        rf"context limit: \d+ \+ \d+ > {_N}",  # Anthropic, with max_tokens
        rf"(?:context|prompt|input|model|sequence) length(?: is| of|:)?(?: only)? {_N}{_IS_SENT}",  # OpenAI, xAI, vLLM
        rf"(?:context|token|model)[ _](?:size|window|limit)(?: is| of|:)? {_N}",  # llama.cpp, Kimi
        rf"tokens allowed {_N}",  # Google
        rf"model with {_N} maximum",  # Mistral
        rf"(?:max input tokens:|limit of|limit is|must be <=) {_N}",  # Bedrock, Copilot, Azure, Cerebras, TGI
        rf"input length should be \[\d{{1,18}}, ?{_N}",  # DashScope
        rf"n_ctx\W+{_N}",  # LM Studio
    )
)
_SENT = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_N} tokens > ",  # Anthropic
        rf"total of (?:at least )?{_N}",  # vLLM
        rf"(?:resulted in|requested|requested about|request contains|prompt contains|prompt has) {_N} tokens",
        rf"(?:request|input|has) {_N} (?:input )?tokens",  # llama.cpp, SGLang, vLLM
        rf"(?:token count:?|count of|requested tokens|the first|requested:|current length is|length|too long:) {_N}",
        rf"n_keep\W+{_N}",  # LM Studio
    )
)
_BOTH = re.compile(rf"context limit: {_N} \+ {_N} >|passed {_N} input tokens and requested {_N} output")
"""The prompt and the answer's tokens (Anthropic, vLLM)."""

_OVER = re.compile(rf"exceeded max context length by {_N}", re.IGNORECASE)  # Ollama
_FIELDS = {"n_ctx": "limit", "n_prompt_tokens": "sent", "limit": "bytes"}
"""Fields of llama.cpp's error, and of Express's."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A provider's refusal of a prompt as too long.

    Attributes:
        limit: the stated limit in tokens, or None.
        over: the tokens above the limit by the provider's count, or None.
        by_bytes: the request had too many bytes, as pictures have; their tokens may be few.
        limit_bytes: the stated limit in bytes, or None.
    """

    limit: int | None = None
    over: int | None = None
    by_bytes: bool = False
    limit_bytes: int | None = None

    @property
    def is_silent(self) -> bool:
        """Whether nothing says how small the next prompt has to be."""
        return self.limit is None and not self.over


def is_overflow(error: object, status: int | None = None) -> bool:
    """Return whether a provider refused a call because it was too long; a rate limit is another error.

    Args:
        error: the error's text or body, or an SDK's exception.
        status: the HTTP status, if the error does not hold it.

    Examples:
        >>> is_overflow("prompt is too long: 213462 tokens > 200000 maximum")
        True
        >>> is_overflow("Too many requests. Please slow down.")
        False
    """
    return _kind(error, status)[0] is not None


def refusal(error: object) -> Refusal:
    """Return what a provider's refusal of a prompt states.

    Args:
        error: as in ``is_overflow``.

    Raises:
        ValueError: the error says nothing about a prompt's length.
    """
    unit, found = _kind(error)
    if unit is None:
        status = _status(error)
        name = type(error).__name__ + (f", status {status}" if status else "")
        raise ValueError(f"the error says nothing about a prompt's length ({name}): a rate limit or another failure")
    if unit == "bytes":
        stated = found.numbers.get("bytes") if "entity.too.large" in found.codes else _stated_bytes(found.texts)
        return Refusal(by_bytes=True, limit_bytes=_positive(stated))
    above = _pair(_ABOVE, found.texts)
    limit = _positive(found.numbers.get("limit")) or _positive(above[1]) or _positive(_first(_LIMITS, found.texts))
    sent = found.numbers.get("sent") or above[0] or sum(_pair(_BOTH, found.texts)) or _first(_SENT, found.texts)
    over = sent - limit if limit and sent and sent > limit else None
    return Refusal(limit, over or _first((_OVER,), found.texts))


def _positive(limit: int | None) -> int | None:
    """Return a limit; None for one that no call can keep to, which states nothing."""
    return limit if limit is not None and limit > 0 else None


def _kind(error: object, status: int | None = None) -> tuple[Literal["tokens", "bytes"] | None, _Found]:
    """Return what a call had too many of, None for another error; and what the error says."""
    found = _Found()
    found.read(error)
    texts, codes = found.texts, found.codes
    status = _status(error) if status is None else status
    if status in _NO_LENGTH or codes & _RATE_CODES or any(map(_RATE.search, texts)):
        return None, found
    busy = any(map(_BUSY.search, texts))
    if codes & _CODES or (not busy and any(map(_TOO_LONG.search, texts))):
        return "tokens", found
    is_413 = _TOO_LARGE in {status, found.numbers.get("status")} or any(map(_STATUS.search, texts))
    if is_413 or codes & _BYTE_CODES or (not busy and any(map(_TOO_BIG.search, (*texts, *codes)))):
        return "bytes", found
    return None, found


def _stated_bytes(texts: list[str]) -> int | None:
    """Return the limit in bytes that an error's texts state."""
    for pattern in _BYTES:
        for hit in (hit for text in texts for hit in pattern.finditer(text)):
            scale = _SCALES.get((hit[2] or "").lower().removesuffix("b"), 1)
            if (found := int(float(hit[1].replace(",", "")) * scale)) >= _LEAST_BYTES:
                return found
    return None


def _first(patterns: tuple[re.Pattern[str], ...], texts: list[str]) -> int | None:
    """Return the number that the first matching pattern finds."""
    hits = (hit for pattern in patterns for text in texts if (hit := pattern.search(text)))
    return next((int(hit[1].replace(",", "")) for hit in hits), None)


def _pair(pattern: re.Pattern[str], texts: list[str]) -> tuple[int, int]:
    """Return the two numbers that a pattern finds, zeros where it finds none."""
    hit = next((hit for text in texts if (hit := pattern.search(text))), None)
    first, second = (int(number.replace(",", "")) for number in hit.groups() if number) if hit else (0, 0)
    return first, second


def _status(error: object) -> int | None:
    """Return the HTTP status of an error: its own, or that of the response that it holds."""
    for holder in (error, _held(error, "response")):
        for name in ("status_code", "code", "status"):
            if isinstance(status := _held(holder, name), int) and not isinstance(status, bool):
                return int(status)  # Google's is an enum
        if isinstance(holder, Mapping) and isinstance(about := holder.get("ResponseMetadata"), Mapping):
            status = about.get("HTTPStatusCode")  # boto3
            return status if type(status) is int else None
    return None


def _held(error: object, name: str) -> Any:
    """Return an attribute of an error, or None; some raise, as a streamed response's text that was not read."""
    with suppress(Exception):
        return getattr(error, name, None)
    return None


class _Found:
    """The codes, texts and numbers of an error, at any depth of its body."""

    def __init__(self) -> None:
        self.codes: set[str] = set()
        self.texts: list[str] = []
        self.numbers: dict[str, int] = {}

    def read(self, error: object, depth: int = 0) -> None:
        """Add an exception, a body, or a text."""
        if depth > MAX_DEPTH:
            return
        if isinstance(error, str):
            body = _parsed(error)
            if body is None:
                self.texts.append(error[:MOST_TEXT])
            self.read(body, depth + 1)
        elif isinstance(error, BaseException):
            self._read_exception(error, depth)
        elif isinstance(error, list | tuple):  # Gemini's body may be a list of one
            for part in error:
                self.read(part, depth + 1)
        elif isinstance(error, Mapping):
            self._read_body(error, depth)

    def _read_exception(self, error: BaseException, depth: int) -> None:
        response = _held(error, "response")
        held = [_held(error, name) for name in ("body", "details", "error")]
        if isinstance(response, Mapping):  # boto3
            held.append(response)
        elif not any(
            isinstance(part, str | Mapping | list) and part for part in held
        ):  # an HTTP client's own error holds the body in its response alone
            held.append(_held(response, "text"))
        for part in held:
            self.read(part, depth + 1)
        codes = (_held(error, name) for name in ("code", "type", "status"))
        self.codes |= {code for code in codes if isinstance(code, str)}
        with suppress(Exception):
            self.texts.append(str(error)[:MOST_TEXT])

    def _read_body(self, body: Mapping[Any, Any], depth: int) -> None:
        for key, value in body.items():
            if key in {"code", "type", "status", "Code"} and isinstance(value, str):
                self.codes.add(value)
            elif key in {"code", "status", "statusCode"} and value == _TOO_LARGE:
                self.numbers["status"] = _TOO_LARGE
            elif key in _FIELDS and type(value) is int:
                self.numbers[_FIELDS[key]] = value
            elif isinstance(value, Mapping | list) or key in _TEXTS:
                self.read(value, depth + 1)


_TEXTS = frozenset({"message", "Message", "error", "body", "detail", "responseBody", "raw"})
"""Keys of a body whose texts are read."""


def _parsed(text: str) -> dict[str, Any] | None:
    """Return the object that a text spells as JSON, or None."""
    with suppress(ValueError, RecursionError):
        body = json.loads(text) if text.lstrip().startswith("{") else None
        return body if isinstance(body, dict) else None
    return None
