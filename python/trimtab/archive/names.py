"""Names of sessions: those that a caller gives, and those of sessions without a name."""

from __future__ import annotations

import os

UNNAMED = "unnamed-"
"""Beginning of the name of every session without a given one. No caller may give such a name: whoever has no name could
restore what its owner archived."""

COMMAND = f"{UNNAMED}command-"
"""Beginning of the names of commands' sessions without a name: such a session ends with its command."""


def check_name(name: str) -> str:
    """Return a session's name.

    Raises:
        ValueError: the name is empty, blank or not printable, as one with a lone surrogate, or no text at all.
    """
    if isinstance(name, str) and name.strip() and name.isprintable():
        return name
    msg = f"a session's name must be printable text with more than spaces, got {name!r}"
    raise ValueError(msg)


def check_session(session: str | None) -> str | None:
    """Return the session that a query is limited to; None means all.

    Raises:
        ValueError: it is no name.
    """
    return None if session is None else check_name(session)


def given_name(name: str | None) -> str:
    """Return the name that a caller gave its session, or a new one for a session without a name.

    Raises:
        ValueError: it is no name, or the kind of name that sessions without one get.
    """
    if name is None:
        return UNNAMED + os.urandom(16).hex()
    if check_name(name).startswith(UNNAMED):
        msg = f"a session's name cannot begin with {UNNAMED!r}: sessions without a name have such names"
        raise ValueError(msg)
    return name


def command_name() -> str:
    """Return a new name for the session of one command."""
    return COMMAND + os.urandom(16).hex()


def takes_ref(session: str, owner: str | None) -> bool:
    """Return whether a session's compaction may have a ref of ``owner``, which is as of ``Archive.owner``.

    One of another session is not its own: it ends when that is forgotten. But nobody goes on with a command's session,
    and a command that is repeated gives the same list, to the tokens of the ref in it.
    """
    return owner is None or owner == session or (session.startswith(COMMAND) and owner.startswith(COMMAND))


def is_unnamed(session: str, ref: str) -> bool:
    """Return whether a compaction's session has no given name; the first archives named it as the compaction."""
    return session.startswith(UNNAMED) or session == ref


def may_read(session: str, owner: str, ref: str) -> bool:
    """Return whether a session may read a compaction of ``owner``: its own, or both have no given name."""
    return session == owner or (session.startswith(UNNAMED) and is_unnamed(owner, ref))


def is_ref(ref: object) -> bool:
    """Return whether a compaction can have this ref: what no database stores as text is looked up in none."""
    return isinstance(ref, str) and ref.isprintable()
