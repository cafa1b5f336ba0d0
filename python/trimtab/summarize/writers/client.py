"""Sessions of a provider's own client: imported when they are used, closed when they are done."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from ...models.model import known

if TYPE_CHECKING:
    from types import ModuleType

    from ..ask import Answer, Ask

MOST = 8_192
"""Most tokens that a model is allowed for an answer: every model still served allows it."""


def most(ask: Ask) -> int:
    """What a model is allowed for its answer: twice the limit, which is in another model's tokens, and some."""
    return min(2 * ask.max_tokens + 256, MOST)


def need(package: str) -> None:
    """Refuses a summarizer whose client is not installed.

    Raises:
        ImportError: says how it is installed.
    """
    if find_spec(package) is None:
        msg = f'the summarizer {package} needs the package {package}: pip install "trimtab[{package}]"'
        raise ImportError(msg, name=package)


def window_of(writer: object) -> int | None:
    """Tokens that a summarizer takes at once, where it or the model table says so."""
    given: int | None = getattr(writer, "window", None)
    found = known().get(getattr(writer, "model", "") or getattr(writer, "cheap", ""))
    return given if given is not None or found is None else found.window


def asked(api: Api, ask: Ask) -> str:
    """Who is asked: the model that the ask names, the summarizer's, or the one it asks by itself."""
    return ask.model or api.model or api.cheap


class Api(Protocol):
    """How a provider is called: what makes a client, what makes a call of it, what reads the answer."""

    package: str
    cheap: str

    @property
    def model(self) -> str | None:
        """Who is asked, where the caller says so."""

    def client(self, sdk: ModuleType, kind: str) -> Any:
        """A client of the SDK's."""

    def create(self, client: Any, ask: Ask, seconds: float | None) -> Any:
        """The call."""

    def answer(self, message: Any, ask: Ask) -> Answer:
        """What came back."""


class Calls:
    """Calls of an SDK's plain client."""

    def __init__(self, api: Api, kind: str) -> None:
        self._api, self._kind = api, kind
        self._client: Any = None
        self._closed = False

    def call(self, ask: Ask, seconds: float | None, /) -> Answer:
        """Asks once."""
        if self._client is None:
            self._client = self._api.client(import_module(self._api.package), self._kind)
        if self._closed:
            raise TimeoutError  # nobody waits for it any more: nothing is sent
        return self._api.answer(self._api.create(self._client, ask, seconds), ask)

    def close(self) -> None:
        """Closes the connection, under a call that still runs too."""
        self._closed = True
        if self._client is not None:
            with suppress(Exception):  # a call may still run in it: then it ends with the connection
                self._client.close()


class AsyncCalls:
    """Calls of an SDK's asynchronous client."""

    def __init__(self, api: Api, kind: str) -> None:
        self._api, self._kind = api, kind
        self._client: Any = None

    async def call(self, ask: Ask, seconds: float | None, /) -> Answer:
        """Asks once."""
        if self._client is None:
            import asyncio  # noqa: PLC0415

            sdk = await asyncio.to_thread(import_module, self._api.package)  # takes a second: the loop goes on
            self._client = self._api.client(sdk, self._kind)
        return self._api.answer(await self._api.create(self._client, ask, seconds), ask)

    async def close(self) -> None:
        """Closes the connection."""
        if self._client is not None:
            import asyncio  # noqa: PLC0415

            with suppress(Exception):
                await asyncio.wait_for(self._client.close(), 1)
