"""A donor has confirmed a bank transfer: a job mails its details. It holds an id; the rest is read when it runs."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.transfer_notices import service
from almoner.giving.transfers.domain import CONFIRMED, Confirmed, PayTo
from almoner.platform import queue
from almoner.platform.db import Tx
from almoner.platform.mail import MailDelayed, MailRefused, MailTransport
from almoner.platform.outbox import Event, Reaction
from almoner.platform.pages.rendering import Pages
from almoner.platform.queue import Done, Drop, Job, NewJob, Result, Retry
from almoner.platform.work import Handler, Work

SEND: Final = "transfer_notices.send"

_FIRST_WAIT: Final = timedelta(minutes=1)
_LONGEST_WAIT: Final = timedelta(hours=6)
_MOST_ATTEMPTS: Final = 16  # about three days


async def on_confirmed(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the mails."""
    told = [str(msgspec.convert(event.record(), Confirmed).donation) for event in events]
    await queue.enqueue_all(tx, [NewJob(SEND, {"donation": donation}, unique=donation) for donation in told])


reactions: Final = (Reaction(CONFIRMED, on_confirmed),)


def handlers(pages: Pages, transport: MailTransport, accounts: Mapping[str, PayTo]) -> Mapping[str, Handler]:
    """The job's handler, with the carrier of mails and our own accounts by currency."""

    async def send(work: Work, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await service.compose(tx, pages, accounts, UUID(job.payload["donation"]), job.due_at)
        if mail is None:
            return Done()
        try:
            await transport.send(mail)
        except MailRefused as refused:
            return Drop(str(refused))
        except MailDelayed as delayed:
            wait = min(_FIRST_WAIT * (1 << (job.attempt - 1)), _LONGEST_WAIT)
            return Retry(wait, str(delayed)) if job.attempt < _MOST_ATTEMPTS else Drop(str(delayed))
        return Done()

    return {SEND: send}
