"""Frees a job's slot while it waits for an outside system."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

report_waiting: ContextVar[Callable[[bool], None] | None] = ContextVar("almoner_job_waits_outside", default=None)
"""How the runner of this task's job hears that it begins to wait (True) or goes on (False)."""


@contextmanager
def waiting_outside() -> Iterator[None]:
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
