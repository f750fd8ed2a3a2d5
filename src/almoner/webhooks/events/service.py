"""Reads events."""

from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Partner, Tx
from almoner.webhooks.events import store
from almoner.webhooks.events.domain import SequencedEvent
from almoner.webhooks.events.store import list_event_summaries_in_window as list_event_summaries_in_window
from almoner.webhooks.events.store import list_page as list_page
from almoner.webhooks.events.store import load_last_event_sequence as load_last_event_sequence


async def get(tx: Tx, partner: Partner, event_id: UUID) -> SequencedEvent:
    """One numbered event. Raises NotFound."""
    if (event := await store.find(tx, partner, event_id)) is None:
        raise NotFound
    return event
