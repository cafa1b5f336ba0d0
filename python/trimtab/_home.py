"""The folders of the user's data: the command line's archive, what the hooks keep, tables of vocabularies."""

from __future__ import annotations

import os


def data_folder() -> str:
    """Return ``TRIMTAB_HOME``, or the folder ``trimtab`` in the XDG data folder."""
    if home := os.environ.get("TRIMTAB_HOME"):
        return os.path.abspath(home)  # a process of its own, which archives, has another working folder
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data, "trimtab")


def archive_url(named: str | None = None) -> str:
    """Return the URL of an archive; by default, of the one in the folder of the user's data."""
    return named or f"sqlite:///{os.path.join(data_folder(), 'archive.db')}"


def tables_folder() -> tuple[str, int | None]:
    """Return the folder of the tables that vocabularies' files were made into, and the number of this user.

    It is ``tables`` in ``TRIMTAB_HOME``, or in the folder ``trimtab`` of the XDG cache folder. Every file in it can be
    made again.
    """
    user = os.geteuid() if hasattr(os, "geteuid") else None
    if home := os.environ.get("TRIMTAB_HOME"):
        return os.path.join(os.path.abspath(home), "tables"), user
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "trimtab", "tables"), user
