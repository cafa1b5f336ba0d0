"""Summarizers behind a provider's SDK, which is imported with the first call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from ..attempts import Limits
from ..prompt import render, turn

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from ...models.model import Model
    from ..ask import Answer, Ask, Prompt

MOST = 8_192
"""Most output tokens of a call; every model that is still served allows them."""


def output_limit(ask: Ask) -> int:
    """Return the most output tokens of a call: the summary's limit is in another model's tokens, so twice that."""
    return min(2 * ask.max_tokens + 256, MOST)


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

    package: ClassVar[str]
    """The SDK's package."""
    sdk_class: ClassVar[str]
    """The SDK's blocking client; ``Async`` in front of it names the asynchronous one."""
    shape: ClassVar[str]
    """The shape of the messages that it sends."""
    cheap: ClassVar[str]
    """The model that is asked if nobody names one."""

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

    def open(self, sdk: ModuleType, prefix: str = "") -> Any:
        """Return a client of the SDK; its own retries are off."""
        given = {"api_key": self.api_key, "base_url": self.base_url}
        kind = getattr(sdk, prefix + self.sdk_class)
        return kind(max_retries=0, **{key: value for key, value in given.items() if value is not None})

    def request(self, ask: Ask) -> dict[str, Any]:
        """Return the messages of a call: the session's own request with one more turn, or the zone as data."""
        if ask.reuse_cache is not None:
            return {**ask.reuse_cache.request(turn(ask)), **self.options}
        return self.prompted(render(ask))

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


class Calls:
    """Calls of an SDK's blocking client."""

    def __init__(self, writer: Client) -> None:
        self._writer = writer
        self._client: Any = None
        self._closed = False

    def call(self, ask: Ask, seconds: float | None, /) -> Answer:
        """Ask once."""
        if self._client is None:
            self._client = self._writer.open(import_module(self._writer.package))
        if self._closed:
            raise TimeoutError  # nobody waits for the answer
        return self._writer.answer(self._writer.create(self._client, ask, seconds), ask)

    def close(self) -> None:
        """Close the connection, which ends a running call."""
        self._closed = True
        if self._client is not None:
            with suppress(Exception):  # a call may still run
                self._client.close()


class AsyncCalls:
    """Calls of an SDK's asynchronous client."""

    def __init__(self, writer: Client) -> None:
        self._writer = writer
        self._client: Any = None

    async def call(self, ask: Ask, seconds: float | None, /) -> Answer:
        """Ask once."""
        if self._client is None:
            import asyncio  # noqa: PLC0415

            sdk = await asyncio.to_thread(import_module, self._writer.package)  # a second that would block the loop
            self._client = self._writer.open(sdk, "Async")
        return self._writer.answer(await self._writer.create(self._client, ask, seconds), ask)

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            import asyncio  # noqa: PLC0415

            with suppress(Exception):
                await asyncio.wait_for(self._client.close(), 1)
