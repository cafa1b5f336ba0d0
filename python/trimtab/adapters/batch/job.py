"""A job's folder: what it is, and which parts are done."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._core import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SCHEMA = 1
"""Version of the tables' columns, and of the job's file."""

JOB = "job.json"
"""The file that says what a folder's job is."""

HINT = "name another folder with --out"


@dataclass(frozen=True, slots=True)
class JobFolder:
    """A job, whose parts go to the folders of its tables.

    Attributes:
        folder: of the output.
        says: what the job is: the same inputs and options make the same rows.
    """

    folder: Path
    says: dict[str, Any]

    @classmethod
    def of(cls, folder: str, files: Iterable[str], options: dict[str, Any]) -> JobFolder:
        """Return the job over these files; a file counts as the same while its size and time are.

        Args:
            folder: of the output.
            files: names of the inputs.
            options: all that decides what the rows say, as JSON has it.
        """
        digest, number, size = sha256(), 0, 0
        for number, name in enumerate(files, 1):  # noqa: B007 - the last is their number
            try:
                found = os.stat(name)  # noqa: PTH116 - a million files
            except OSError:  # it is gone, or out of reach: its row says so
                digest.update(f"{name}\0\n".encode("utf-8", "surrogateescape"))
                continue
            size += found.st_size
            digest.update(f"{name}\0{found.st_size}\0{found.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
        inputs = {"files": number, "bytes": size, "sha256": digest.hexdigest()}
        made = {"schema": SCHEMA, "trimtab": __version__, **options, "inputs": inputs}
        return cls(Path(folder), json.loads(json.dumps(made)))

    def check(self, *, resume: bool) -> None:
        """Refuse a folder that is not this job's.

        Args:
            resume: an unfinished job has to be there.

        Raises:
            ValueError: the folder holds another job, or something else.
        """
        try:
            known = dict(json.loads((self.folder / JOB).read_bytes()))
        except FileNotFoundError:
            if resume:
                raise ValueError(f"{self.folder}: there is no job to go on with\n  leave out --resume") from None
            if self.folder.exists() and any(not path.name.startswith(".") for path in self.folder.iterdir()):
                raise ValueError(f"{self.folder} is not empty, and holds no job\n  {HINT}") from None
            return
        except (ValueError, TypeError):
            raise ValueError(f"{self.folder}: {JOB} cannot be read\n  {HINT}") from None
        differs = [name for name in {**known, **self.says} if known.get(name) != self.says.get(name)]
        if differs:
            what = ", ".join(f"{name} {known.get(name)!r}, not {self.says.get(name)!r}" for name in differs)
            raise ValueError(f"{self.folder} holds another job: {what}\n  {HINT}")

    @contextmanager
    def opened(self, tables: Iterable[str]) -> Iterator[Path]:
        """Make the folders, and yield that of files in work; what an interrupted run left in one is removed.

        Raises:
            BlockingIOError: another process works on the job.
            ValueError: another job has begun here since the folder was checked.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with _locked(self.folder / ".lock"):
            self.check(resume=False)
            for old in self.folder.glob(".work-*"):
                shutil.rmtree(old, ignore_errors=True)
            work = self.folder / f".work-{os.getpid()}"
            work.mkdir()
            draft = work / JOB
            draft.write_text(json.dumps(self.says, indent=1) + "\n", encoding="utf-8")
            to_disk(draft)
            draft.replace(self.folder / JOB)  # before all else that has a name: without it the folder is nobody's
            to_disk(self.folder)
            for table in tables:
                (self.folder / table).mkdir(exist_ok=True)
            try:
                yield work
            finally:
                # By another name: a worker that is still at work would make files while the folder is emptied.
                gone = self.folder / f"{work.name}-done"
                with suppress(OSError):
                    work.rename(gone)
                shutil.rmtree(gone, ignore_errors=True)

    def left(self, parts: int, table: str) -> list[int]:
        """Return the parts that are not done: those without a file of the table that is written last."""
        return [part for part in range(parts) if not (self.folder / table / name_of(part)).exists()]


def name_of(part: int) -> str:
    """Return the name of a part's file in the folder of each table."""
    return f"part-{part:06}.parquet"


def to_disk(path: Path) -> None:
    """Have the system write a file's bytes, or the names in a folder, to the disk before it goes on.

    Raises:
        OSError: the disk is full or faulty.
    """
    if path.is_dir():
        with suppress(OSError):  # Windows opens no folder, and some file systems write names by themselves
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        return
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock, which the system gives back with the process."""
    with path.open("ab") as file:
        try:
            import fcntl  # noqa: PLC0415 - not on Windows, where nothing keeps two runs apart
        except ImportError:
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BlockingIOError(11, "another process works on this job", str(path.parent)) from None
        yield
