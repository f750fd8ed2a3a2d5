"""Background work of validation invites: recording expiries that have passed."""

from typing import Final

from almoner.platform.jobs.background_tasks import TaskRegistry
from almoner.validation.applications.invites import service

tasks: Final = TaskRegistry()
tasks.add_periodic_job("validation_invites.expire", service.next_expiry_at, service.expire_overdue_invites)
