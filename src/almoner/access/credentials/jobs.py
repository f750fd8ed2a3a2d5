"""Deletes failed attempts and challenges after a day."""

from datetime import timedelta
from typing import Final

from almoner.access.credentials.service import login_attempts
from almoner.platform.jobs.background_tasks import TaskRegistry

tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "credentials.delete_expired",
    login_attempts.next_login_attempt_deletion_at,
    login_attempts.delete_expired_attempts_and_challenges,
    period=timedelta(hours=1),
)
