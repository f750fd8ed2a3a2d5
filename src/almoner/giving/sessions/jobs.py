"""Background work of donation sessions: recording expiries that have passed (S4)."""

from typing import Final

from almoner.giving.sessions import service
from almoner.platform.background_tasks import Schedule

schedules: Final = (Schedule("sessions.expire", service.next_due, service.expire),)
