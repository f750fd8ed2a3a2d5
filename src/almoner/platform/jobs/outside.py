"""Jobs that wait for somebody outside take no place from others, however long a mail server or provider takes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

report_waiting: ContextVar[Callable[[bool], None] | None] = ContextVar("almoner_job_waits_outside", default=None)
"""How the runner of this task's job hears that it begins to wait (True) or goes on (False)."""


@contextmanager
def waiting_outside() -> Iterator[None]:
    """Around a call to the outside: the place of the job is free for another one meanwhile."""
    report = report_waiting.get()
    if report is None:
        yield
        return
    report(True)
    try:
        yield
    finally:
        report(False)
