"""Asks all periodic jobs at once when each is next due: one statement instead of one for each job."""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, cast

from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.background_tasks import Schedule

_PARAMETER: Final = re.compile(r"\$(\d+)")


@dataclass(frozen=True, slots=True)
class DueTimes:
    """When the records of periodic jobs are next due, by name, without regard to periods; read at ``now``."""

    now: datetime
    due_times_by_name: Mapping[str, datetime | None]

    def is_due(self, schedule: Schedule, *, requested: bool) -> bool:
        """Whether a job is due; one that an operator requested does not wait for the end of its period."""
        due = self.due_times_by_name[schedule.name] if requested else self.due_at(schedule)
        return due is not None and due <= self.now

    def due_at(self, schedule: Schedule) -> datetime | None:
        """When a job is next due, at the end of its period if it has one."""
        return schedule.round_up_to_period_end(self.due_times_by_name[schedule.name], self.now)


@dataclass(frozen=True, slots=True)
class _Query:
    """A query that a job's ``find_next_due`` waits for."""

    method: Literal["fetchval", "fetchrow", "fetch"]
    sql: str
    args: tuple[object, ...]

    def __await__(self) -> "Generator[_Query, Any, Any]":
        return (yield self)

    async def run(self, tx: Tx) -> Any:
        return await getattr(tx, self.method)(self.sql, *self.args)


class QueryCollector(Tx):
    """A transaction whose queries are not run, but returned to ``_NextDue``, which continues with their results."""

    __slots__ = ()

    def __init__(self, tx: Tx) -> None:
        super().__init__(cast("Any", None), tx.deployment, "read")
        self.now, self.real_now = tx.now, tx.real_now

    async def fetchval(self, sql: str, *args: object) -> Any:
        """One value."""
        return await _Query("fetchval", sql, args)

    async def fetchrow(self, sql: str, *args: object) -> Any:
        """One row."""
        return await _Query("fetchrow", sql, args)

    async def fetch(self, sql: str, *args: object) -> Any:
        """All rows."""
        return await _Query("fetch", sql, args)


class _NextDue:
    """One job's ``find_next_due``, from query to query."""

    def __init__(self, schedule: Schedule, collector: Tx) -> None:
        self.name = schedule.name
        self.moment: datetime | None = None
        self.query: _Query | None = None
        self._steps: Generator[Any, Any, datetime | None] = schedule.find_next_due(collector).__await__()
        self.proceed(None)

    def proceed(self, answer: object) -> None:
        """Continue with the answer, to the next query or to the end."""
        self.query = None
        try:
            query = self._steps.send(answer)
        except StopIteration as end:
            self.moment = end.value
            return
        if not isinstance(query, _Query):
            raise TypeError(f"{self.name}: when it is due is read from the database, and waits for nothing else")
        self.query = query


async def read_due_times(tx: Tx, schedules: Sequence[Schedule]) -> DueTimes:
    """When each job's records are next due. The first query of each job is part of one statement for all."""
    collector = QueryCollector(tx)
    asked = [_NextDue(schedule, collector) for schedule in schedules]
    await _answer_together(tx, [(one, one.query) for one in asked if one.query and one.query.method == "fetchval"])
    for one in asked:
        while one.query is not None:
            one.proceed(await one.query.run(tx))
    return DueTimes(tx.now, {one.name: one.moment for one in asked})


async def _answer_together(tx: Tx, asked: Sequence[tuple[_NextDue, _Query]]) -> None:
    columns: list[str] = []
    args: list[object] = []
    for _, query in asked:
        columns.append(f"({_renumbered(query.sql, len(args))}\n)")
        args += query.args
    row = await tx.fetchrow(f"select {', '.join(columns)}", *args) if asked else None
    for (one, _), answer in zip(asked, row or (), strict=True):
        one.proceed(answer)


def _renumbered(sql: str, before: int) -> str:
    return _PARAMETER.sub(lambda found: f"${int(found[1]) + before}", sql)
