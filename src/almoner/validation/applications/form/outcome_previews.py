"""Previews of the emails that applicants will receive about a decision, before it is made."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

from almoner.access.notifications import service as notifications
from almoner.access.notifications.service import EmailPreview
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.validation.agents import service as agents
from almoner.validation.applications.form import status_emails
from almoner.validation.applications.form.notifications import NotificationKind
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.decisions.appeals import service as appeals
from almoner.validation.decisions.reviews.domain import ReviewSubject


class _RolledBack(Exception):
    """Rolls back the previewed decision."""


async def preview_decision_emails(
    mails: MailRenderer,
    tx: Tx,
    subject: ReviewSubject,
    apply_decision: Callable[[], Awaitable[object]],
    kind: NotificationKind | None = None,
) -> Sequence[EmailPreview]:
    """Preview a decision's emails by applying it and rolling back.

    Their links do not work. ``kind``: the kind of email if evidence is requested instead of deciding. Raises what
    ``apply_decision`` raises.
    """
    found: list[EmailPreview] = []
    with suppress(_RolledBack):
        async with tx.savepoint():
            await apply_decision()
            for submission_id, planned in await _planned_emails(tx, subject, kind):
                email = await status_emails.build_status_email(tx, mails, submission_id, planned, "", tx.now)
                if email is not None:
                    shown = replace(email, facts={**email.facts, "link": f"{tx.base_urls.pages}/"})
                    brand = await notifications.find_email_brand(tx, mails, shown)
                    mail = notifications.render_email(mails, status_emails.TEMPLATE, shown, brand, tx.now)
                    found.append(EmailPreview(mail, email.language))
            raise _RolledBack
    return found


async def _planned_emails(
    tx: Tx, subject: ReviewSubject, kind: NotificationKind | None
) -> list[tuple[UUID, NotificationKind]]:
    """The IDs of the applications that would be emailed, and the kind of each email."""
    if kind is not None:
        return [(one, kind) for one in await submissions.list_open_submission_ids(tx, subject.kind, [subject.id])]
    match subject.kind:
        case "appeal":
            appeal = await appeals.get(tx, ALL_PARTNERS, subject.id)
            submission = await submissions.get(tx, ALL_PARTNERS, appeal.submission_id)
            told: list[tuple[UUID, NotificationKind]] = []
            if appeal.status != "open":
                told.append((submission.id, appeal.status))
            if appeal.completed_at is not None and submission.status != "pending":
                told.append((submission.id, submission.status))
            return told
        case "validation_request" | "agent_verification":
            if subject.kind == "validation_request":
                await agents.apply_validation_request_decisions(tx, [subject.id])
            answered = [
                await submissions.evaluate_submission(tx, submission_id)
                for submission_id in await submissions.list_open_submission_ids(tx, subject.kind, [subject.id])
            ]
            return [(one.id, one.status) for one in answered if one is not None and one.status != "pending"]
        case _:
            return []
