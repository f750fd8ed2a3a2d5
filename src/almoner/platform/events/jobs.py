"""Background work of events: count blocks, and delete expired events."""

from datetime import timedelta
from typing import Final

from almoner.platform.events import event_blocks, outbox
from almoner.platform.jobs.background_tasks import TaskRegistry

tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "event_blocks.build",
    event_blocks.next_sequence_block_count_due_at,
    event_blocks.store_event_counts_of_full_sequence_blocks,
)
tasks.add_periodic_job(
    "outbox.purge", outbox.next_event_purge_at, outbox.purge_expired_events, period=timedelta(days=1)
)
