"""Background work of plans: what is due of them, and donors to be forgotten."""

from typing import Final

from almoner.giving.subscriptions.charging import service
from almoner.giving.subscriptions.donation_subscriptions import service as subscriptions
from almoner.platform.jobs.background_tasks import Tasks

tasks: Final = Tasks()

tasks.periodic(
    "donation_subscriptions.wake", service.next_due_at, service.wake, clock_waits_at=service.next_unfinished_at
)
tasks.periodic("donation_subscriptions.erase_donors", subscriptions.next_erasure_at, subscriptions.erase_donors)
