"""Endpoints that read events (settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.platform.http.caller import PERSONAL, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.webhooks.events import service
from almoner.webhooks.events.schemas import EventOut, EventsQuery, event_out

EventId = Annotated[UUID, PathId("event")]

routes = Routes("Events")


@routes.get("/v1/events", key=SECRET, scope="events:read")
async def list_events(call: ApiCall, query: EventsQuery) -> ListResponse[EventOut]:
    """List events in the order of their sequence, which has no gaps.

    Events are kept for 90 days: the list begins with the oldest that is left, and `totalResults` counts what is left.
    """
    page = call.requested_page(query)
    rows, total = await service.list_page(call.tx, call.partner, page, query.to_filter())
    personal = call.caller.has_scope(PERSONAL)
    return call.list_response(
        page, rows, total, lambda row: event_out(call.tx, row, personal=personal), lambda row: (row.sequence,)
    )


@routes.get("/v1/events/{id}", key=SECRET, scope="events:read")
async def get_event(call: ApiCall, id: EventId) -> EventOut:
    """Retrieve an event."""
    found = await service.get(call.tx, call.partner, id)
    return event_out(call.tx, found, personal=call.caller.has_scope(PERSONAL))
