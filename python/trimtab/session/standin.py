"""The last result of a session in the place of the messages that it was made of.

A hook that cannot keep the compacted list hands in the whole history at each call. Its list then begins with what was
compacted already, which is recognized by digest: the session decides on the result and the messages behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._log import log
from ..compaction.view import View
from ..counting.counter import Counter, scan
from ..errors import MessageError
from ..messages.objects import InputMessages
from ..planning.pins import flagged

if TYPE_CHECKING:
    from ..archive import Archive
    from ..compaction.settings import Settings
    from ..ledger.columns import Ledger
    from .call import Call


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

    def remember(self, view: View | None) -> None:
        """Remember the session's newest result; None ends the one before."""
        self.view, self.is_known = view, True

    def find(self, archive: Archive | None, session: str) -> None:
        """Find the result of an earlier process in the archive.

        Raises:
            ArchiveError: the archive cannot be read.
        """
        reader: Any = archive
        found = reader.view(session) if hasattr(archive, "view") else None
        try:
            self.remember(View(**found) if found else None)
        except (TypeError, ValueError) as error:
            log.warning("the last result of session %r is not used again: %s", session, error)
            self.remember(None)

    def put(self, call: Call, ledger: Ledger, settings: Settings) -> tuple[Call, Ledger]:
        """Return the call with the result in place of the beginning of its messages, and its ledger.

        The call itself if its messages begin otherwise, or if one that is not in the result is pinned now by its flag.

        Args:
            call: the call.
            ledger: ledger of its messages.
            settings: of the session.
        """
        view = self.view
        if view is None or len(ledger) < view.length or ledger.digest_until(view.length) != view.digest:
            return call, ledger
        inputs = InputMessages(call.messages)
        made = view.apply(inputs.messages)
        pins, _ = settings.policy.keep.flags()
        if made is None or (pins and view.hides(flagged(inputs.messages, pins))):
            return call, ledger
        if self._counter is None:
            self._counter = settings.new_counter()  # of its own: it knows what it has counted by the list it saw last
        try:
            found = scan(made, self._counter, ledger.provider)
        except MessageError:  # the state was changed outside
            found = None
        if found is None or found.digest_until(view.made) != view.result:
            log.warning("the last result %s of session %r is not the one that was made", view.ref, settings.session)
            return call, ledger
        return replace(call, messages=inputs.write(made), given=call.messages, view=view), found
