"""Background work of validation invites: recording expiries that have passed."""

from typing import Final

from almoner.platform.jobs.background_tasks import Tasks
from almoner.validation.applications.invites import service

tasks: Final = Tasks()
tasks.periodic("validation_invites.expire", service.next_expiry_at, service.record_expiries)
