"""Deletes failed attempts and challenges after a day."""

from datetime import timedelta
from typing import Final

from almoner.access.credentials.service import login_attempts
from almoner.platform.jobs.background_tasks import Tasks

tasks: Final = Tasks()
tasks.periodic(
    "credentials.delete_expired",
    login_attempts.next_deletion_at,
    login_attempts.delete_expired,
    every=timedelta(hours=1),
)
