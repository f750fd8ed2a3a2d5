"""The emails about an application, in its language: received, information missing, decisions, and appeals."""

from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.access.notifications.service import Email
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Tx
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages import formats
from almoner.validation.applications.form import status, status_views
from almoner.validation.applications.form.notifications import NotificationKind
from almoner.validation.applications.form.status_views import ApplicationStatus
from almoner.validation.applications.form.submit import build_status_page_url
from almoner.validation.applications.submissions import service as submissions

TEMPLATE: Final = "application.html"


async def build_status_email(
    tx: Tx, mails: MailRenderer, submission_id: UUID, kind: NotificationKind, dedupe_key: str, emailed_at: datetime
) -> Email | None:
    """One email; None if there is no address, or if its content is no longer true."""
    try:
        known = await status_views.load_application_status(tx, submission_id)
    except NotFound:
        return None
    submission, applicant = known.submission, known.submission.applicant
    if applicant.email is None or not _still_applies(known, kind):
        return None
    corrected = await submissions.find_email_correction_time(tx, submission_id)
    if corrected is not None:
        if kind == "received" and dedupe_key != str(submission.agent_verification_id):
            return None  # the corrected verification has its own email
        emailed_at = max(
            emailed_at, corrected
        )  # an email due earlier goes to the corrected address, whose link is valid only from the correction on
    locale = mails.language_for_tag(known.language).locale
    facts = {
        "partner": known.partner_name,
        "organisation": submission.organisation_name,
        "kind": kind,
        "name": formats.greeting_name(applicant.first_name or "", applicant.last_name or "", locale),
        "missing": known.missing_requirements if kind == "missing" else [],
        "reasons": status.failure_reason_text_keys(submission) if kind == "failed" else [],
        "due": known.appeal.due_at if known.appeal is not None and kind == "appealed" else None,
        "link": build_status_page_url(tx, submission_id, emailed_at),
    }
    return Email(
        applicant.email,
        f"application:{submission_id}:{kind}:{dedupe_key}",
        facts,
        known.language,
        submission.partner_id,
        known.partner_name,
        emailed_at,
    )


def _still_applies(application_status: ApplicationStatus, kind: NotificationKind) -> bool:
    """Whether the email's content is still true. An unconfirmed address alone is no reason: it has its own email."""
    match kind:
        case "missing":
            return any(
                one.source == "applicant" and one.code != "confirmation"
                for one in application_status.missing_requirements
            )
        case "refused":
            return bool(status.list_checks_accepting_documents(application_status.submission))
        case "processed" | "succeeded" | "failed":
            return application_status.submission.status == kind
        case "reversed":
            return application_status.state == "reversed"
        case _:
            return True
