"""The job that deletes requests with API keys after fourteen days."""

from datetime import timedelta
from typing import Final

from almoner.access.keys import service
from almoner.platform.jobs.background_tasks import Tasks

tasks: Final = Tasks()
tasks.periodic(
    "keys.delete_requests",
    service.next_request_log_deletion_at,
    service.delete_expired_requests,
    every=timedelta(days=1),
)
