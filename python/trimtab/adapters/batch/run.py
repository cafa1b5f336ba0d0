"""A job from its inputs to its tables."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from errno import ECHILD
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from ... import _core
from ...counting.counter import Counter
from ...formats import FORMATS
from .inputs import files_in, parts_of, units_of
from .job import JobFolder
from .processes import Workers
from .task import TABLES, VERBS, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .inputs import FileSlice

Engine: TypeAlias = Literal["native", "ray"]

PART = 16
"""Megabytes of input of a part, by default: little work is lost with one."""

TRIES = 2
"""How often the parts are handed to an engine that fails without having done one."""

QUIET = {
    "DAFT_PROGRESS_BAR": "0",
    "DAFT_ANALYTICS_ENABLED": "0",
    "DO_NOT_TRACK": "1",
    "SCARF_NO_ANALYTICS": "true",
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Variables for engines: nothing leaves this machine, and progress is ours."""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a job, or of a part of it.

    Attributes:
        parts: number of parts.
        rows: number of rows: sessions, or texts.
        bad: number of rows that have an error.
        places: number of places in the quarantine.
        tokens: tokens of all sessions.
        size: bytes of the input.
    """

    parts: int = 0
    rows: int = 0
    bad: int = 0
    places: int = 0
    tokens: int = 0
    size: int = 0

    def __add__(self, other: Done) -> Done:
        """Return both together."""
        names = self.__slots__
        return Done(**{name: getattr(self, name) + getattr(other, name) for name in names})


def run(
    verb: str,
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    column: str | None = None,
    model: str | None = None,
    format: str | None = None,
    engine: Engine = "native",
    workers: int | None = None,
    part_mb: int = PART,
    resume: bool = False,
    progress: Callable[[int, int], object] | None = None,
    **options: Any,
) -> Done:
    """Do a job, or what is left of it; return what this run did.

    Args:
        verb: one of ``VERBS``.
        inputs: session files, JSONL and Parquet tables, and folders of them; one, or several.
        out: folder of the tables; of a job that was interrupted, what is missing is done.
        column: column or field that has the sessions or texts; None if there is one alone.
        model: model to count for; None takes each session's own.
        format: format of all sessions; None detects that of each.
        engine: ``native`` (this machine) or ``ray`` (the cluster of ``RAY_ADDRESS``, else this machine).
        workers: number of workers, each a core; None takes as many as count by default (``TRIMTAB_THREADS``).
        part_mb: megabytes of input of a part: a table has a file for each.
        resume: an unfinished job has to be there.
        progress: is told the bytes that are done, and those in all.
        **options: those of the function of ``trimtab.arrow`` with the verb's name.

    Raises:
        ValueError: an option is out of its range or unknown, such as a model whose files are not there, or the folder
            holds another job.
        MessageError: an input does not exist.
        ImportError: the extra ``batch`` is not installed.
        OSError: the output cannot be written, another process works on the job, or a worker ended twice at one part.
    """
    if verb not in VERBS:
        raise ValueError(f"unknown verb {verb!r}, need one of {', '.join(VERBS)}")
    if format is not None and format not in FORMATS:
        raise ValueError(f"unknown format {format!r}, need one of {', '.join(FORMATS)}")
    if engine not in get_args(Engine):
        raise ValueError(f"unknown engine {engine!r}, need one of {', '.join(get_args(Engine))}")
    if part_mb < 1 or (workers is not None and workers < 1):
        raise ValueError("need at least one worker, and parts of at least 1 MB")
    _check(verb, model, options)
    named = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
    files = files_in([os.fspath(name) for name in named], Path(out))
    decides = {"verb": verb, "column": column, "model": model, "format": format, "part_mb": part_mb, "options": options}
    job = JobFolder.of(os.fspath(out), files, decides)
    job.check(resume=resume)
    size = part_mb << 20
    each = (units_of(name, column, size, texts=verb == "truncate") for name in files)
    parts = [*parts_of(chain.from_iterable(each), size)] or [[]]  # the tables of no rows
    tables = TABLES[verb]
    with job.opened(tables) as work:
        left = {number: parts[number] for number in job.left(len(parts), tables[-1])}
        task = Task(verb, str(job.folder.resolve()), str(work.resolve()), column, model, format, options)
        done, of = Done(), sum(unit.size for part in left.values() for unit in part)
        for part in _tried(task, left, engine, workers or _core.threads()):
            done += part
            if progress:
                progress(done.size, of)
    return done


def _check(verb: str, model: str | None, options: dict[str, Any]) -> None:
    """Raise what is wrong with the options of every row."""
    if verb not in {"compact", "truncate"}:
        if options.keys() - {"in_flight"}:
            raise TypeError(f"{verb} takes no {', '.join(sorted(options.keys() - {'in_flight'}))}")
        if model:
            Counter.for_model(model)
        return
    from ..arrow import said  # noqa: PLC0415 - what counts and compacts, for these verbs alone

    if verb == "compact":
        targets, settings = said.parted(options)
        said.check_settings(settings, model, targets)
    else:
        said.truncating(model, **options)


def _tried(task: Task, left: dict[int, list[FileSlice]], engine: Engine, workers: int) -> Iterator[Done]:
    """Yield what became of each part; those whose worker ended are handed out again.

    Raises:
        OSError: the output cannot be written, or no worker gets on.
    """
    tries, failed = TRIES, None
    while left and failed is None:
        before = len(left)
        try:
            for said_of in _query(task, left, engine, workers):
                if "error" in said_of:
                    failed = OSError(*said_of["error"])
                    break
                part = left.pop(said_of.pop("part"))
                yield Done(1, size=sum(unit.size for unit in part), **said_of)
        except ImportError:
            raise
        except Exception as error:
            tries = TRIES if len(left) < before else tries - 1
            if not tries:
                why = f"the engine failed twice without doing a part: {error}".splitlines()[0]
                raise ChildProcessError(ECHILD, why) from error
    if failed is not None:
        raise failed


def _query(task: Task, parts: dict[int, list[FileSlice]], engine: Engine, workers: int) -> Iterator[dict[str, Any]]:
    """Have the engine do the parts; yield what the workers say."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import daft  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(f"jobs need the extra: pip install 'trimtab[batch]' ({error})") from error
    if engine == "ray":
        from .work import Worker  # noqa: PLC0415 - this process reads no session

        try:
            daft.set_runner_ray(noop_if_initialized=True)
        except ImportError as error:
            raise ImportError(f"the engine ray needs Ray: pip install 'daft[ray]' ({error})") from error
        worker = daft.cls(Worker, max_concurrency=workers)(task)
    else:
        with suppress(ValueError):  # this process has a runner already
            daft.set_runner_native()  # which else is Ray where one runs, and Ray is imported to see that, for 0.3 s
        # A worker beside the engine's threads in one process would wait for them.
        worker = daft.cls(Workers, use_process=False, max_concurrency=workers)(task, workers)
    table = {"part": [*parts], "units": [json.dumps(units) for units in parts.values()]}
    lazy = daft.from_pydict(table).into_batches(1)
    for row in lazy.select(worker(daft.col("part"), daft.col("units")).alias("said")).iter_rows():
        yield json.loads(row["said"])
