"""Issues receipts: numbered without gaps (spec 4.8), frozen, and identical however often they are rendered."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from typing import Final
from uuid import UUID

from almoner.access.partners import service as partners
from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.checkout.hosted_page.service import NonprofitProfile
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import BANK_TRANSFER
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import DonationSession
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.receipts import domain, store
from almoner.giving.receipts.domain import (
    DonationReassignment,
    Donee,
    DoneeError,
    ProgressStep,
    Receipt,
    ReceiptIssuer,
)
from almoner.giving.receipts.store import find_donee as find_donee
from almoner.giving.receipts.store import find_issuer_name as find_issuer_name
from almoner.giving.receipts.store import list_donees as list_donees
from almoner.giving.receipts.store import list_proposed_donees as list_proposed_donees
from almoner.kit.errors import NotFound
from almoner.kit.public_links import PublicLinks
from almoner.kit.text import sanitise_for_terminal
from almoner.nonprofits.registries.domain import parse_number_key
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx

_EIN_REGISTRY: Final = "IRS"
_NOON: Final = time(12)
_PREFIX: Final = re.compile(r"[A-Z0-9]([A-Z0-9-]{0,10}[A-Z0-9])?")


@dataclass(frozen=True, slots=True)
class DonationStatusPageContent:
    """A donation with its receipt and progress. ``nonprofit``: its current nonprofit.

    ``waiting_message_key``: the message key that says what it waits for; None once disbursed. ``returned_at``: when its
    last disbursement was returned, until another one is paid.
    """

    receipt: Receipt
    donation: Donation
    nonprofit: NonprofitProfile
    steps: list[ProgressStep]
    waiting_message_key: str | None
    returned_at: datetime | None
    partner_links: PublicLinks


async def issue_receipt(tx: Tx, partner: Partner, donation_id: UUID, received_at: datetime) -> Receipt | None:
    """Return the receipt of a paid hosted donation, or issue it with the next number.

    None for a direct donation. Raises NotFound.
    """
    if (issued := await store.find(tx, partner, donation_id)) is not None:
        return issued
    donation = await donations.get(tx, partner, donation_id)
    if donation.session_id is None or donation.payment_id is None:
        return None
    issuer = await store.lock_receipt_issuer(tx, partner)
    if (issued := await store.find(tx, partner, donation_id)) is not None:
        return issued  # issued by another transaction while we waited for the lock
    receipt = await _new_receipt(
        tx, partner, donation, issuer, await _received_at(tx, donation.payment_id, received_at)
    )
    await store.insert(tx, partner, receipt)
    return receipt


async def load_payment_received_at(tx: Tx, donation: Donation) -> datetime:
    """When the payment of a paid donation was received, as its receipt says or will say.

    A direct donation has no receipt: when its payment was recorded.
    """
    if (issued := await store.find(tx, Partner(donation.partner_id), donation.id)) is not None:
        return issued.received_at
    recorded_at = await donations.find_payment_recorded_at(tx, donation.id) or tx.now
    return recorded_at if donation.payment_id is None else await _received_at(tx, donation.payment_id, recorded_at)


async def _received_at(tx: Tx, payment_id: UUID, recorded_at: datetime) -> datetime:
    """When a payment was received: when the provider or the bank says so, however late we learned of it.

    ``recorded_at``: when we recorded it. A bank states the day of a transfer and no time: noon of that day.
    """
    payment = await payments.find(tx, payment_id)
    if payment is None:
        return recorded_at
    if payment.provider != BANK_TRANSFER:
        return payment.succeeded_at or recorded_at
    day = await settlements.find_settlement_date_of_payment(tx, payment_id)
    if day is None or day >= tx.deployment.date_in_issuer_time_zone(recorded_at):
        return recorded_at
    return datetime.combine(day, _NOON, tx.deployment.time_zone).astimezone(UTC)


async def _new_receipt(
    tx: Tx, partner: Partner, donation: Donation, issuer: ReceiptIssuer, received_at: datetime
) -> Receipt:
    assert donation.session_id is not None, "a hosted donation has a session"
    assert donation.payment_id is not None, "a paid donation has a payment"
    session = await sessions.get(tx, partner, donation.session_id)
    made_for = await _made_for(tx, donation, session)
    cause = await hosted_page.load_profile_of_organisation(tx, partner, made_for)
    return Receipt(
        donation_id=donation.id,
        partner_id=partner.id,
        number=issuer.last_number + 1,
        prefix=issuer.prefix,
        issuer=issuer.name or (await partners.get(tx, partner)).name,
        language=session.language or "en",
        organisation=cause.name,
        register=cause.register,
        register_number=cause.number,
        first_name=donation.first_name or "",
        last_name=donation.last_name or "",
        anonymous=donation.anonymous,
        payment_id=donation.payment_id,
        money=donation.money,
        cover_minor=donation.cover_minor,
        received_at=received_at,
        issued_at=tx.now,
        donee=await store.find_current_donee(tx, partner),
        benefits=session.benefits,
    )


async def _made_for(tx: Tx, donation: Donation, session: DonationSession) -> UUID:
    """The original nonprofit of a donation: the session's; for a later donation, its own at its creation."""
    if donation.subscription_due_on is None:
        return session.organisation_id
    return await reassignments.load_organisation_id_of_donation_at(tx, donation, donation.created_at)


async def load_receipt_email_and_subscription_id(
    tx: Tx, partner: Partner, donation_id: UUID
) -> tuple[str | None, UUID | None]:
    """The email address for a donation's receipt, and its regular donation. Raises NotFound."""
    donation = await donations.get(tx, partner, donation_id)
    return donation.email, donation.subscription_id


async def get(tx: Tx, donation_id: UUID) -> Receipt:
    """The receipt of a private link, with the donation's later changes. Raises NotFound."""
    if (receipt := await store.find(tx, ALL_PARTNERS, donation_id)) is None:
        raise NotFound
    donation = await donations.get(tx, Partner(receipt.partner_id), donation_id)
    return replace(receipt, refunded=donation.refunded, passed_on=await _reassigned_to(tx, donation))


async def _reassigned_to(tx: Tx, donation: Donation) -> DonationReassignment | None:
    """The current nonprofit if it is not the original one; else None."""
    if donation.reassigned_at is None or donation.session_id is None:
        return None
    partner = Partner(donation.partner_id)
    if donation.organisation_id == await _made_for(tx, donation, await sessions.get(tx, partner, donation.session_id)):
        return None
    return DonationReassignment(
        (await hosted_page.load_profile_of_organisation(tx, partner, donation.organisation_id)).name,
        donation.reassigned_at,
    )


async def load_receipts_by_donation(tx: Tx, partner: Partner, donation_ids: Sequence[UUID]) -> dict[UUID, Receipt]:
    """The receipts of these donations, by donation."""
    return {
        receipt.donation_id: receipt for receipt in await store.list_receipts_of_donations(tx, partner, donation_ids)
    }


async def load_status_page_content(tx: Tx, donation_id: UUID, rules: DisbursementRules) -> DonationStatusPageContent:
    """Load the content of the private status page. Raises NotFound."""
    receipt = await get(tx, donation_id)
    partner = Partner(receipt.partner_id)
    donation = await donations.get(tx, partner, donation_id)
    organisation = await hosted_page.load_profile_of_organisation(tx, partner, donation.organisation_id)
    steps = domain.progress_of_donation(receipt, donation)
    on_its_way = donation.status == "RECEIVED_PAYMENT" and donation.settlement is not None
    reason = domain.refund_or_dispute_waiting_reason(donation)
    if reason is None and on_its_way:
        reason = await disbursements.find_donation_waiting_reason(tx, partner, donation, rules)
    returned_at = await disbursements.find_last_disbursement_return_at(tx, partner, donation_id) if on_its_way else None
    waiting = domain.waiting_message_key(steps, reason)
    links = (await partners.get(tx, partner)).public_links
    return DonationStatusPageContent(receipt, donation, organisation, steps, waiting, returned_at, links)


async def load_receipt_issuer(tx: Tx, partner: Partner) -> ReceiptIssuer:
    """The issuer of future receipts, locked."""
    return await store.lock_receipt_issuer(tx, partner)


async def update_receipt_issuer(
    tx: Tx, partner: Partner, issuer_name: str | None, number_prefix: str | None
) -> ReceiptIssuer:
    """Change the issuer of future receipts. Numbers continue, and issued receipts do not change.

    None keeps what is set; an empty name is the partner's own, an empty prefix none. Raises ValueError for a name or
    prefix that receipts cannot carry.
    """
    if issuer_name is not None and len(issuer_name.strip()) > 255:
        raise ValueError("a name has at most 255 characters")
    if number_prefix and not _PREFIX.fullmatch(number_prefix):
        raise ValueError("a prefix has 1 to 12 capital letters, digits and hyphens, with no hyphen at its ends")
    issuer = await store.lock_receipt_issuer(tx, partner)
    if issuer_name is not None:
        issuer = replace(issuer, name=issuer_name.strip() or None)
    if number_prefix is not None:
        issuer = replace(issuer, prefix=number_prefix)
    await store.update_receipt_issuer(tx, partner, issuer)
    return issuer


async def propose_donee(
    tx: Tx, partner: Partner, *, legal_name: str, ein: str, address: str, note: str, proposed_by: str
) -> Donee:
    """Propose who legally receives the partner's donations; another operator approves it. Raises DoneeError."""
    name, place = sanitise_for_terminal(legal_name).strip(), sanitise_for_terminal(address).strip()
    if not 1 <= len(name) <= 255 or not 1 <= len(place) <= 500 or not 1 <= len(note) <= 2000:
        raise DoneeError("A name has 1 to 255 characters, an address 1 to 500, a note 1 to 2,000.")
    if (number := parse_number_key(_EIN_REGISTRY, ein)) is None:
        raise DoneeError(f"{ein} is not an EIN: it has nine digits, such as 12-3456789.")
    donee = Donee(tx.new_id(), partner.id, name, number, place, proposed_by, note, tx.now)
    if not await store.insert_donee(tx, partner, donee):
        raise DoneeError("A donee is proposed already. Approve or end it first.")
    return donee


async def get_donee_for_update(tx: Tx, donee_id: UUID) -> Donee:
    """One donee, locked until the transaction ends. Raises DoneeError."""
    if (donee := await store.lock_donee(tx, donee_id)) is None:
        raise DoneeError("There is no such donee.")
    return donee


async def approve_donee(tx: Tx, donee: Donee, *, entered_ein: str, note: str, approved_by: str) -> Donee:
    """Approve a donee: receipts name it from now on, in place of the former one.

    ``entered_ein``: typed again from the evidence. Raises DoneeError.
    """
    if donee.approval_status != "proposed":
        raise DoneeError(f"This donee is {donee.approval_status}.")
    if donee.proposed_by == approved_by:
        raise DoneeError("Another operator must approve it.")
    if parse_number_key(_EIN_REGISTRY, entered_ein) != donee.ein:
        raise DoneeError("The EIN differs from the proposed one.")
    if not 1 <= len(note) <= 2000:
        raise DoneeError("A note has 1 to 2,000 characters.")
    await store.end_current_donee(tx, Partner(donee.partner_id), approved_by)
    approved = replace(donee, approved_by=approved_by, approved_note=note, approved_at=tx.now)
    await store.update_donee(tx, approved)
    return approved


async def end_or_withdraw_donee(tx: Tx, donee: Donee, *, ended_by: str) -> Donee:
    """End a donee, or withdraw its proposal: receipts no longer name it. Raises DoneeError."""
    if donee.approval_status == "ended":
        raise DoneeError("This donee has ended already.")
    ended = replace(donee, ended_by=ended_by, ended_at=tx.now)
    await store.update_donee(tx, ended)
    return ended
