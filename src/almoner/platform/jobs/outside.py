"""Frees a job's slot while it waits for an outside system."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

report_waiting: ContextVar[Callable[[bool], None] | None] = ContextVar("almoner_job_waits_outside", default=None)
"""Called when the job starts to wait (True) and when it continues (False)."""


@contextmanager
def free_job_slot_while_waiting() -> Iterator[None]:
    """Inside this block the job waits for an outside system, and its slot is free for another job."""
    report = report_waiting.get()
    if report is None:
        yield
        return
    report(True)
    try:
        yield
    finally:
        report(False)
