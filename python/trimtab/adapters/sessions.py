"""The sessions of one Compactor, one a conversation, as all adapters use them.

An adapter makes one ``Sessions`` from its arguments, and asks it at each call for the ``Conversation``: by the
framework's conversation id, or by how the conversation began (``opening``).
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from .._log import log
from ..archive.names import UNNAMED
from ..errors import ConfigError
from ..messages.objects import plain, sendable
from ..messages.request import SYSTEM_ROLES
from ..session.compactor import Compactor
from .conversation import NO_ROOM, Conversation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..models.model import Model
    from ..models.provider import Provider
    from ..session.session import Session

MOST = 512
"""Conversations in memory. One that comes back later goes on from its checkpoint or from the archive."""


class Sessions:
    """The sessions of one Compactor, one a conversation; those that were used last stay in memory.

    Args:
        model: an id, a ``Model``, or a ``Compactor`` with its settings.
        options: keywords of a new ``Compactor``.
        provider: the shape in which the adapter reads messages, whatever the model's provider; a Compactor has its own.
        most: conversations in memory.
        carries: whether the adapter's calls carry what a request asks of the provider's server.

    Attributes:
        compactor: the Compactor.

    Raises:
        TypeError: there are options beside a Compactor, which has its own.
        ValueError: an option has an unknown value.
    """

    def __init__(
        self,
        model: str | Model | Compactor,
        options: Mapping[str, Any],
        provider: Provider | None = None,
        *,
        most: int = MOST,
        carries: bool = False,
    ) -> None:
        """Make the Compactor where none was given."""
        if isinstance(model, Compactor) and options:
            raise TypeError(f"a Compactor has its own settings: pass {', '.join(options)} to it")
        self.compactor = (
            model if isinstance(model, Compactor) else Compactor(model, **{"provider": provider, **options})
        )
        self._most, self._carries = most, carries
        if self.compactor.policy.server and not carries:
            log.warning("the provider's server is not asked to compact: %s", NO_ROOM)
        self._held: OrderedDict[str, Conversation] = OrderedDict()
        self._lock = Lock()

    def of(self, id: object = None, state: Mapping[str, Any] | None = None) -> Conversation:
        """Return a conversation: the one in memory, or a new one that goes on from a state.

        A state other than the last one that ``Conversation.state`` returned, such as that of an earlier checkpoint,
        replaces what is in memory. A state that cannot be read, or that another model or policy made, is ignored with
        a warning. Without a state, a conversation starts from what the archive holds of it.

        Args:
            id: the framework's conversation id, text or an object with one; None finds the conversation by its state,
                and makes a new one without a state.
            state: of the framework's checkpoint.
        """
        name = None if id is None else session_name(str(id))
        if name is None and state is not None:
            name = str(state.get("session"))
        with self._lock:
            held = None if name is None else self._held.get(name)
            if held is None or (state is not None and state != held.last_state):
                held = Conversation(self._session(name, state), state, carries=self._carries)
            self._held[held.session.id] = held
            self._held.move_to_end(held.session.id)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
            return held

    def forget(self, id: object) -> None:
        """Let go of a conversation, because its list was cleared or replaced from outside."""
        with self._lock:
            self._held.pop(session_name(str(id)), None)

    def _session(self, name: str | None, state: Mapping[str, Any] | None) -> Session:
        if state is not None:
            try:
                return self.compactor.session(name, state)
            except ConfigError as error:
                log.warning("the state of the checkpoint is not used: %s", error)
        return self.compactor.session(None if name is None or name.startswith(UNNAMED) else name)


def session_name(id: str) -> str:
    """Return a session's name for a framework's conversation id: the id itself where a session can have that name."""
    if id.strip() and id.isprintable() and not id.startswith(UNNAMED):
        return id
    return "id-" + _digest(id)


def opening(messages: Sequence[Any]) -> str:
    """Return a session's name from how a conversation began, for a hook that is told no conversation id.

    It is a digest of the messages from the first that is no system text to the user's first. Such a hook is handed the
    whole history at each call, so that the beginning stays, and names the same session in a new process. System text
    is not in it, because it may hold the time. Conversations that begin alike share a session: pass an id wherever the
    framework or the caller has one.
    """
    first: list[Any] = []
    for message in plain(messages):
        if message.get("role") not in SYSTEM_ROLES:
            first.append(message)
        if message.get("role") == "user":
            break
    return "opening-" + _digest(json.dumps(first, default=sendable, sort_keys=True))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:20]
