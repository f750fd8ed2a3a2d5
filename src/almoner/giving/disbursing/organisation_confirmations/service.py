"""Operations on confirmation requests: send, open, answer, erase. Every change locks the verification first."""

from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from almoner.access.partners import service as partners
from almoner.giving.disbursing.organisation_confirmations import domain, store
from almoner.giving.disbursing.organisation_confirmations.domain import (
    ApprovedAccount,
    ConfirmationAnswer,
    ConfirmationPageChanged,
    ConfirmationPageContent,
    NonprofitContact,
    OrganisationConfirmation,
)
from almoner.giving.disbursing.organisation_confirmations.store import list_confirmations as list_confirmations
from almoner.giving.disbursing.organisation_confirmations.store import (
    list_verification_ids_awaiting_only_organisation as list_verification_ids_awaiting_only_organisation,
)
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import InvalidState, MonetaryDonationVerification, Outcome
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.crypto import sha256_digest
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.jobs.queue import JobKind


class SendConfirmationEmailJob(msgspec.Struct, frozen=True):
    """The email to send."""

    mail: UUID


SEND: Final = JobKind("organisation_confirmations.send", SendConfirmationEmailJob)


class VerificationJobDetails(msgspec.Struct, frozen=True):
    """The verification."""

    verification: UUID


REQUEST: Final = JobKind("organisation_confirmations.request", VerificationJobDetails)
ERASE_NAMES: Final = JobKind("organisation_confirmations.erase_names", VerificationJobDetails)
BATCH: Final = 1000  # S4
_HASHED: Final = "monetary_donation_confirmation_email"
_OUTCOMES: Final[dict[ConfirmationAnswer, Outcome]] = {"confirmed": "succeeded", "declined": "failed"}


async def request_confirmation(
    tx: Tx, verification_id: UUID, contact: NonprofitContact, *, requested_by: str, language: str | None = None
) -> OrganisationConfirmation:
    """Email a nonprofit the confirmation request, or send it again.

    A link sent to another address stops working. Raises NotFound; InvalidState if there is nothing to confirm or the
    email limit of the address is reached.
    """
    locked = await verifications.get_for_update(tx, ALL_PARTNERS, verification_id)
    if (
        locked.status != "pending"
        or locked.checks["organisation_confirmation"] != "pending"
        or locked.expires_at is None
    ):
        raise InvalidState("there is nothing for the organisation to confirm")
    organisation = await organisations.get(tx, Partner(locked.partner_id), locked.organisation_id)
    spoken = language or domain.language_of_country(organisation.country_code)
    new = domain.new_confirmation(tx.new_id(), locked.id, contact, spoken, requested_by, tx.now, locked.expires_at)
    asked = next((one for one in await store.list_confirmations(tx, locked.id) if one.accepts_answer(locked)), None)
    again = asked is not None and asked.email == contact.email and language in (None, asked.language)
    wanted = asked if asked is not None and again else new
    email_hash = tx.vault.compute_keyed_hash(_HASHED, contact.email.lower().encode())
    reached = await store.lock_and_count_recent_emails(tx, email_hash, tx.real_now - domain.DAY)
    sent = await store.list_email_send_times(tx, asked.id) if asked is not None else []
    if not domain.may_send_email(sent, reached, tx.real_now, is_sandbox=tx.deployment.sandbox):
        raise InvalidState("the address has had its share of mails: look at the newest one, or try again later")
    if wanted is new:
        await store.insert(tx, new)
    mail = await store.insert_email(tx, wanted.id, email_hash)
    await SEND.enqueue(tx, SendConfirmationEmailJob(mail))
    return wanted


async def request_confirmation_unless_requested(
    tx: Tx, verification_id: UUID, contact: NonprofitContact | None
) -> None:
    """Email the confirmation request automatically, once. Raises NotFound."""
    locked = await verifications.get_for_update(tx, ALL_PARTNERS, verification_id)
    known = await store.list_confirmations(tx, locked.id)
    asked = any(one.expires_at == locked.expires_at and not one.is_withdrawn for one in known)
    waits = locked.awaits_answer_from_organisation and locked.checks["organisation_confirmation"] == "pending"
    if contact is not None and waits and not asked:
        await request_confirmation(tx, locked.id, contact, requested_by="rules")


async def enqueue_confirmation_request(tx: Tx, verification_id: UUID) -> None:
    """Enqueue a confirmation request, sent after the commit if the nonprofit's address is known."""
    await REQUEST.enqueue(tx, VerificationJobDetails(verification_id), unique_key=str(verification_id))


async def load_page_content(tx: Tx, confirmation_id: UUID) -> ConfirmationPageContent:
    """Load the page of a link with its current state. Raises NotFound."""
    if (found := await store.find(tx, confirmation_id)) is None:
        raise NotFound
    return await _page(tx, found, await verifications.get(tx, ALL_PARTNERS, found.verification_id))


async def _page(
    tx: Tx, found: OrganisationConfirmation, verification: MonetaryDonationVerification
) -> ConfirmationPageContent:
    partner = await partners.get(tx, Partner(verification.partner_id))
    organisation = await organisations.get(tx, Partner(verification.partner_id), verification.organisation_id)
    accounts = [
        ApprovedAccount(one.id, one.currency, one.holder, one.masked_number)
        for one in await payee_bank_accounts.list_approved_accounts(tx, organisation.id)
    ]
    shown = (found.id, partner.name, organisation.effective_display_name, [one.id for one in accounts])
    seen = sha256_digest(msgspec.json.encode(shown))
    return ConfirmationPageContent(
        found, verification, partner.name, organisation.effective_display_name, accounts, seen
    )


async def record_answer(
    tx: Tx,
    confirmation_id: UUID,
    confirmation_answer: ConfirmationAnswer,
    *,
    respondent_name: str,
    respondent_role: str,
    page_fingerprint: str,
) -> ConfirmationPageContent:
    """Record the nonprofit's response, which ends the check.

    ``page_fingerprint``: the fingerprint of the page that it saw, in hex. Raises NotFound; ConfirmationPageChanged if
    the page has changed since; InvalidState if no response is needed any more.
    """
    if (known := await store.find(tx, confirmation_id)) is None:
        raise NotFound
    locked = await verifications.get_for_update(tx, ALL_PARTNERS, known.verification_id)
    found = await store.find(tx, confirmation_id)  # with the state under the lock
    assert found is not None, "questions stay"
    page = await _page(tx, found, locked)
    if not found.accepts_answer(locked):
        raise InvalidState("no answer is needed any more")
    if page.fingerprint.hex() != page_fingerprint:
        raise ConfirmationPageChanged
    if not await store.record_answer(
        tx, found.id, confirmation_answer, respondent_name, respondent_role, page.fingerprint
    ):
        raise InvalidState("it was answered already")
    facts = {
        "confirmation": tx.ids.encode("payeeconfirmation", found.id),
        "domain": (found.email or "").rpartition("@")[2],
        "accounts": [tx.ids.encode("payeeaccount", one.id) for one in page.accounts],
    }
    ended = await verifications.record_check_outcome(
        tx,
        ALL_PARTNERS,
        locked.id,
        "organisation_confirmation",
        _OUTCOMES[confirmation_answer],
        decided_by="nonprofit",
        decision_facts=facts,
    )
    return replace(page, confirmation=replace(found, answer=confirmation_answer), verification=ended)


async def find_open_confirmation_page_by_email_id(tx: Tx, email_id: UUID) -> ConfirmationPageContent | None:
    """Load the page for an email; None if no response is needed any more. Raises NotFound."""
    if (found := await store.find_by_email_id(tx, email_id)) is None:
        raise NotFound
    page = await load_page_content(tx, found.id)
    return page if page.state == "open" and found.email is not None else None


async def erase_contacts_of_closed_confirmations(tx: Tx, limit: int = BATCH) -> int:
    """Erase nonprofits' contact data 30 days after the end (V6); returns how many."""
    return await store.erase_contacts_of_closed_confirmations(tx, tx.now - domain.ERASED_AFTER, limit)


async def next_contact_erasure_at(tx: Tx) -> datetime | None:
    """When the next address is due to be erased."""
    over = await store.find_oldest_unerased_confirmation_closed_at(tx)
    return None if over is None else over + domain.ERASED_AFTER


async def enqueue_respondent_name_erasure(tx: Tx, verification_id: UUID) -> None:
    """Schedule the erasure of respondents' names, 30 days after a verification has ended (V6)."""
    if any(one.respondent_name is not None for one in await store.list_confirmations(tx, verification_id)):
        due = tx.now + domain.ERASED_AFTER
        await ERASE_NAMES.enqueue(tx, VerificationJobDetails(verification_id), due_at=due)


async def erase_respondent_names(tx: Tx, verification_id: UUID) -> None:
    """Erase the respondents' details, unless the verification was reopened. Raises NotFound."""
    locked = await verifications.get_for_update(tx, ALL_PARTNERS, verification_id)
    if (
        locked.processed_at is not None
        and not locked.is_pending_or_approved
        and tx.now >= locked.processed_at + domain.ERASED_AFTER
    ):
        await store.erase_respondent_names(tx, verification_id)


def parse_answer(value: object) -> ConfirmationAnswer | None:
    """The response of the pressed button; None for anything else."""
    return next((one for one in _OUTCOMES if one == value), None)
