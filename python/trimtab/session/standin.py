"""The last result of a session in the place of the messages that it was made of.

A hook that cannot keep the compacted list hands in the whole history at each call. Its list then begins with what was
compacted already, which is recognized by digest: the session decides on the result and the messages behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .. import _core
from .._log import log
from ..compaction.view import View
from ..counting.counter import Counter, scan
from ..errors import ArchiveError, MessageError
from ..ledger.columns import Kind
from ..messages.objects import InputMessages
from ..planning.pins import flagged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..archive import Archive
    from ..compaction.settings import Settings
    from ..ledger.columns import Ledger
    from .call import ReadCall


class Placed:
    """A result as it was put in a list; it serves again while nothing in it and in what it was made of has changed."""

    def __init__(self, given: Sequence[Any], made: Sequence[Any]) -> None:
        """Remember the messages that the result was made of, and the result."""
        self.length, self.made = len(given), made
        self._given, self._made = _core.Seen(), _core.Seen()
        self._given.places(given)
        self._made.places(made)

    def before(self, messages: Sequence[Any]) -> list[Any] | None:
        """Return a list with the result in place of its beginning; None if objects of either were changed."""
        given, _ = self._given.places(messages[: self.length])
        made, _ = self._made.places(self.made)
        if given < self.length or made < len(self.made):
            return None
        return [*self.made, *messages[self.length :]]


@dataclass
class StandIn:
    """Puts the last result of a session in the place of the messages that it was made of.

    Attributes:
        view: the result, told by these messages; None without one.
        is_known: whether ``view`` is the session's; otherwise the archive may have one of an earlier process.
    """

    view: View | None = None
    is_known: bool = False
    _counter: Counter | None = None
    _last: Placed | None = None
    _is_storable: bool | None = None

    def remember(self, view: View | None) -> None:
        """Remember the session's newest result; None ends the one before."""
        self.view, self.is_known, self._last, self._is_storable = view, True, None, None

    def stands(self, archive: Archive | None, settings: Settings) -> bool:
        """Return whether no other session object or process has ended the result of a named session.

        It stands where the archive cannot tell: one that is out of reach stops no call, and none has a result with a
        text that ``redact`` removes.
        """
        view = self.view  # another thread's pin may end it while the archive is asked
        if view is None or archive is None:
            return True
        try:
            if archive.stands(view.ref, settings.session):
                return True
        except ArchiveError as error:
            log.warning("whether the last result of session %r was ended is not known: %s", settings.session, error)
            return True
        if self._is_storable is None:
            self._is_storable = view.is_storable(settings.redact)
        return not self._is_storable

    def find(self, archive: Archive | None, session: str) -> None:
        """Find the result of an earlier process in the archive.

        Raises:
            ArchiveError: the archive cannot be read.
        """
        found = archive.view(session) if archive is not None else None
        try:
            self.remember(View(**found) if found else None)
        except (TypeError, ValueError) as error:
            log.warning("the last result of session %r is not used again: %s", session, error)
            self.remember(None)

    def put(self, call: ReadCall, settings: Settings) -> ReadCall:
        """Return the call with the result in place of the beginning of its messages.

        The call itself if its messages begin otherwise, or if one that is not in the result is pinned now by its flag.
        A result whose thinking the provider refuses, because another model's compaction left it, ends here.

        Args:
            call: the call.
            settings: of the session.
        """
        view, ledger = self.view, call.ledger
        if view is None or len(ledger) < view.length or ledger.digest_until(view.length) != view.digest:
            return call
        if self._counter is None:
            self._counter = settings.new_counter()  # of its own: it knows what it has counted by the list it saw last
        if (last := self._last) and (messages := last.before(call.messages)):
            found = self._read(view, messages, ledger)
            if found is not None:
                return replace(call, messages=messages, given=call.messages, view=view, ledger=found)
        inputs = InputMessages(call.messages)
        made = view.apply(inputs.messages)
        pins, _ = settings.policy.keep.flags()
        if made is None or (pins and view.hides(flagged(inputs.messages, pins))):
            return call
        found = self._read(view, made, ledger)
        if found is None:
            log.warning("the last result %s of session %r is not the one that was made", view.ref, settings.session)
            return call
        if settings.strips and not view.strips and _thinks(found, view):
            self.remember(None)
            return call
        written = inputs.write(made)
        if view.made:  # so that what a framework has in its first message stands in the result
            self._last = Placed(call.messages[: view.length], written[: view.made])
        return replace(call, messages=written, given=call.messages, view=view, ledger=found)

    def _read(self, view: View, messages: Sequence[Any], ledger: Ledger) -> Ledger | None:
        """Return the ledger of a list that begins with the result; None if it does not."""
        if self._counter is None:
            return None
        try:
            found = scan(messages, self._counter, ledger.provider)
        except MessageError:  # the state was changed outside
            return None
        return found if found.digest_until(view.made) == view.result else None


def _thinks(ledger: Ledger, view: View) -> bool:
    """Return whether a result has thinking behind its first new message."""
    owners = ledger.owner[ledger.kind == Kind.THINKING]
    return bool(((owners >= view.unchanged) & (owners < view.made)).any())
