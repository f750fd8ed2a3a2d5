"""Having applicants written to: what happened to their application, and its link once more."""

from datetime import timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.platform.database.transactions import EVERYONE, Partner, Tx
from almoner.platform.jobs import queue
from almoner.validation.applications.form import drafts, store
from almoner.validation.applications.submission_documents import service as handed_in
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.applications.submissions.domain import standings

Kind = Literal[
    "received", "missing", "refused", "processed", "succeeded", "failed", "appealed", "upheld", "reversed", "link"
]
"""What a mail says. ``refused``: by the virus scanner, a document."""

TELL: Final = "applications.tell"

_LOOKS: Final = tuple(timedelta(hours=hours) for hours in (1, 6, 24, 72, 168, 336))
"""After a look that found nothing missing: what the registers say may come late, and so may what somebody refuses."""


async def tell(tx: Tx, submission_id: UUID, kind: Kind, *, after: timedelta | None = None, of: str = "") -> None:
    """Have a mail written to the applicant. ``of``: which one of several of its kind."""
    payload = {"submission": str(submission_id), "kind": kind, "of": of}
    due = None if after is None else tx.now + after
    await queue.enqueue(tx, TELL, payload, due=due, unique=f"{kind} {submission_id} {of}")


async def look_again(tx: Tx, submission_id: UUID, of: str) -> None:
    """Nothing was missing when that was looked at: look later, while the nonprofit is not decided about."""
    found = await submissions.get(tx, EVERYONE, submission_id)
    if found.status != "pending" or standings(found).get("validation_request") != "pending":
        return
    base, _, looks = of.partition("+")
    done = int(looks or 0)
    if done < len(_LOOKS):
        await tell(tx, submission_id, "missing", after=_LOOKS[done], of=f"{base}+{done + 1}")


async def mail_link(tx: Tx, submission_id: UUID) -> bool:
    """Mail the link of an application anew, to its applicant and nobody else; False where that was done enough.

    Raises NotFound.
    """
    held = await submissions.hold(tx, EVERYONE, submission_id)
    before = await store.links_mailed(tx, EVERYONE, held.id)
    if not drafts.may_mail_link(before, tx.wall):
        return False
    await store.save_links_mailed(tx, Partner(held.partner_id), held.id, drafts.link_mailed(before, tx.wall))
    await tell(tx, held.id, "link", of=str(tx.new_id()))
    return True


async def tell_of_document(tx: Tx, document_id: UUID) -> None:
    """The virus scanner has refused a document: who applies is to know, where it is an application's."""
    if (submission_id := await handed_in.submission_of(tx, document_id)) is not None:
        await tell(tx, submission_id, "refused", of=str(document_id))
