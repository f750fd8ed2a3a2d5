"""What can be read of events."""

from collections.abc import Sequence
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.paging import Page
from almoner.webhooks.events import store
from almoner.webhooks.events.domain import EventFilter, SequencedEvent


async def get(tx: Tx, partner: Partner, event_id: UUID) -> SequencedEvent:
    """One event that has its number. Raises NotFound."""
    if (event := await store.find(tx, partner, event_id)) is None:
        raise NotFound
    return event


async def list_page(tx: Tx, partner: Partner, page_: Page, filter_: EventFilter) -> tuple[list[SequencedEvent], int]:
    """One page of the events that a filter lets through, and their total."""
    return await store.list_page(tx, partner, page_, filter_)


async def last_sequence(tx: Tx, partner: Partner) -> int:
    """The number of the newest event, 0 where there is none."""
    return await store.last_sequence(tx, partner)


async def list_in_window(
    tx: Tx, partner: Partner, filter_: EventFilter, types: Sequence[str] | None, limit: int
) -> list[tuple[UUID, int, str]]:
    """(id, sequence, type) of at most ``limit`` events of a window, the oldest first; ``types`` None for all."""
    return await store.list_in_window(tx, partner, filter_, types, limit)
