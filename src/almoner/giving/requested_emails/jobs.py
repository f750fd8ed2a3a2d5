"""Deletes records of requested emails after a day."""

from typing import Final

from almoner.giving.requested_emails import service
from almoner.platform.jobs.background_tasks import TaskRegistry

tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "requested_emails.delete_expired", service.next_request_deletion_at, service.delete_expired_requests
)
