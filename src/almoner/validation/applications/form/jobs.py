"""Background work of applications: mails to who fills one in and who sent it, and forgetting what was never sent."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, cast, get_args
from uuid import UUID

import msgspec

from almoner.platform.database.transactions import EVERYONE, Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs.background_tasks import Handler, Schedule, Work
from almoner.platform.jobs.queue import Drop, Job, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.pages.rendering import Pages
from almoner.validation.applications.documents import domain as documents
from almoner.validation.applications.form import emails, letters, notifications, service, store
from almoner.validation.applications.form.notifications import TELL, Kind, tell
from almoner.validation.applications.submissions import domain as submissions
from almoner.validation.decisions.appeals import domain as appeals

_FIRST_LOOK: Final = timedelta(minutes=10)
"""By then the registers have said what they know, as a rule; where they have not, it is looked at again later."""
_OF_APPEALS: Final[Mapping[submissions.AppealStatus, Kind]] = {
    "open": "appealed",
    "upheld": "upheld",
    "reversed": "reversed",
}


async def on_created(tx: Tx, events: Sequence[Event]) -> None:
    """Applications came in; what was answered in the form of an invite is of no more use, whoever applied with it."""
    for event in events:
        made: Any = event.record()
        if invite_id := tx.ids.parse("validationinvite", made["validationInviteId"] or ""):
            await store.forget(tx, EVERYONE, invite_id)
        if submission_id := tx.ids.parse("validationsubmission", made["id"]):
            await tell(tx, submission_id, "received")
            await tell(tx, submission_id, "missing", after=_FIRST_LOOK)


async def on_answers(tx: Tx, events: Sequence[Event]) -> None:
    """All checks of applications have ended."""
    for event in events:
        told = msgspec.convert(event.record(), submissions.Answered)
        if told.status != "pending":
            await tell(tx, told.submission, told.status, of=str(told.id))


async def on_appeals(tx: Tx, events: Sequence[Event]) -> None:
    """Appeals were made or decided."""
    for event in events:
        told = msgspec.convert(event.record(), appeals.AppealChanged)
        await tell(tx, told.submission, _OF_APPEALS[told.status], of=str(told.appeal))


async def on_scans(tx: Tx, events: Sequence[Event]) -> None:
    """Documents were scanned."""
    for event in events:
        told = msgspec.convert(event.record(), documents.DocumentScanned)
        if not told.clean:
            await notifications.tell_of_document(tx, told.document)


reactions: Final = (
    Reaction(submissions.CREATED, on_created),
    Reaction(submissions.ANSWERED, on_answers),
    Reaction(appeals.CHANGED, on_appeals),
    Reaction(documents.SCANNED, on_scans),
)
schedules: Final = (
    Schedule("applications.forget_drafts", service.next_forgotten, service.forget, every=timedelta(hours=1)),
)


def handlers(pages: Pages, transport: MailTransport) -> Mapping[str, Handler]:
    """The jobs' handlers, with the mails' templates (``service.MAILS``) and who carries them."""

    async def hand_over(work: Work, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await emails.handover(tx, pages, UUID(job.payload["handover"]), job.due_at)
        return await mailing.carry(transport, mail, job)

    async def write(work: Work, job: Job) -> Result:
        said = job.payload
        if (kind := said["kind"]) not in get_args(Kind):
            return Drop(f"there is no mail that says {kind}")
        async with work.db.read() as tx:
            mail = await letters.write(tx, pages, UUID(said["submission"]), cast("Kind", kind), said["of"], job.due_at)
        if mail is None and kind == "missing":
            async with work.db.write() as tx:
                await notifications.look_again(tx, UUID(said["submission"]), said["of"])
        return await mailing.carry(transport, mail, job)

    return {service.HAND_OVER: hand_over, TELL: write}
