"""A worker: it reads, answers and writes a part's rows, whatever is wrong with one of them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache, cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ... import _core
from ...counting.counter import Counter, scan
from ...formats import CORE_LOGS, AgentLog
from ...formats._records import Records
from ...models.model import Model
from ...validity.validate import Rules, rules_of
from ..arrow import said
from .inputs import SMALL, FileSlice, shown
from .rows import AT_ONCE, BYTES_AT_ONCE, rows_of
from .tables import PartFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...ledger.columns import Ledger
    from ...messages.types import Transcript
    from .rows import InputRow
    from .task import Task

UNCHANGED = ("count", "validate")
"""The verbs that need no messages, only what they cost."""

WHOLE = ("whole", "undecided")
"""Kinds of units that may be a log each."""


class Worker:
    """Does a part after the other; what is slow to make is made once."""

    def __init__(self, task: Task) -> None:
        """Take the task; a worker is one core: the engine runs as many as there shall be."""
        os.environ.setdefault("TRIMTAB_THREADS", "1")
        with suppress(OSError):  # a machine that has no such folder still has the files that are named in full
            os.chdir(task.start)  # a worker of a cluster is started where the cluster was
        self._task = task
        self._model = Model.named(task.model) if task.model else None  # a name is looked up once, not for each row
        self._counter, self._rules = cache(Counter.for_model), cache(_rules)
        targets = said.parted(task.options)
        self._compacted = said.compacting(self._model, *targets) if task.verb == "compact" else None
        self._shortened = said.truncating(task.model, **task.options) if task.verb == "truncate" else None

    def __call__(self, part: int, units: str) -> str:
        """Do a part, and return what became of it as JSON; an error of the output is said there, too."""
        task = self._task
        try:
            with PartFiles(task.verb, Path(task.work), Path(task.folder), part) as files:
                self._add_all(files, [FileSlice(*unit) for unit in json.loads(units)])
                files.finish()
                done = {"rows": files.rows, "bad": files.bad, "places": files.places, "tokens": files.tokens}
        except OSError as error:
            return json.dumps({"part": part, "error": [error.errno, error.strerror, error.filename]})
        return json.dumps({"part": part, **done})

    def _add_all(self, files: PartFiles, units: Sequence[FileSlice]) -> None:
        """Add the rows of a part's units: logs of which nothing more has to be said together, others one by one."""
        at = 0
        while at < len(units):
            some = self._logs_of(units[at : at + AT_ONCE])
            if some and self._logs and self._model:
                added = files.add_logs(some, self._logs, self._model.name)
                at += added
                if added == len(some):
                    continue
            for row in rows_of(units[at], self._task.column, texts=self._task.verb == "truncate"):
                self._add(files, row)
            at += 1

    def _logs_of(self, units: Iterable[FileSlice]) -> list[FileSlice]:
        """Return the first units that may be logs for the core to count; none of a verb that needs messages."""
        some: list[FileSlice] = []
        held = 0
        for unit in units if self._logs else ():
            if unit.kind not in WHOLE or unit.size > SMALL or held > BYTES_AT_ONCE:
                break
            some.append(unit)
            held += unit.size
        return some

    @cached_property
    def _logs(self) -> _core.Logs | None:
        """What the core counts without a look by Python; None where a row may say more than the core knows."""
        task = self._task
        if task.verb not in UNCHANGED or self._model is None or task.format not in (None, *CORE_LOGS):
            return None
        judge = self._rules(task.model, task.options.get("in_flight", False))
        rules = [(name, Rules().of(name), judge.of(name)) for name in CORE_LOGS.values()]
        return _core.Logs(self._own_counter, task.format, rules)

    def _add(self, files: PartFiles, row: InputRow) -> None:
        """Answer a row, and add the answer or why there is none."""
        row = row._replace(path=shown(row.path))
        place = {"path": row.path, "row": row.row}
        ledger: Ledger | None = None
        answer: dict[str, Any] = {}
        try:
            if row.error is not None:
                raise ValueError(row.error)  # noqa: TRY301
            if row.value is not None:
                answer, ledger = self._answer(files, row)
        except (MemoryError, OSError):
            raise  # no fault of this row
        except Exception as error:  # noqa: BLE001 - rows are independent: whatever a row raises is its own
            answer = {"error": str(error) or type(error).__name__}
            files.spoil({**place, **_first_place(row), "reason": _first_line(answer["error"]), "is_read": False})
        texts = sum(len(value) for value in answer.values() if isinstance(value, str))
        files.add({**place, **answer}, ledger, _size(row.value) + texts)

    def _answer(self, files: PartFiles, row: InputRow) -> tuple[dict[str, Any], Ledger | None]:
        """Return what is said of a row, and its tokens by block."""
        task = self._task
        if self._shortened:
            if not isinstance(row.value, bytes):
                raise ValueError("a list, no text")
            return self._shortened(row.value), None
        in_flight = task.options.get("in_flight", False)
        found, ledger, is_log = self._read(row)
        answer = said.described(found, self._model)
        if is_log and ledger is not None and not ledger.surrogates():
            rules = self._rules(task.model or found.model, in_flight)
            answer |= {"messages": len(ledger), **said.judged(ledger, rules)}
        else:
            answer |= said.validated(found, self._model, in_flight=in_flight)
        answer |= self._changed(found)
        for place in found.skipped:
            files.spoil({"path": row.path, "row": row.row, **_place(row, place.line, place.offset), **_why(place)})
        return answer, ledger

    def _read(self, row: InputRow) -> tuple[Transcript, Ledger | None, bool]:
        """Return a row's session, its tokens by block, and whether the core read it as a log.

        There are no messages where nothing needs them.
        """
        task, log = self._task, row.log
        if isinstance(row.value, bytes) and (log is None or task.format not in (None, log.found.format)):
            log = AgentLog.of(row.value, task.format)
        if log and (counter := self._counter_of(log.found)):
            ledger = log.ledger(counter)
            if ledger is not None:
                is_whole = len(ledger) == log.messages
                return (log.found if task.verb in UNCHANGED else log.read(is_accepted=is_whole)), ledger, True
        found = log.read() if log else said.transcript_of(row.value or b"", task.format)
        return found, self._ledger(found), log is not None

    def _counter_of(self, found: Transcript) -> Counter | None:
        """Return what counts a session; None where no model is known and the verb needs none.

        Raises:
            ValueError: the verb needs a model.
        """
        if not (self._model or found.model) and self._task.verb != "count":
            return None
        if self._model is None:
            return self._counter(said.model_of(found, None))
        return self._own_counter

    @cached_property
    def _own_counter(self) -> Counter:
        """The named model's counter: to look it up takes a hash of all of the model."""
        return Counter.for_model(cast("Model", self._model))

    def _ledger(self, found: Transcript) -> Ledger | None:
        """Return a session's tokens; None where nothing counts them."""
        counter = self._counter_of(found)
        return None if counter is None else scan(found.messages, counter, found.provider)

    def _changed(self, found: Transcript) -> dict[str, Any]:
        """Return the session as the verb changes it."""
        task = self._task
        if self._compacted:
            return self._compacted(found)
        if task.verb == "repair":
            return said.repaired(found, self._model, in_flight=task.options.get("in_flight", False))
        return {}


def _rules(model: str | None, in_flight: bool) -> Rules:  # noqa: FBT001 - cached
    return rules_of({"model": model, "in_flight": in_flight})


def _first_place(row: InputRow) -> dict[str, int | None]:
    """Return the first place of a row's text that cannot be read; the row's own where its text has none."""
    if isinstance(row.value, bytes):
        records = Records(BytesIO(row.value))
        for _ in records:
            pass
        for place in records.skipped:
            return _place(row, place.line, place.offset)
    return {"line": row.line, "offset": row.offset}


def _place(row: InputRow, line: int, offset: int) -> dict[str, int | None]:
    """Return a place in a row's text as one in its file; in a table it is one in the text."""
    return {"line": (row.line or 1) - 1 + line, "offset": (row.offset or 0) + offset}


def _first_line(text: str) -> str:
    """Return an error without its hint."""
    return text.partition("\n")[0]


def _why(place: Any) -> dict[str, Any]:
    return {"reason": place.reason, "is_read": place.is_read}


def _size(value: bytes | list[Any] | None) -> int:
    """Return about how many bytes a row holds."""
    return len(value) if isinstance(value, bytes) else 1 << 16
