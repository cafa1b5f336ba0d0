"""Summarizers behind a provider's SDK, which is imported with the first call."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import SummaryError
from ..attempts import Limits
from ..prompt import render, turn
from ..sections import AGENT
from .server import basic, hooks, is_at, origin, password_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from re import Pattern
    from types import ModuleType

    from ...models.model import Model
    from ..ask import Answer, Ask, Prompt
    from ..sections import Section

NO_KEY = "no-key"
"""The key that a server gets that gets none: the SDKs refuse to start without one."""

MOST = 8_192
"""Most output tokens of a call; every model that is still served allows them."""


def output_limit(ask: Ask) -> int:
    """Return the most output tokens of a call: the summary's limit is in another model's tokens, so twice that."""
    return min(2 * ask.max_tokens + 256, MOST)


def sections_of(ask: Ask) -> tuple[Section, ...]:
    """Return the sections of a summary."""
    return ask.facts.sections if ask.facts else AGENT


def need(package: str) -> None:
    """Check that a summarizer's SDK is installed.

    Raises:
        ImportError: it is not; names the command that installs it.
    """
    if find_spec(package) is None:
        msg = f'the summarizer {package} needs the package {package}: pip install "trimtab[{package}]"'
        raise ImportError(msg, name=package)


@dataclass(frozen=True, slots=True)
class Client(ABC):
    """Base class of the summarizers behind an SDK; ``Anthropic`` and ``OpenAI`` document the attributes."""

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    limits: Limits = field(default_factory=Limits)
    window: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    key_env: str | None = None

    package: ClassVar[str]
    """The SDK's package."""
    sdk_class: ClassVar[str]
    """The SDK's blocking client; ``Async`` in front of it names the asynchronous one."""
    shape: ClassVar[str]
    """The shape of the messages that it sends."""
    cheap: ClassVar[str]
    """The model that is asked if nobody names one."""
    domain: ClassVar[str]
    """The provider's own domain."""
    structures: ClassVar[Pattern[str]]
    """The provider's models whose answers it holds to a JSON schema."""

    def __post_init__(self) -> None:
        """Reject two keys, and a variable without a name."""
        if self.key_env is not None and (self.api_key is not None or not self.key_env):
            msg = f"give api_key, or key_env with the name of a variable, got {self.key_env!r} for key_env"
            raise ValueError(msg)

    @property
    def name(self) -> str:
        """The name in results and events."""
        return f"{self.package}:{self.model or self.cheap}"

    def session(self) -> Calls:
        """Return a session of the SDK's blocking client."""
        return Calls(self)

    def asession(self) -> AsyncCalls:
        """Return a session of the SDK's asynchronous client."""
        return AsyncCalls(self)

    def asked(self, ask: Ask) -> str:
        """Return the model to ask: that of the request, the summarizer's own, or the cheap one."""
        return ask.model or self.model or self.cheap

    def key(self) -> str | None:
        """Return the key that the caller gave or named; None leaves it to the SDK.

        Raises:
            SummaryError: the variable that ``key_env`` names is not set.
        """
        if self.key_env is None:
            return self.api_key
        if key := os.environ.get(self.key_env):
            return key
        raise SummaryError(f"the environment variable {self.key_env}, which key_env names, is not set")

    @property
    def takes_environment(self) -> bool:
        """Whether the server gets the environment's key: it is the provider's own, or the SDK's variable names it."""
        if self.base_url is None or is_at(self.base_url, self.domain):
            return True
        named = origin(os.environ.get(f"{self.package.upper()}_BASE_URL", ""))
        return named[1] != "" and named == origin(self.base_url)

    def open(self, sdk: ModuleType, prefix: str = "") -> Any:
        """Return a client of the SDK; its own retries are off."""
        key, values = self.key(), None
        if not self.takes_environment:
            key = key or NO_KEY
            values = {key, basic(self.base_url or ""), *self._extra_headers()}
        http = getattr(sdk, f"Default{prefix}HttpxClient")
        http_client = http(event_hooks=hooks(values, asynchronous=bool(prefix)))
        given = {"api_key": key, "base_url": self.base_url}
        chosen = {name: value for name, value in given.items() if value is not None}
        return getattr(sdk, prefix + self.sdk_class)(max_retries=0, http_client=http_client, **chosen)

    def credentials(self, client: Any) -> tuple[object, ...]:
        """Return the credentials of a client, and the password in the address."""
        found = (getattr(client, name, None) for name in ("api_key", "auth_token"))
        return (*(key for key in found if key != NO_KEY), *self._extra_headers(), password_of(self.base_url or ""))

    def _extra_headers(self) -> tuple[str, ...]:
        """Return the values of the headers in ``options``."""
        return tuple((self.options.get("extra_headers") or {}).values())

    def request(self, ask: Ask) -> dict[str, Any]:
        """Return the messages of a call: the session's own request with one more turn, or the zone as data."""
        if ask.reuse_cache is not None:
            return {**ask.reuse_cache.request(turn(ask)), **self.options}
        return self.prompted(render(ask))

    def is_structured(self, ask: Ask) -> bool:
        """Return whether the provider can hold the answer to the summary's schema.

        A request that reuses the session's cache has to equal it, and a policy's own words ask for a text.
        """
        is_own = self.base_url is None or is_at(self.base_url, self.domain)
        free = ask.facts is not None and ask.reuse_cache is None
        return free and is_own and bool(self.structures.match(self.asked(ask)))

    def keywords(self, ask: Ask, form: dict[str, Any]) -> dict[str, Any]:
        """Return the messages of a call, with ``form`` and what the caller's options say where it is structured."""
        return {**form, **self.request(ask)} if ask.structured else self.request(ask)

    @abstractmethod
    def prompted(self, prompt: Prompt) -> dict[str, Any]:
        """Return the messages of a prompt."""

    @abstractmethod
    def create(self, client: Any, ask: Ask, seconds: float | None) -> Any:
        """Call the client; the answer of an asynchronous client is awaitable."""

    @abstractmethod
    def answer(self, message: Any, ask: Ask) -> Answer:
        """Return the answer in the SDK's object.

        Raises:
            NoMessageError: the server sent something else.
        """

    @abstractmethod
    def serves(self, model: Model) -> bool:
        """Return whether this server has the session's model too."""


class _Session:
    """The client of one summary, opened with the first call."""

    def __init__(self, writer: Client) -> None:
        self._writer = writer
        self._client: Any = None
        self._structured = True

    def formed(self, ask: Ask) -> Ask:
        """Return the request, structured where the provider can, and did not refuse that before."""
        return replace(ask, structured=True) if self._structured and self._writer.is_structured(ask) else ask

    def unformed(self, ask: Ask, error: Exception) -> bool:
        """Return whether a structured request was refused, and is to be sent once more as a plain one."""
        refused = ask.structured and getattr(error, "status_code", None) == 400
        self._structured = self._structured and not refused
        return refused

    def credentials(self) -> tuple[object, ...]:
        """Return the credentials in use."""
        return self._writer.credentials(self._client)

    @contextmanager
    def noting_a_missing_key(self) -> Iterator[None]:
        """Note on an error that the server got no key."""
        try:
            yield
        except Exception as error:
            if getattr(self._client, "api_key", None) == NO_KEY:
                error.add_note("no key was sent to this server: name its variable with key_env")
            raise


class Calls(_Session):
    """Calls of an SDK's blocking client."""

    _closed = False

    def call(self, ask: Ask, seconds: float | None, /) -> Answer:
        """Ask once."""
        if self._client is None:
            self._client = self._writer.open(import_module(self._writer.package))
        if self._closed:
            raise TimeoutError  # nobody waits for the answer
        with self.noting_a_missing_key():
            asked = self.formed(ask)
            try:
                message = self._writer.create(self._client, asked, seconds)
            except Exception as error:
                if not self.unformed(asked, error):
                    raise
                message = self._writer.create(self._client, ask, seconds)
            return self._writer.answer(message, ask)

    def close(self) -> None:
        """Close the connection, which ends a running call."""
        self._closed = True
        if self._client is not None:
            with suppress(Exception):  # a call may still run
                self._client.close()


class AsyncCalls(_Session):
    """Calls of an SDK's asynchronous client."""

    async def call(self, ask: Ask, seconds: float | None, /) -> Answer:
        """Ask once."""
        if self._client is None:
            import asyncio  # noqa: PLC0415

            sdk = await asyncio.to_thread(import_module, self._writer.package)  # a second that would block the loop
            self._client = self._writer.open(sdk, "Async")
        with self.noting_a_missing_key():
            asked = self.formed(ask)
            try:
                message = await self._writer.create(self._client, asked, seconds)
            except Exception as error:
                if not self.unformed(asked, error):
                    raise
                message = await self._writer.create(self._client, ask, seconds)
            return self._writer.answer(message, ask)

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            import asyncio  # noqa: PLC0415

            with suppress(Exception):
                await asyncio.wait_for(self._client.close(), 1)
