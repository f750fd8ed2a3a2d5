"""Background work of validation invites: recording expiries that have passed."""

from typing import Final

from almoner.platform.jobs.background_tasks import Schedule
from almoner.validation.applications.invites import service

schedules: Final = (Schedule("validation_invites.expire", service.next_expiry_at, service.record_expiries),)
