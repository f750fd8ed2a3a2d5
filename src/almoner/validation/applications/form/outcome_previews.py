"""Previews of the emails that applicants will receive about a decision, before it is made."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final
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

_MOST_PREVIEWED: Final = 10
"""The maximum number of applications whose emails are previewed. A validation request can have many."""


class _RolledBack(Exception):
    """Rolls back the previewed decision."""


@dataclass(frozen=True, slots=True)
class DecisionEmailPreviews:
    """The emails of a decision. ``unpreviewed_application_count``: the number of applications not previewed."""

    emails: Sequence[EmailPreview]
    unpreviewed_application_count: int


async def preview_decision_emails(
    mails: MailRenderer,
    tx: Tx,
    subject: ReviewSubject,
    apply_decision: Callable[[], Awaitable[object]],
    notification_kind: NotificationKind | None = None,
) -> DecisionEmailPreviews:
    """Preview a decision's emails by applying it and rolling back.

    Their links do not work. ``notification_kind``: the kind of email if evidence is requested instead of deciding.
    Raises what ``apply_decision`` raises.
    """
    found: list[EmailPreview] = []
    submission_ids, more = await _previewed_submissions(tx, subject, notification_kind)
    with suppress(_RolledBack):
        async with tx.savepoint():
            await apply_decision()
            for submission_id, planned in await _planned_emails(tx, subject, notification_kind, submission_ids):
                email = await status_emails.build_status_email(tx, mails, submission_id, planned, "", tx.now)
                if email is not None:
                    shown = replace(email, template_values={**email.template_values, "link": f"{tx.base_urls.pages}/"})
                    brand = await notifications.load_email_brand(tx, mails, shown)
                    mail = notifications.render_email(mails, status_emails.TEMPLATE, shown, brand, tx.now)
                    found.append(EmailPreview(mail, email.language))
            raise _RolledBack
    return DecisionEmailPreviews(found, more)


async def _previewed_submissions(
    tx: Tx, subject: ReviewSubject, kind: NotificationKind | None
) -> tuple[list[UUID], int]:
    """The applications whose emails are previewed, and the number of others, before the decision."""
    if subject.kind not in ("validation_request", "agent_verification"):
        return [], 0
    if kind is None:
        found = await submissions.list_open_submission_ids(tx, subject.kind, [subject.id])
    else:
        to_ask = await submissions.list_submissions_to_ask_for_evidence(
            tx, subject.kind, subject.id, submissions.MAX_ASKED
        )
        found = to_ask.submission_ids
    return found[:_MOST_PREVIEWED], len(found[_MOST_PREVIEWED:])


async def _planned_emails(
    tx: Tx, subject: ReviewSubject, kind: NotificationKind | None, submission_ids: Sequence[UUID]
) -> list[tuple[UUID, NotificationKind]]:
    """The IDs of the applications that would be emailed, and the kind of each email."""
    if kind is not None:
        return [(one, kind) for one in submission_ids]
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
                waiting = [await submissions.get(tx, ALL_PARTNERS, one) for one in submission_ids]
                applicants = [one.agent_verification_id for one in waiting if one.agent_verification_id is not None]
                await agents.apply_validation_request_decisions(tx, [subject.id], applicants)
            answered = [await submissions.evaluate_submission(tx, one) for one in submission_ids]
            return [(one.id, one.status) for one in answered if one is not None and one.status != "pending"]
        case _:
            return []
