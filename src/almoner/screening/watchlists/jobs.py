"""Lists that refresh themselves, and what follows when files of one are refused."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from almoner.access.operators import service as operators
from almoner.access.security_emails import service as security_emails
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs.background_tasks import Handler
from almoner.screening.watchlists import service
from almoner.screening.watchlists.domain import REFUSED, WatchlistLoadEvent
from almoner.screening.watchlists.refreshing import LIMITS as LIMITS
from almoner.screening.watchlists.refreshing import REFRESH, refresh_watchlist
from almoner.screening.watchlists.refreshing import WatchlistRefreshContext as WatchlistRefreshContext
from almoner.screening.watchlists.refreshing import schedules as schedules


async def on_load_refused(tx: Tx, events: Sequence[Event]) -> None:
    """Mail every administrator that a list was not replaced, and why."""
    administrators = await operators.list_administrators(tx)
    for event in events:
        reported = msgspec.convert(event.event_data(), WatchlistLoadEvent)
        load = await service.get_load(tx, reported.load)
        facts = {"Files": " ".join(file.name for file in load.files), "Why": "; ".join(load.reasons)}
        for person in administrators:
            await security_emails.enqueue_email(
                tx, person, "watchlist_refused", values={"source": reported.list}, facts=facts
            )


def handlers(parts: WatchlistRefreshContext) -> Mapping[str, Handler]:
    """The job."""
    return {REFRESH: partial(refresh_watchlist, parts)}


reactions: Final = (Reaction(REFUSED, on_load_refused),)
