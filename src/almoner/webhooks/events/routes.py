"""Endpoints that read events (settled 8)."""

from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Annotated
from uuid import UUID

from almoner.platform.events.waiters import EventLongPollWaiters, TooManyWaiting
from almoner.platform.http.caller import PERSONAL, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse, RequestedPage
from almoner.webhooks.events import service
from almoner.webhooks.events.schemas import EventResponse, EventsQuery, event_response

EventId = Annotated[UUID, PathId("event")]


def event_routes(waiters: EventLongPollWaiters) -> Routes:
    """The endpoints; ``waiters``: the calls that wait for the next event."""
    routes = Routes("Events")

    @routes.get("/v1/events", key=SECRET, scope="events:read", tx=None, errors=(TooManyWaiting,))
    async def list_events(call: ApiCall, query: EventsQuery) -> ListResponse[EventResponse]:
        """List events in the order of their sequence.

        The sequence has no gaps. Events are kept for 90 days: the list starts with the oldest stored event, and
        `totalResults` counts the stored events. With `after`, the list starts after that sequence, oldest first. If you
        also set `wait`, the response is delayed by up to this number of seconds until there is an event.
        """
        page, filter_ = _page_of(call, query), query.to_filter()
        personal = call.caller.has_scope(PERSONAL)
        until = monotonic() + (query.wait or 0)
        seen = first = query.after or 0
        start = page if page.position is not None or query.after is None else replace(page, position=(first,))
        while True:
            async with call.db.read() as tx:
                last = await service.load_last_event_sequence(tx, call.partner)
                found, total = await service.list_page(tx, call.partner, start, filter_)
                rows = [event for event in found if event.sequence > first]  # on the way back, too
                shown = call.list_response(
                    page,
                    rows,
                    total,
                    partial(event_response, tx, include_personal_data=personal),
                    lambda row: (row.sequence,),
                )
            seen, left = max(seen, last), until - monotonic()
            if rows or left <= 0 or not await waiters.wait_for_event(call.partner, seen, left):
                return shown

    @routes.get("/v1/events/{id}", key=SECRET, scope="events:read")
    async def get_event(call: ApiCall, id: EventId) -> EventResponse:
        """Retrieve an event."""
        found = await service.get(call.tx, call.partner, id)
        return event_response(call.tx, found, include_personal_data=call.caller.has_scope(PERSONAL))

    return routes


def _page_of(call: ApiCall, query: EventsQuery) -> RequestedPage:
    """The requested page; after a sequence number, oldest first."""
    page = call.requested_page(query)
    return page if query.after is None else replace(page, descending=False)
