"""The job that deletes requests with API keys after fourteen days."""

from datetime import timedelta
from typing import Final

from almoner.access.keys import service
from almoner.platform.jobs.background_tasks import TaskRegistry

tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "keys.delete_requests",
    service.next_request_log_deletion_at,
    service.delete_expired_requests,
    period=timedelta(days=1),
)
