"""Background work of events: count blocks, and delete expired events."""

from datetime import timedelta
from typing import Final

from almoner.platform.events import event_blocks, outbox
from almoner.platform.jobs.background_tasks import Tasks

tasks: Final = Tasks()
tasks.periodic("event_blocks.build", event_blocks.next_build_at, event_blocks.build_blocks)
tasks.periodic("outbox.purge", outbox.next_purge_at, outbox.purge_expired_events, every=timedelta(days=1))
