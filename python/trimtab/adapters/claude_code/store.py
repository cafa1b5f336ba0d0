"""The files that the hooks keep: copies that wait for the archive, sessions, whole outputs; mode 0600.

In the folder ``claude-code`` of the user's data: ``waiting/`` has copies of session files that are not archived yet,
``sessions/`` what is given back to a session, ``outputs/`` the whole of each truncated output, ``projects/`` the
current session of each project, ``receipts/`` what the hooks did.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from contextlib import contextmanager, suppress

from ..._core import digest
from ..._home import data_folder

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_AGE_DAYS, MAX_BYTES = 30, 1_000_000_000
"""What the hooks keep: files of the last 30 days, and 1 GB of them."""

PART = 1 << 20


def folder(*names: str) -> str:
    """Return a folder of the hooks; make it if it does not exist."""
    path = os.path.join(data_folder(), "claude-code", *names)
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


def safe_name(session: object) -> str:
    """Return a file's name for a session: its id, or a digest of what cannot be a name."""
    text = session if isinstance(session, str) else json.dumps(session)
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", text):
        return text
    return _digest(text)


def write(path: str, data: bytes) -> None:
    """Write a file whole or not at all."""
    temporary = f"{path}.{os.getpid()}.{time.monotonic_ns()}.part"
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


@contextmanager
def alone_in(place: str) -> Iterator[None]:
    """Hold the lock of a folder; after a second without it, go on: nobody waits long for a hook."""
    try:
        import fcntl
    except ImportError:  # Windows: the later of two processes wins
        yield
        return
    descriptor = os.open(place, os.O_RDONLY)
    try:
        for _ in range(100):
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def read_json(path: str) -> dict[str, Any]:
    """Return the object in a file; an empty one if there is none."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def copy_session(path: str, session: str) -> str:
    """Copy a session file to those that wait for the archive; return the copy's path.

    Raises:
        OSError: it cannot be read, is no regular file, or the copy cannot be written.
    """
    name = os.path.join(folder("waiting"), f"{time.time_ns():020}.{safe_name(session)}.jsonl")
    temporary = f"{name}.{os.getpid()}.part"
    source = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe's name does not block
    with os.fdopen(source, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is no regular file")
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
                copy.write(json.dumps({"session_id": session, "transcript_path": path}).encode() + b"\n")
                while part := file.read(PART):
                    copy.write(part)
            os.replace(temporary, name)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    return name


def waiting(session: str | None = None) -> list[str]:
    """Return the copies that wait for the archive, oldest first: of one session, or of all."""
    place = folder("waiting")
    ending = ".jsonl" if session is None else f".{safe_name(session)}.jsonl"
    return [os.path.join(place, name) for name in sorted(os.listdir(place)) if name.endswith(ending)]


def keep_output(session: str, call: str, text: str) -> str:
    """Keep the whole of an output; return its path."""
    path = os.path.join(folder("outputs", safe_name(session)), f"{safe_name(call)}.txt")
    write(path, text.encode(errors="surrogatepass"))
    return path


def session_file(session: str) -> str:
    """Return the path of what is given back to a session."""
    return os.path.join(folder("sessions"), f"{safe_name(session)}.json")


def project_file(project: str) -> str:
    """Return the path of the file that names the current session of a project and its earlier ones, by its folder."""
    return os.path.join(folder("projects"), f"{_digest(os.path.realpath(project))}.json")


def _digest(text: str) -> str:
    return digest(text.encode(errors="surrogatepass"))[:32]  # `hashlib` would load OpenSSL


def files_of(session: str) -> list[str]:
    """Return the files of a session: its copies that wait, what is given back to it, and its whole outputs.

    Unfinished ones too, which a process left that was killed.
    """
    name = safe_name(session)
    outputs = os.path.join(folder("outputs"), name)
    found = [(folder("waiting"), each) for each in os.listdir(folder("waiting")) if f".{name}.jsonl" in each]
    found += [(folder("sessions"), each) for each in os.listdir(folder("sessions")) if each.startswith(f"{name}.json")]
    found += [(outputs, each) for each in (os.listdir(outputs) if os.path.isdir(outputs) else ())]
    return sorted(os.path.join(place, each) for place, each in found)


def forget_files(session: str) -> None:
    """Remove the files of a session.

    Raises:
        OSError: one cannot be removed.
    """
    for path in files_of(session):
        with suppress(FileNotFoundError):
            os.unlink(path)
    with suppress(OSError):
        os.rmdir(os.path.join(folder("outputs"), safe_name(session)))


def stored() -> tuple[str, int]:
    """Return the folder of the hooks' files, and their bytes."""
    place = folder()
    return place, sum(size for _, size, _ in _files(place))


def expire(now: float | None = None) -> None:
    """Remove the files that are older than 30 days, and the oldest beyond 1 GB.

    Copies that wait stay, and so does what uninstall restores. The time is that of the newest file where that is
    earlier: a file server's clock may be behind.
    """
    files = sorted(_files(folder()))
    newest = min(time.time(), files[-1][0]) if files else 0.0
    oldest = (newest if now is None else now) - MAX_AGE_DAYS * 86_400
    total = sum(size for _, size, _ in files)
    for changed, size, path in files:
        held = any(f"{os.sep}{name}{os.sep}" in path for name in ("waiting", "settings")) and not path.endswith(".part")
        if not held and (changed < oldest or total > MAX_BYTES):
            with suppress(OSError):
                os.unlink(path)
                total -= size


def _files(place: str) -> list[tuple[float, int, str]]:
    """Return time, size and path of each file."""
    found = []
    for parent, _, names in os.walk(place):
        for name in names:
            path = os.path.join(parent, name)
            with suppress(OSError):
                status = os.lstat(path)
                found.append((status.st_mtime, status.st_size, path))
    return found


NOTES = "log.jsonl"
"""What the hooks did, a line each, until the process that archives puts it into the archive's log.

A hook that Claude Code waits for appends a line in 0.1 ms; to open the archive takes 20.
"""

LONGEST = 400
"""Characters of a value in a line, so that lines of several hooks do not mix."""


def note(session: object, what: str, outcome: str, why: str) -> None:
    """Note what a hook did; without a session's name, or where it cannot be written, nothing is noted."""
    if not isinstance(session, str) or not session.strip() or not session.isprintable() or len(session) > LONGEST:
        return
    entry = {"id": os.urandom(10).hex(), "session": session, "what": what, "outcome": outcome, "why": why}
    line = json.dumps({**entry, "at": time.time()}) + "\n"
    with suppress(OSError):
        path = os.path.join(folder("receipts"), NOTES)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def note_files() -> list[str]:
    """Return the files of the entries that are not in the archive yet."""
    place = folder("receipts")
    return [os.path.join(place, name) for name in sorted(os.listdir(place)) if ".jsonl" in name]


def take_notes() -> list[str]:
    """Set the entries of now apart, so that hooks begin a new file; return the files that are apart."""
    place = folder("receipts")
    with suppress(FileNotFoundError):
        os.replace(os.path.join(place, NOTES), os.path.join(place, f"{time.time_ns():020}.jsonl"))
    return [path for path in note_files() if os.path.basename(path) != NOTES]


def notes_in(path: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a file; what is none is left out."""
    with suppress(OSError), open(path, "rb") as file:
        for line in file:
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict) and _is_note(found):
                yield found


def _is_note(found: dict[str, Any]) -> bool:
    texts = (found.get(name) for name in ("id", "session", "what", "outcome", "why"))
    at = found.get("at")
    return all(isinstance(text, str) for text in texts) and isinstance(at, float) and 0 <= at < 2**33
