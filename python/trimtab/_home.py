"""The folder of the user's data: the command line's archive, and what the hooks keep."""

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
