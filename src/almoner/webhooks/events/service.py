"""What can be read of events."""

from collections.abc import Sequence
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.paging import Page
from almoner.webhooks.events import store
from almoner.webhooks.events.domain import Filter, NumberedEvent


async def get(tx: Tx, partner: Partner, event_id: UUID) -> NumberedEvent:
    """One event that has its number. Raises NotFound."""
    if (event := await store.find(tx, partner, event_id)) is None:
        raise NotFound
    return event


async def page(tx: Tx, partner: Partner, page_: Page, filter_: Filter) -> tuple[list[NumberedEvent], int]:
    """One page of the events that a filter lets through, and their total."""
    return await store.page(tx, partner, page_, filter_)


async def within(
    tx: Tx, partner: Partner, filter_: Filter, types: Sequence[str] | None, limit: int
) -> list[tuple[UUID, int, str]]:
    """(id, sequence, type) of at most ``limit`` events of a window, the oldest first; ``types`` None for all."""
    return await store.within(tx, partner, filter_, types, limit)
