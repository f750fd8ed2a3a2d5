"""SQL for donation requests and partners' payments of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.checkout.donation_requests.domain import (
    DONATION_REQUEST,
    DonationRequest,
    DonationRequestPayment,
    DonationRequestSort,
    DonationRequestStatus,
    PartnerCurrency,
    RequestPaymentStatus,
)
from almoner.kit.counts import WaitingCount
from almoner.kit.money import Money
from almoner.platform.database import counters, keyset, lists
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import Position, RequestedPage

LIST: Final = "donation_request"
_COLUMNS: Final = (
    "id, partner_id, amount_minor, currency, donations, paid_minor, allocated_minor, status, reference, cutoff_at, "
    "collecting, allocating, created_at, due_at"
)
_PAYMENT: Final = (
    "id, donation_request_id, amount_minor, currency, applied_minor, bank_reference, status, received_at, "
    "recorded_by, applied_from"
)


def _request(row: Record) -> DonationRequest:
    id_, partner_id, minor, currency, *rest = row[:14]
    return DonationRequest(id_, partner_id, Money(minor, currency), *rest)


def _payment(row: Record) -> DonationRequestPayment:
    id_, request_id, minor, currency, *rest = row
    return DonationRequestPayment(id_, request_id, Money(minor, currency), *rest)


async def insert(tx: Tx, partner: Partner, donation_request: DonationRequest) -> bool:
    """Store a new request; False if another one is collecting the same donations."""
    made = await tx.execute(
        """
        insert into donation_request (id, partner_id, currency, amount_minor, donations, paid_minor, allocated_minor,
                                      status, reference, cutoff_at, collecting, allocating, created_at, due_at,
                                      status_changed_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $13)
        on conflict (partner_id, currency) where collecting do nothing
        """,
        donation_request.id,
        partner.id,
        donation_request.money.currency,
        donation_request.money.minor,
        donation_request.donation_count,
        donation_request.paid_minor,
        donation_request.allocated_minor,
        donation_request.status,
        donation_request.reference,
        donation_request.cutoff_at,
        donation_request.is_adding_donations,
        donation_request.is_allocation_pending,
        donation_request.created_at,
        donation_request.due_at,
    )
    if made != "INSERT 0 1":
        return False
    await counters.add_to_list_total(tx, partner, LIST, 1)
    return True


async def lock_request_being_filled(tx: Tx, partner: Partner, currency: str) -> DonationRequest | None:
    """The request to which donations are being added, locked until the transaction ends."""
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from donation_request where partner_id = $1 and currency = $2 and collecting
        for no key update
        """,
        partner.id,
        currency,
    )
    return _request(row) if row else None


@across_partners("sweep")
async def list_partner_currencies_with_open_requests(tx: Tx) -> list[PartnerCurrency]:
    """Partners and currencies whose requests are being filled, or were when a process crashed."""
    rows = await tx.fetch("select partner_id, currency::text from donation_request where collecting order by 1, 2")
    return [PartnerCurrency(*row) for row in rows]


async def update_donation_totals(tx: Tx, donation_request: DonationRequest) -> None:
    """Store the totals and due date of a locked request, and whether more donations will be added."""
    await tx.execute(
        """
        update donation_request set amount_minor = $2, donations = $3, collecting = $4, due_at = $5 where id = $1
        """,
        donation_request.id,
        donation_request.money.minor,
        donation_request.donation_count,
        donation_request.is_adding_donations,
        donation_request.due_at,
    )


async def find(tx: Tx, scope: Partner | AllPartners, request_id: UUID) -> DonationRequest | None:
    """One request."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"select {_COLUMNS} from donation_request where id = $1 and ($2::uuid is null or partner_id = $2)",
        request_id,
        partner_id,
    )
    return _request(row) if row else None


@across_partners("operators")
async def load_donation_requests_by_id(tx: Tx, request_ids: Sequence[UUID]) -> dict[UUID, DonationRequest]:
    """Requests of any partner, by ID."""
    rows = await tx.fetch(f"select {_COLUMNS} from donation_request where id = any($1)", request_ids)
    return {row["id"]: _request(row) for row in rows}


@across_partners("banking")
async def find_id_by_payment_reference(tx: Tx, payment_reference: str) -> UUID | None:
    """The ID of the request with this payment reference."""
    found: UUID | None = await tx.fetchval("select id from donation_request where reference = $1", payment_reference)
    return found


async def find_for_update(tx: Tx, scope: Partner | AllPartners, request_id: UUID) -> DonationRequest | None:
    """One request, locked until the transaction ends."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from donation_request where id = $1 and ($2::uuid is null or partner_id = $2)
        for no key update
        """,
        request_id,
        partner_id,
    )
    return _request(row) if row else None


_BY_DUE_DATE: Final = (lists.SortKey("due_at", "timestamptz"),)


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, sort: DonationRequestSort = "id"
) -> tuple[list[DonationRequest], int]:
    """One page in reading order, and the exact total."""
    if sort == "dueAt":
        rows, total = await lists.list_sorted_partner_page(tx, partner, LIST, _COLUMNS, page_, _BY_DUE_DATE)
    else:
        rows, total = await lists.list_partner_page(tx, partner, LIST, _COLUMNS, page_)
    return [_request(row) for row in rows], total


def cursor_position_of(request: DonationRequest, sort: DonationRequestSort) -> Position:
    """The position of a request in its list."""
    return (request.due_at, request.id.bytes) if sort == "dueAt" else (request.id.bytes,)


async def list_for_operators(
    tx: Tx, status: DonationRequestStatus | None, partner_id: UUID | None, after: UUID | None, limit: int
) -> list[DonationRequest]:
    """A page of requests for operators, newest first."""
    where = keyset.equality_conditions({"status": status, "partner_id": partner_id})
    rows = await keyset.list_rows_after_id(tx, "donation_request", _COLUMNS, where, after, limit)
    return [_request(row) for row in rows]


async def count_for_operators(
    tx: Tx, status: DonationRequestStatus | None, partner_id: UUID | None, max_count: int
) -> int:
    """Count matching requests, up to one more than ``max_count``."""
    where = keyset.equality_conditions({"status": status, "partner_id": partner_id})
    return await keyset.count_rows_up_to(tx, "donation_request", where, max_count)


async def record_paid_amount(
    tx: Tx, donation_request: DonationRequest, paid_minor: int, status: DonationRequestStatus
) -> None:
    """Record what was paid on a locked request; its donations are received later.

    Raises LookupError if its state does not allow it.
    """
    done = await tx.execute(
        """
        update donation_request set paid_minor = $2, status = $3, allocating = true,
            status_changed_at = case when status = $3 then status_changed_at else $5 end
        where id = $1 and (status = $3 or status = any($4)) and not collecting
        """,
        donation_request.id,
        paid_minor,
        status,
        DONATION_REQUEST.source_states_of(status),
        tx.now,
    )
    if done != "UPDATE 1":
        raise LookupError(f"donation request {donation_request.id} is {donation_request.status}")


async def record_allocation(
    tx: Tx, donation_request: DonationRequest, allocated_minor: int, *, is_allocation_pending: bool
) -> None:
    """Record how much of a locked request's money was allocated to donations."""
    await tx.execute(
        "update donation_request set allocated_minor = $2, allocating = $3 where id = $1",
        donation_request.id,
        allocated_minor,
        is_allocation_pending,
    )


@across_partners("sweep")
async def list_request_ids_awaiting_allocation(tx: Tx, limit: int) -> list[UUID]:
    """Requests whose payments cover donations that are not received yet."""
    rows = await tx.fetch("select id from donation_request where allocating order by id limit $1", limit)
    return [row["id"] for row in rows]


async def insert_payment(tx: Tx, request_payment: DonationRequestPayment) -> bool:
    """Store a partner's transfer; False if it is already recorded."""
    made = await tx.execute(
        """
        insert into request_payment (id, donation_request_id, currency, amount_minor, applied_minor, overpaid_minor,
                                     bank_reference, status, received_at, recorded_by, status_changed_at, applied_from)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $9, $11)
        on conflict (bank_reference) where applied_from is null do nothing
        """,
        request_payment.id,
        request_payment.donation_request_id,
        request_payment.money.currency,
        request_payment.money.minor,
        request_payment.applied_minor,
        request_payment.overpaid_minor,
        request_payment.bank_reference,
        request_payment.status,
        request_payment.received_at,
        request_payment.recorded_by,
        request_payment.overpaid_payment_id,
    )
    return made == "INSERT 0 1"


async def lock_request_payment(tx: Tx, request_payment_id: UUID) -> DonationRequestPayment | None:
    """A partner's transfer, locked until the transaction ends."""
    row = await tx.fetchrow(
        f"select {_PAYMENT} from request_payment where id = $1 for no key update", request_payment_id
    )
    return _payment(row) if row else None


async def find_request_payment(tx: Tx, request_payment_id: UUID) -> DonationRequestPayment | None:
    """A partner's transfer."""
    row = await tx.fetchrow(f"select {_PAYMENT} from request_payment where id = $1", request_payment_id)
    return _payment(row) if row else None


async def list_request_payments(tx: Tx, request_id: UUID, limit: int) -> list[DonationRequestPayment]:
    """The partner's transfers for a request, oldest first."""
    rows = await tx.fetch(
        f"select {_PAYMENT} from request_payment where donation_request_id = $1 order by id limit $2", request_id, limit
    )
    return [_payment(row) for row in rows]


async def list_held_overpayments(tx: Tx, after: UUID | None, limit: int) -> list[DonationRequestPayment]:
    """Transfers with an unallocated overpayment, oldest first."""
    rows = await tx.fetch(
        f"""
        select {_PAYMENT} from request_payment where status = 'held' and ($1::uuid is null or id > $1)
        order by id limit $2
        """,
        after,
        limit,
    )
    return [_payment(row) for row in rows]


async def count_held_overpayments_up_to(tx: Tx, max_count: int) -> WaitingCount:
    """Count unallocated overpayments up to ``max_count``."""
    row = await tx.fetchrow(
        """
        select count(*)::int, min(received_at)
        from (select received_at from request_payment where status = 'held' order by id limit $1) held
        """,
        max_count,
    )
    assert row is not None
    return WaitingCount(*row)


async def close_overpayment(
    tx: Tx, request_payment: DonationRequestPayment, status: RequestPaymentStatus, decided_by: str, note: str
) -> None:
    """Record the outcome of a locked transfer's overpayment."""
    await tx.execute(
        """
        update request_payment set status = $5, status_changed_at = $2, decided_at = $2, decided_by = $3, note = $4
        where id = $1 and status = 'held'
        """,
        request_payment.id,
        tx.now,
        decided_by,
        note,
        status,
    )


_LAST_RUN: Final = "select last_run_at from schedule where name = $1"


async def find_last_invoicing_at(tx: Tx, schedule_name: str) -> datetime | None:
    """When a schedule last ran."""
    found: datetime | None = await tx.fetchval(_LAST_RUN, schedule_name)
    return found
