"""Cancels what runs too long, by checking all of it ten times a second: timers of their own cost more."""

import asyncio
from collections.abc import Awaitable
from math import inf
from time import monotonic
from typing import Any, Final, TypeVar

_Result = TypeVar("_Result")

_LOOK_SECONDS: Final = 0.1


class StatementTimeout(TimeoutError):
    """A statement took too long and was cancelled; its transaction is rolled back."""


class Deadlines:
    """The deadlines of tasks of one event loop."""

    def __init__(self, error: type[TimeoutError] = TimeoutError) -> None:
        """``error``: what ``run_with_timeout`` raises."""
        self._error = error
        self._ends: dict[asyncio.Task[Any], float] = {}
        self._overdue: dict[asyncio.Task[Any], int] = {}  # with the number of earlier cancellations
        self._looking = False

    async def run_with_timeout(self, work: Awaitable[_Result], seconds: float) -> _Result:
        """Await ``work``. Raises TimeoutError, or the given error, if it takes longer than ``seconds``."""
        task = asyncio.current_task()
        assert task is not None
        outer = self._ends.get(task)  # a COPY whose rows come from other statements
        self._ends[task] = monotonic() + seconds
        if not self._looking:
            self._cancel_overdue()
        try:
            return await work
        except BaseException as error:
            cancelled_before = self._overdue.pop(task, None)
            if cancelled_before is not None and task.uncancel() <= cancelled_before:
                raise self._error from error
            raise
        finally:
            if self._overdue.pop(task, None) is not None:
                task.uncancel()  # the work was done nevertheless
            if outer is None:
                del self._ends[task]
            else:
                self._ends[task] = outer

    def _cancel_overdue(self) -> None:
        now = monotonic()
        for task, end in self._ends.items():
            if end <= now:
                self._ends[task] = inf
                self._overdue[task] = task.cancelling()
                task.cancel()
        self._looking = bool(self._ends)
        if self._looking:
            asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._cancel_overdue)
