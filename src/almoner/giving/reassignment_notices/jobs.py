"""A gift was given to another nonprofit: a job tells its donor. It holds an id; what it sends is read when it runs."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.donations.domain import REASSIGNED
from almoner.giving.reassignment_notices import service
from almoner.platform import queue
from almoner.platform.db import Tx
from almoner.platform.mail import MailDelayed, MailRefused, MailTransport
from almoner.platform.outbox import Event, Reaction
from almoner.platform.pages.rendering import Pages
from almoner.platform.queue import Done, Drop, Job, NewJob, Result, Retry
from almoner.platform.work import Handler, Work

SEND: Final = "reassignment_notices.send"

_FIRST_WAIT: Final = timedelta(minutes=1)
_LONGEST_WAIT: Final = timedelta(hours=6)
_MOST_ATTEMPTS: Final = 16  # about three days


class _Reassigned(msgspec.Struct):
    """What is read of the event's donation."""

    id: str
    type: str


async def on_reassignment(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the mails: whoever gave on a page is told by us, the donors of a partner by the partner."""
    jobs = []
    for event in events:
        given = msgspec.convert(event.record(), _Reassigned)
        donation_id = tx.ids.parse("donation", given.id)
        if donation_id is not None and given.type == "hosted":
            jobs.append(NewJob(SEND, {"donation": str(donation_id)}, unique=str(donation_id)))
    await queue.enqueue_all(tx, jobs)


reactions: Final = (Reaction(REASSIGNED, on_reassignment),)


def handlers(pages: Pages, transport: MailTransport) -> Mapping[str, Handler]:
    """The job's handler, with the carrier of mails."""

    async def send(work: Work, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await service.compose(tx, pages, UUID(job.payload["donation"]), job.due_at)
        if mail is None:
            return Done()
        try:
            await transport.send(mail)
        except MailRefused as refused:
            return Drop(str(refused))
        except MailDelayed as delayed:
            return Retry(_wait(job.attempt), str(delayed)) if job.attempt < _MOST_ATTEMPTS else Drop(str(delayed))
        return Done()

    return {SEND: send}


def _wait(attempt: int) -> timedelta:
    """1 minute, doubled after each attempt, at most six hours."""
    return min(_FIRST_WAIT * (1 << (attempt - 1)), _LONGEST_WAIT)
