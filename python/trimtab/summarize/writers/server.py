"""The server behind an SDK: which headers it gets, and whether it may send the SDK elsewhere."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

from ...errors import RedirectError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

Hook: TypeAlias = "Callable[[Any], object]"

PROTOCOL = re.compile(
    r"accept|accept-encoding|connection|content-.+|host|transfer-encoding|user-agent"
    r"|anthropic-(?:version|beta)|x-stainless-.+",
    re.IGNORECASE,
)
"""Headers of the SDKs that hold no credential."""


def is_at(url: str, domain: str) -> bool:
    """Return whether a URL is an encrypted one of a domain or of a host below it."""
    scheme, host, _ = origin(url)
    return scheme == "https" and (host == domain or host.endswith(f".{domain}"))


def origin(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of a URL; empty for a text that is no URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", "", None
    return parts.scheme, parts.hostname or "", port


def password_of(url: str) -> str | None:
    """Return the password in a URL, decoded; None without one."""
    try:
        password = urlsplit(url).password
    except ValueError:
        return None
    return None if password is None else unquote(password)


def basic(url: str) -> str:
    """Return the header value that a URL with a user and a password stands for."""
    pair = f"{unquote(urlsplit(url).username or '')}:{password_of(url) or ''}"
    return f"Basic {b64encode(pair.encode()).decode()}"


def hooks(values: Collection[str] | None, *, asynchronous: bool) -> dict[str, list[Hook]]:
    """Return the event hooks of an HTTP client that follows no redirect to another server.

    Args:
        values: values of the headers that a request may have beside those of the protocol, without ``Bearer``; None
            lets all headers pass.
        asynchronous: whether the client is asynchronous.
    """
    before: list[Hook] = [] if values is None else [partial(keep_headers, values=values)]
    found: dict[str, list[Hook]] = {"request": before, "response": [refuse_redirect]}
    return {name: [_awaitable(hook) for hook in each] for name, each in found.items()} if asynchronous else found


def keep_headers(request: Any, values: Collection[str]) -> None:
    """Remove the headers that an SDK took from the environment: keys, organization, custom headers."""
    for name, value in [*request.headers.items()]:
        if not PROTOCOL.fullmatch(name) and value.removeprefix("Bearer ") not in values:
            del request.headers[name]


def refuse_redirect(response: Any) -> None:
    """Check that a redirect stays on its server; the only other target allowed is the same host, encrypted.

    Raises:
        RedirectError: it leads elsewhere.
    """
    if not response.has_redirect_location:
        return
    old, new = response.url, response.url.join(response.headers["location"])
    encrypted = (old.scheme, new.scheme, old.port, new.port) == ("http", "https", None, None)
    if old.host != new.host or not (encrypted or (old.scheme, old.port) == (new.scheme, new.port)):
        raise RedirectError(f"{response.status_code}: the server redirects to another one, {new.host}; not followed")


def _awaitable(hook: Hook) -> Hook:
    async def call(exchange: Any) -> None:
        hook(exchange)

    return call
