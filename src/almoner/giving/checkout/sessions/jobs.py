"""Background work of donation sessions: recording expiries that have passed (S4)."""

from typing import Final

from almoner.giving.checkout.sessions import service
from almoner.platform.jobs.background_tasks import Tasks

tasks: Final = Tasks()
tasks.periodic("sessions.expire", service.next_due_at, service.expire_due)
