"""SQL for donations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.giving.checkout.donations.domain import (
    Donation,
    DonationDetails,
    DonationOrigin,
    ReceiptDelivery,
    RefundedAmount,
    SettledAmount,
)
from almoner.kit.money import Money
from almoner.platform.database import counters
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import AllPartners, Partner, Tx

LIST: Final = "donation"
BASE_COLUMNS: Final = (
    "id, partner_id, organisation_id, user_id, type, session_id, payment_id, status, amount_minor, currency, "
    "first_name, last_name, email, consented, anonymous, metadata, created_at, cancelled_at, cover_minor, message, "
    "gift_aid_id, settled_at, settled_minor, settled_currency, disbursement_id, disbursed_at, reassigned_at, "
    "reassigned_from, donation_request_id, withdrawn_minor, refunded_at, refunded_minor, disputed_at, "
    "transfer_confirmed_at, last_disputed_at, dispute_status, receipt_delivery, subscription_id, "
    "subscription_due_on, designation, giving_link_id, dedication"
)
DONOR_SHOWN_COLUMN: Final = "(select shares_donor_details from partner where partner.id = partner_id) as donor_shown"
COLUMNS: Final = f"{BASE_COLUMNS}, {DONOR_SHOWN_COLUMN}"


def donation_from_row(row: Record) -> Donation:
    """The donation in a row that starts with ``COLUMNS``."""
    minor, currency = row[8:10]
    settled_at, settled_minor, settled_currency = row[21:24]
    settlement = SettledAmount(settled_at, Money(settled_minor, settled_currency)) if settled_at else None
    withdrawn, refunded_at, refunded_minor, disputed_at, transfer_confirmed_at, last_disputed_at, dispute_status = row[
        29:36
    ]
    delivery, subscription_id, due_on, designation, giving_link_id, dedication, shown = row[36:43]
    refunded = RefundedAmount(refunded_at, Money(refunded_minor, currency)) if refunded_at else None
    values: list[Any] = [*row[:8], Money(minor, currency), *row[10:21], shown, settlement, *row[24:29]]
    values += [
        withdrawn,
        refunded,
        disputed_at,
        transfer_confirmed_at,
        last_disputed_at,
        dispute_status,
        delivery or "none",
    ]
    values += [subscription_id, due_on, designation, giving_link_id, dedication]
    return Donation(*values)


_INSERT: Final = f"""
with made as (
    insert into donation (id, partner_id, organisation_id, user_id, type, session_id, status, amount_minor, currency,
                          first_name, last_name, email, consented, anonymous, metadata, created_at, cover_minor,
                          message, status_changed_at, gift_aid_id, subscription_id, subscription_due_on, designation,
                          giving_link_id, dedication)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $16, $19, $20, $21, $22,
            $23, $24)
    returning partner_id
) {counters.increment_list_total_sql(LIST, "partner_id", "from made")}
"""


async def insert(tx: Tx, partner: Partner, donation: Donation) -> None:
    """Store a new donation. Raises UniqueViolationError for a second one of a session that is not cancelled."""
    await tx.execute(
        _INSERT,
        donation.id,
        partner.id,
        donation.organisation_id,
        donation.user_id,
        donation.type,
        donation.session_id,
        donation.status,
        donation.money.minor,
        donation.money.currency,
        donation.first_name,
        donation.last_name,
        donation.email,
        donation.consented,
        donation.anonymous,
        donation.metadata,
        donation.created_at,
        donation.cover_minor,
        donation.message,
        donation.gift_aid_id,
        donation.subscription_id,
        donation.subscription_due_on,
        donation.designation,
        donation.giving_link_id,
        donation.dedication,
    )


async def find(tx: Tx, scope: Partner | AllPartners, donation_id: UUID) -> Donation | None:
    """One donation."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"select {COLUMNS} from donation where id = $2 and ($1::uuid is null or partner_id = $1)",
        partner_id,
        donation_id,
    )
    return donation_from_row(row) if row else None


@across_partners("operators")
async def load_donations_by_id(tx: Tx, donation_ids: Sequence[UUID]) -> dict[UUID, Donation]:
    """Donations of any partner, by ID."""
    rows = await tx.fetch(f"select {COLUMNS} from donation where id = any($1)", donation_ids)
    return {row["id"]: donation_from_row(row) for row in rows}


async def find_payment_recorded_at(tx: Tx, donation_id: UUID) -> datetime | None:
    """When a donation first became paid, by our own clock; None if it is not paid."""
    recorded: datetime | None = await tx.fetchval(
        """
        select changed_at from state_change
        where resource = 'donation' and resource_id = $1 and to_status = 'RECEIVED_PAYMENT' order by id limit 1
        """,
        donation_id,
    )
    return recorded


async def find_for_update(tx: Tx, scope: Partner | AllPartners, donation_id: UUID) -> Donation | None:
    """One donation, locked until the transaction ends."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"""
        select {COLUMNS} from donation where id = $1 and ($2::uuid is null or partner_id = $2) for no key update
        """,
        donation_id,
        partner_id,
    )
    return donation_from_row(row) if row else None


@across_partners("held")
async def find_donation_origin(tx: Tx, donation_id: UUID) -> DonationOrigin | None:
    """The origin of a hosted donation."""
    row = await tx.fetchrow(
        """
        select session_id, case when subscription_due_on is not null then subscription_id end from donation
        where id = $1 and session_id is not null
        """,
        donation_id,
    )
    return DonationOrigin(*row) if row else None


@across_partners("link")
async def find_uncancelled_by_session(tx: Tx, session_id: UUID) -> Donation | None:
    """The session's donation that is not cancelled, without later donations of a subscription."""
    row = await tx.fetchrow(
        f"""
        select {COLUMNS} from donation
        where session_id = $1 and status <> 'CANCELLED' and subscription_due_on is null
        """,
        session_id,
    )
    return donation_from_row(row) if row else None


@across_partners("link")
async def find_newest_by_session(tx: Tx, session_id: UUID) -> Donation | None:
    """The donation that decides a session's state: the one that is not cancelled, else the newest."""
    row = await tx.fetchrow(
        f"""
        select {COLUMNS} from donation where session_id = $1 and subscription_due_on is null
        order by status = 'CANCELLED', id desc limit 1
        """,
        session_id,
    )
    return donation_from_row(row) if row else None


async def update_details(
    tx: Tx, donation_id: UUID, details: DonationDetails, gift_aid_id: UUID | None, subscription_id: UUID | None
) -> None:
    """Store the donor's new details of an unpaid donation."""
    await tx.execute(
        """
        update donation set amount_minor = $2, currency = $3, first_name = $4, last_name = $5, email = $6,
                            consented = $7, anonymous = $8, cover_minor = $9, message = $10, gift_aid_id = $11,
                            subscription_id = $12, designation = $13, dedication = $14
        where id = $1 and status = 'REQUESTED_PAYMENT'
        """,
        donation_id,
        details.money.minor,
        details.money.currency,
        details.first_name or None,
        details.last_name or None,
        details.email,
        details.consented,
        details.anonymous,
        details.cover_minor,
        details.message,
        gift_aid_id,
        subscription_id,
        details.designation,
        details.dedication,
    )


@across_partners("held")
async def update_amount(tx: Tx, donation_id: UUID, amount_minor: int, fee_cover_minor: int) -> None:
    """Set the amount of a locked donation that is not paid."""
    await tx.execute(
        "update donation set amount_minor = $2, cover_minor = $3 where id = $1 and status = 'REQUESTED_PAYMENT'",
        donation_id,
        amount_minor,
        fee_cover_minor,
    )


async def cancel(tx: Tx, partner: Partner, donation_id: UUID) -> Donation | None:
    """Cancel a direct donation; None if its state does not allow it."""
    row = await tx.fetchrow(
        f"""
        update donation set status = 'CANCELLED', cancelled_at = $3, status_changed_at = $3
        where partner_id = $1 and id = $2 and type = 'direct' and status = 'ACTIVE' returning {COLUMNS}
        """,
        partner.id,
        donation_id,
        tx.now,
    )
    return donation_from_row(row) if row else None


@across_partners("held")
async def cancel_unpaid_donation(tx: Tx, donation_id: UUID) -> Donation | None:
    """Cancel an unpaid hosted donation; None if it is paid or already cancelled."""
    row = await tx.fetchrow(
        f"""
        update donation set status = 'CANCELLED', cancelled_at = $2, status_changed_at = $2
        where id = $1 and status = 'REQUESTED_PAYMENT' returning {COLUMNS}
        """,
        donation_id,
        tx.now,
    )
    return donation_from_row(row) if row else None


async def set_organisation(
    tx: Tx, partner: Partner, donation_id: UUID, organisation_id: UUID, gift_aid_id: UUID | None
) -> None:
    """Set the organisation, and the Gift Aid declaration, of a locked direct donation that is ACTIVE."""
    await tx.execute(
        """
        update donation set organisation_id = $3, gift_aid_id = $4
        where partner_id = $1 and id = $2 and status = 'ACTIVE'
        """,
        partner.id,
        donation_id,
        organisation_id,
        gift_aid_id,
    )


@across_partners("held")
async def mark_received(tx: Tx, donation_id: UUID, payment_id: UUID) -> Donation | None:
    """Move a donation to RECEIVED_PAYMENT; None if its state does not allow it."""
    # Not all of DONATION.sources_of: from DISBURSED a returned disbursement leads here, never a payment (settled 5).
    row = await tx.fetchrow(
        f"""
        update donation set status = 'RECEIVED_PAYMENT', payment_id = $2, status_changed_at = $3,
            receipt_delivery = 'pending'
        where id = $1 and status = 'REQUESTED_PAYMENT' returning {COLUMNS}
        """,
        donation_id,
        payment_id,
        tx.now,
    )
    return donation_from_row(row) if row else None


async def set_receipt_delivery(tx: Tx, donation_id: UUID, delivery: ReceiptDelivery) -> Donation | None:
    """Store the result of the receipt email; None if it is already known."""
    row = await tx.fetchrow(
        f"""
        update donation set receipt_delivery = $2
        where id = $1 and receipt_delivery is distinct from $2 and receipt_delivery is not null returning {COLUMNS}
        """,
        donation_id,
        delivery,
    )
    return donation_from_row(row) if row else None


@across_partners("link")
async def correct_receipt_email(tx: Tx, donation_id: UUID, email: str) -> Donation | None:
    """Store a corrected address for an undeliverable receipt; None if it was delivered."""
    row = await tx.fetchrow(
        f"""
        update donation set email = $2, receipt_delivery = 'pending'
        where id = $1 and receipt_delivery = 'undeliverable' returning {COLUMNS}
        """,
        donation_id,
        email,
    )
    return donation_from_row(row) if row else None


async def mark_receipt_pending(tx: Tx, partner: Partner, donation_id: UUID) -> bool:
    """Mark a receipt to be sent again; False if there is no receipt or no donor's address."""
    marked = await tx.fetchval(
        """
        update donation set receipt_delivery = 'pending'
        where partner_id = $1 and id = $2 and receipt_delivery in ('sent', 'undeliverable') and email is not null
        returning true
        """,
        partner.id,
        donation_id,
    )
    return marked is not None


async def set_metadata(tx: Tx, partner: Partner, donation_id: UUID, metadata: dict[str, str]) -> None:
    """Store the metadata of a locked donation."""
    await tx.execute(
        "update donation set metadata = $3 where partner_id = $1 and id = $2", partner.id, donation_id, metadata
    )


@across_partners("sweep")
async def cancel_abandoned_donations(
    tx: Tx, before: datetime, limit: int, *, awaiting_transfer: bool
) -> list[Donation]:
    """Cancel up to ``limit`` unpaid hosted donations, oldest first, skipping locked ones (S4).

    ``awaiting_transfer``: donations whose bank transfer was confirmed before ``before``; else donations created before
    it without a confirmed transfer.
    """
    due = "transfer_confirmed_at" if awaiting_transfer else "created_at"
    # Donations of a subscription's due dates expire by the rules of the subscription.
    unpaid = "type = 'hosted' and transfer_confirmed_at is null and subscription_due_on is null"
    which = "transfer_confirmed_at is not null" if awaiting_transfer else unpaid
    rows = await tx.fetch(
        f"""
        with due as materialized (
            select id as due_id from donation where status = 'REQUESTED_PAYMENT' and {which} and {due} <= $1
            order by {due} limit $3 for no key update skip locked
        )
        update donation set status = 'CANCELLED', cancelled_at = $2, status_changed_at = $2
        from due where id = due_id and status = 'REQUESTED_PAYMENT' returning {COLUMNS}
        """,
        before,
        tx.now,
        limit,
    )
    return sorted((donation_from_row(row) for row in rows), key=lambda donation: donation.id)


@across_partners("sweep")
async def find_oldest_unpaid_and_awaiting_transfer_times(tx: Tx) -> tuple[datetime | None, datetime | None]:
    """When the oldest unpaid hosted donation was created; and when the oldest awaited transfer was confirmed."""
    row = await tx.fetchrow(
        """
        select (select min(created_at) from donation
                where status = 'REQUESTED_PAYMENT' and type = 'hosted' and transfer_confirmed_at is null
                      and subscription_due_on is null),
               (select min(transfer_confirmed_at) from donation
                where status = 'REQUESTED_PAYMENT' and transfer_confirmed_at is not null)
        """
    )
    return (row[0], row[1]) if row else (None, None)


@across_partners("held")
async def confirm_transfer_sent(tx: Tx, donation_id: UUID) -> Donation | None:
    """Record that the donor of a locked donation has sent a transfer; None if none is awaited."""
    row = await tx.fetchrow(
        f"""
        update donation set transfer_confirmed_at = $2
        where id = $1 and status = 'REQUESTED_PAYMENT' and type = 'hosted' and transfer_confirmed_at is null
        returning {COLUMNS}
        """,
        donation_id,
        tx.now,
    )
    return donation_from_row(row) if row else None


_FORGOTTEN: Final = """
status = 'CANCELLED' and num_nonnulls(first_name, last_name, email, message, dedication) > 0
    and not exists (select from unallocated_payment where donation_id = donation.id)
"""
"""Cancelled and never paid, nor with an unallocated payment, whose donor may have to be found."""


class ErasedDonors(NamedTuple):
    """The number of donations whose donors were erased, and the IDs of their declarations."""

    donation_count: int
    declaration_ids: list[UUID]


@across_partners("sweep")
async def erase_donors_of_cancelled_donations(tx: Tx, cancelled_before: datetime, limit: int) -> ErasedDonors:
    """Erase the donors of cancelled donations; returns how many, and their declarations (V6)."""
    rows = await tx.fetch(
        f"""
        with forgotten as (
            select id, gift_aid_id from donation where {_FORGOTTEN} and cancelled_at <= $1
            order by cancelled_at limit $2 for no key update skip locked
        )
        update donation set first_name = null, last_name = null, email = null, message = null, gift_aid_id = null,
            dedication = null
        from forgotten where donation.id = forgotten.id returning forgotten.gift_aid_id
        """,
        cancelled_before,
        limit,
    )
    return ErasedDonors(len(rows), [row["gift_aid_id"] for row in rows if row["gift_aid_id"] is not None])


@across_partners("sweep")
async def find_oldest_cancellation_with_donor_data_at(tx: Tx) -> datetime | None:
    """When the oldest cancelled donation with a donor was cancelled."""
    sql = f"select cancelled_at from donation where {_FORGOTTEN} order by cancelled_at limit 1"
    found: datetime | None = await tx.fetchval(sql)
    return found


@across_partners("followers")
async def load_partner_ids_with_donations_by_organisation(
    tx: Tx, organisation_ids: Sequence[UUID]
) -> dict[UUID, set[UUID]]:
    """The partners with a donation, cancelled or not, to each of these organisations."""
    rows = await tx.fetch(
        "select distinct organisation_id, partner_id from donation where organisation_id = any($1::uuid[])",
        list(organisation_ids),
    )
    found: dict[UUID, set[UUID]] = {}
    for row in rows:
        found.setdefault(row["organisation_id"], set()).add(row["partner_id"])
    return found


async def find_declaration_id_of_first_donation(tx: Tx, partner: Partner, session_id: UUID) -> UUID | None:
    """The declaration of the first donation of a session's subscription."""
    found: UUID | None = await tx.fetchval(
        """
        select gift_aid_id from donation
        where partner_id = $1 and session_id = $2 and status <> 'CANCELLED' and subscription_due_on is null
        """,
        partner.id,
        session_id,
    )
    return found
