"""Background work of donation sessions: recording expiries that have passed (S4)."""

from typing import Final

from almoner.giving.checkout.sessions import service
from almoner.platform.jobs.background_tasks import TaskRegistry

tasks: Final = TaskRegistry()
tasks.add_periodic_job("sessions.expire", service.next_expiry_at, service.expire_due_sessions)
