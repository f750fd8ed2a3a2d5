"""Say what happens after a decision on a review case, from the facts of its records."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from babel import Locale

from almoner.access.notifications.service import EmailPreview
from almoner.giving.disbursing.verifications import service as verifications
from almoner.kit.language import primary_language_of_tag
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.screening.screenings import service as screenings
from almoner.validation.agents import service as agents
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.decisions.reviews.domain import Kind, ReviewSubject, Verdict
from almoner.validation.requests import service as validation_requests

_ENGLISH: Final = Locale("en")
_FALLBACK: Final = "en"
"""The language of emails for which there are no texts in the requested language."""
_EFFECTS: Final[Mapping[tuple[Kind, Verdict], str]] = {
    ("match", "accepted"): (
        "The match is confirmed. The record is flagged with the category of the watchlist until the decision is "
        "reversed."
    ),
    ("match", "rejected"): "The match no longer flags the record, unless the record or the watchlist entry changes.",
    ("screening", "accepted"): (
        "The record is marked as clear. Before you confirm, search every imported watchlist for the names in the "
        "record."
    ),
    ("screening", "rejected"): "The record is flagged with the category that you choose.",
    ("appeal", "accepted"): (
        "All failed checks of this application are reversed. The nonprofit is accepted and the applicant is approved."
    ),
    ("appeal", "rejected"): (
        "The application stays rejected. The applicant is told that the decision was upheld. The email does not name "
        "the reason that you choose."
    ),
}


async def describe_decision_effects(tx: Tx, subject: ReviewSubject, verdict: Verdict, partner_name: str) -> list[str]:
    """What the decision does to the record, and to what waits for it. ``partner_name``: the name of the partner."""
    match subject.kind:
        case "validation_request":
            return [await _request_effect(tx, subject.id, verdict, partner_name), *await _waiting(tx, subject, verdict)]
        case "agent_verification":
            found = await agents.get(tx, ALL_PARTNERS, subject.id)
            effect = "The applicant is rejected for the reason that you choose."
            if verdict == "accepted":
                unconfirmed = f"once they confirm their email address {found.email}"
                effect = f"The applicant is approved {unconfirmed if found.is_email_unconfirmed else 'immediately'}."
            return [effect, *await _waiting(tx, subject, verdict)]
        case "match":
            return [_EFFECTS["match", verdict], *await _match_effects(tx, subject.id, verdict)]
        case kind:
            return [_EFFECTS[kind, verdict]]


async def _request_effect(tx: Tx, request_id: UUID, verdict: Verdict, partner: str) -> str:
    request = await validation_requests.get(tx, ALL_PARTNERS, request_id)
    scope = Partner(request.partner_id)
    found = await organisations.find_by_number_key(tx, scope, request.registry_id, request.number_key)
    if verdict == "rejected":
        return "The request is rejected for the reason that you choose. No organisation is created."
    if found is None:
        return (
            f"A new organisation is created from the details in the request. Only {partner} can see the new "
            "organisation."
        )
    return (
        f"The request is linked to the organisation {found.effective_display_name}, which already exists. "
        "No new organisation is created."
    )


async def _waiting(tx: Tx, subject: ReviewSubject, verdict: Verdict) -> list[str]:
    """What happens to the applications and applicants that wait for this check."""
    applications = len(await submissions.list_open_submission_ids(tx, subject.kind, [subject.id]))
    applicants = (
        len(await agents.list_open_verification_ids(tx, [subject.id])) if subject.kind == "validation_request" else 0
    )
    waiting = [
        f"{count} {one if count == 1 else f'{one}s'}"
        for count, one in ((applications, "application"), (applicants, "applicant"))
        if count
    ]
    accepted = "Continues with the next check after this decision"
    what = accepted if verdict == "accepted" else "Also rejected"
    return [f"{what}: {' and '.join(waiting)}."] if waiting else []


async def _match_effects(tx: Tx, match_id: UUID, verdict: Verdict) -> list[str]:
    """What a decision on a match means for payments to the nonprofit."""
    match = await screenings.find_match(tx, match_id)
    if match is None or match.subject.type != "organisation":
        return []
    count = len(await verifications.list_pending_and_approved_verification_ids(tx, [match.subject.id]))
    if not count:
        return ["The nonprofit has no verification, so no payments to it depend on this match."]
    which = "The verification of this nonprofit" if count == 1 else f"The {count} verifications of this nonprofit"
    if verdict == "rejected":
        others = [one for one in await screenings.list_matches(tx, match.screening_subject_id) if one.awaiting_review]
        if left := len([one for one in others if one.id != match.id]):
            return [f"{which} still cannot be approved: {left} more matches of the nonprofit must be decided."]
        return [f"{which} can be approved. Flags that have already been raised stay until two reviewers clear them."]
    if match.category in verifications.BLOCKING_CATEGORIES:
        return [
            f"{which} cannot be approved. If it was already approved, a flag blocks disbursements to the nonprofit."
        ]
    return [
        (
            f"{which} must be decided by a reviewer. If it was already approved, a flag blocks disbursements to the "
            "nonprofit."
        )
    ]


def describe_email_recipients(previews: Sequence[EmailPreview], unshown_application_count: int = 0) -> list[str]:
    """Who is emailed about the decision, in which language, and why in this one.

    ``unshown_application_count``: the number of applications that are not shown.
    """
    if unshown_application_count:
        words = (
            "1 more application is"
            if unshown_application_count == 1
            else f"{unshown_application_count:,} more applications are"
        )
        return [*describe_email_recipients(previews), f"{words} affected. Emails about them are not shown here."]
    if not previews:
        return ["We do not send an email about this decision now."]
    recipients = [f"{one.mail.to} in {_language_name(one.mail.language)}" for one in previews]
    why = [_language_reason(one) for one in previews]
    return list(
        dict.fromkeys([f"We send an email to {' and to '.join(dict.fromkeys(recipients))}.", *filter(None, why)])
    )


def _language_reason(preview: EmailPreview) -> str:
    """Why an email is in another language than the application, or in English."""
    sent, requested = _language_name(preview.mail.language), _language_name(preview.requested_language or _FALLBACK)
    if requested != sent:
        return (
            f"The language of the application is {requested}. Almoner has no texts in {requested}, so the email is in "
            f"{sent}."
        )
    return f"The language of the application is {sent}." if sent == _language_name(_FALLBACK) else ""


def _language_name(tag: str) -> str:
    """The English name of a language, without its region; the tag itself for languages that CLDR does not name."""
    return str(_ENGLISH.languages.get(primary_language_of_tag(tag), tag))
