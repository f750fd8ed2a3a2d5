"""The emails about agents, in the agent's language: to the applicant, and to the nonprofit."""

from typing import Final
from uuid import UUID

from almoner.access.notifications.service import Email
from almoner.access.partners import service as partners
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.jobs.queue import DecodedJob
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages import formats
from almoner.validation.agents import agent_review, email_confirmation
from almoner.validation.agents.agent_review import SendRepresentationRequestJob
from almoner.validation.agents.domain import AgentVerification
from almoner.validation.agents.email_confirmation import SendConfirmationJob

CONFIRM: Final = "confirm"
ANSWER: Final = "answer"
"""Purposes of the tokens in the links, and the paths of the pages that they open."""


async def compose_confirmation_email(tx: Tx, mails: MailRenderer, job: DecodedJob[SendConfirmationJob]) -> Email | None:
    """The email with link and code; None if there is nothing to confirm."""
    confirmation_id = job.details.confirmation
    verification = await email_confirmation.find_unconfirmed_verification(tx, confirmation_id)
    if verification is None or verification.email is None or verification.expires_at is None:
        return None
    locale = mails.language_for_tag(verification.display_language).locale
    partner = await get_partner_name(tx, verification)
    facts = {
        "partner": partner,
        "organisation": verification.nonprofit_name,
        "name": formats.greeting_name(verification.first_name or "", verification.last_name or "", locale),
        "code": email_confirmation.derive_confirmation_code(tx, confirmation_id),
        "until": verification.expires_at,
        "link": _link(tx, CONFIRM, verification.id),
    }
    return Email(
        verification.email,
        f"agent:{confirmation_id}",
        facts,
        verification.display_language,
        verification.partner_id,
        partner,
    )


async def compose_representation_request_email(
    tx: Tx, mails: MailRenderer, job: DecodedJob[SendRepresentationRequestJob]
) -> Email | None:
    """The request to the nonprofit; None if no answer is needed any more."""
    verification, asked = await agent_review.get_verification_and_representation_request(tx, job.details.verification)
    if asked.email is None or verification.status != "pending_review" or not asked.is_answerable_at(tx.now):
        return None
    locale = mails.language_for_tag(verification.language).locale
    partner = await get_partner_name(tx, verification)
    facts = {
        "partner": partner,
        "organisation": verification.nonprofit_name,
        "agent": formats.full_name(verification.first_name or "", verification.last_name or "", locale),
        "title": verification.title or "",
        "until": asked.expires_at,
        "link": _link(tx, ANSWER, verification.id),
    }
    return Email(
        asked.email, f"agent-question:{asked.id}", facts, verification.language, verification.partner_id, partner
    )


async def get_partner_name(tx: Tx, verification: AgentVerification) -> str:
    """The requester's name as the applicant knows it."""
    return verification.requester_name or (await partners.get(tx, Partner(verification.partner_id))).name


def _link(tx: Tx, purpose: str, verification_id: UUID) -> str:
    return f"{tx.base_urls.pages}/{purpose}?token={tx.vault.create_page_token(purpose, verification_id)}"
