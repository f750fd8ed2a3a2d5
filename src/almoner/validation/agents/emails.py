"""The mails about agents, in the agent's language: to the applicant, and to the nonprofit."""

from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.access.partners import service as partners
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.outbound.mail import Mail
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages import formats
from almoner.validation.agents import agent_review, email_confirmation
from almoner.validation.agents.domain import AgentVerification

CONFIRM: Final = "confirm"
ANSWER: Final = "answer"
"""Purposes of the tokens in the links, and the paths that they open."""


async def confirmation_email(tx: Tx, mails: MailRenderer, confirmation_id: UUID, at: datetime) -> Mail | None:
    """The mail with link and code; None when there is nothing to confirm any more."""
    verification = await email_confirmation.find_unconfirmed_verification(tx, confirmation_id)
    if verification is None or verification.email is None or verification.expires_at is None:
        return None
    language = mails.language(verification.display_language)
    named = await _names(tx, verification)
    first, last = verification.first_name or "", verification.last_name or ""
    facts = {
        **named,
        "name": formats.greeting_name(first, last, language.locale),
        "code": email_confirmation.confirmation_code_of(tx, confirmation_id),
        "until": verification.expires_at,
        "link": _link(tx, CONFIRM, verification.id),
    }
    return mails.render_mail(
        "confirmation",
        language,
        facts,
        key=f"agent:{confirmation_id}",
        at=at,
        partner=verification.partner_id,
        to=verification.email,
    )


async def representation_request_email(tx: Tx, mails: MailRenderer, verification_id: UUID, at: datetime) -> Mail | None:
    """The question to the nonprofit; None when nobody waits for its answer any more."""
    verification, asked = await agent_review.get_representation_request(tx, verification_id)
    if asked.email is None or verification.status != "pending_review" or not asked.is_answerable_at(tx.now):
        return None
    language = mails.language(verification.language)
    named = await _names(tx, verification)
    first, last = verification.first_name or "", verification.last_name or ""
    facts = {
        **named,
        "name": formats.full_name(first, last, language.locale),
        "title": verification.title or "",
        "until": asked.expires_at,
        "link": _link(tx, ANSWER, verification.id),
    }
    return mails.render_mail(
        "question",
        language,
        facts,
        key=f"agent-question:{asked.id}",
        at=at,
        partner=verification.partner_id,
        to=asked.email,
    )


async def partner_name_of(tx: Tx, verification: AgentVerification) -> str:
    """Who asks, by the name that the applicant knows."""
    return verification.requester_name or (await partners.get(tx, Partner(verification.partner_id))).name


async def _names(tx: Tx, verification: AgentVerification) -> dict[str, str]:
    """Who asks, and for whom the applicant speaks."""
    return {
        "partner": await partner_name_of(tx, verification),
        "organisation": verification.nonprofit_name,
    }


def _link(tx: Tx, purpose: str, verification_id: UUID) -> str:
    return f"{tx.links.pages}/{purpose}?token={tx.vault.page_token(purpose, verification_id)}"
