"""A lock that a forked process finds free."""

from __future__ import annotations

import os
from threading import Lock
from weakref import WeakSet


class OwnLock:
    """A lock of one process: in a forked one nobody holds it, whatever threads of its parent do.

    Attributes:
        lock: the lock itself. An interrupt between its ``__enter__`` and the block would leave it held, and comes only
            where Python code runs.
    """

    def __init__(self) -> None:
        """Make a lock that nobody holds."""
        self.lock = Lock()
        _ALL.add(self)


_ALL: WeakSet[OwnLock] = WeakSet()


def _renew() -> None:
    """Make all locks anew, in a forked process that has one thread yet."""
    for own in list(_ALL):
        own.lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
