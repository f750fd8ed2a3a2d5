"""SQL for disbursements."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.checkout.donations.domain import DisbursementBatch
from almoner.giving.disbursing.disbursements.domain import (
    DISBURSEMENT,
    Disbursement,
    DisbursementConfirmation,
    DisbursementFilters,
    DisbursementHold,
    DisbursementStatus,
    NumberedHold,
    OperatorDisbursementFilters,
    ReadyDisbursements,
    WaitingDisbursements,
    WaitingReason,
)
from almoner.kit.money import Money
from almoner.platform.database import keyset
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.conditions import SqlConditions
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import RequestedPage

_COLUMNS: Final = (
    "id, partner_id, organisation_id, amount_minor, currency, donations, status, waiting_reason, end_to_end_id, "
    "created_at, ready_at, sent_at, paid_at, returned_at, return_reason, propagating"
)


def _disbursement(row: Record) -> Disbursement:
    id_, partner_id, organisation_id, minor, currency, donations, status, waiting, *rest = row[:16]
    reason = WaitingReason(waiting) if waiting else None
    return Disbursement(id_, partner_id, organisation_id, Money(minor, currency), donations, status, reason, *rest)


async def insert(tx: Tx, partner: Partner, disbursement: Disbursement) -> None:
    """Store a new disbursement, unless there is an open one."""
    await tx.execute(
        """
        insert into disbursement (id, partner_id, organisation_id, currency, amount_minor, donations, status,
                                  waiting_reason, end_to_end_id, created_at, status_changed_at)
        values ($1, $2, $3, $4, $5, $6, 'PENDING', $7, $8, $9, $9)
        on conflict (partner_id, organisation_id, currency) where status = 'PENDING' do nothing
        """,
        disbursement.id,
        partner.id,
        disbursement.organisation_id,
        disbursement.money.currency,
        disbursement.money.minor,
        disbursement.donation_count,
        disbursement.waiting_reason,
        disbursement.end_to_end_id,
        disbursement.created_at,
    )


@across_partners("operators")
async def list_sent_disbursements_by_ids(tx: Tx, disbursement_ids: Sequence[UUID]) -> list[Disbursement]:
    """Those of the disbursements that are sent and not confirmed."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from disbursement where id = any($1::uuid[]) and status = 'SENT'", disbursement_ids
    )
    return [_disbursement(row) for row in rows]


async def find(tx: Tx, scope: Partner | AllPartners, disbursement_id: UUID) -> Disbursement | None:
    """Find one disbursement; partners do not see an empty one."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from disbursement
        where id = $1 and ($2::uuid is null or (partner_id = $2 and donations > 0))
        """,
        disbursement_id,
        partner_id,
    )
    return _disbursement(row) if row else None


async def find_for_update(tx: Tx, scope: Partner | AllPartners, disbursement_id: UUID) -> Disbursement | None:
    """One disbursement, locked until the transaction ends."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from disbursement where id = $1 and ($2::uuid is null or partner_id = $2) for no key update
        """,
        disbursement_id,
        partner_id,
    )
    return _disbursement(row) if row else None


OPEN: Final = f"""
select {_COLUMNS} from disbursement
where partner_id = $1 and organisation_id = $2 and currency = $3 and status = 'PENDING'
"""


async def find_open_disbursement(tx: Tx, partner: Partner, batch: DisbursementBatch) -> Disbursement | None:
    """The open disbursement to which donations are added."""
    row = await tx.fetchrow(OPEN, partner.id, batch.organisation_id, batch.currency)
    return _disbursement(row) if row else None


async def lock_open_disbursement(tx: Tx, partner: Partner, batch: DisbursementBatch) -> Disbursement | None:
    """The open disbursement to which donations are added, locked until the transaction ends."""
    row = await tx.fetchrow(f"{OPEN} for no key update", partner.id, batch.organisation_id, batch.currency)
    return _disbursement(row) if row else None


async def list_batches_of_open_disbursements(
    tx: Tx, partner: Partner, organisation_id: UUID
) -> list[DisbursementBatch]:
    """The open batches of a nonprofit."""
    rows = await tx.fetch(
        """
        select partner_id, organisation_id, currency from disbursement
        where partner_id = $1 and organisation_id = $2 and status = 'PENDING' order by currency
        """,
        partner.id,
        organisation_id,
    )
    return [DisbursementBatch(*row) for row in rows]


async def update_donation_totals(tx: Tx, disbursement: Disbursement) -> None:
    """Store the totals of a locked pending disbursement, and why it waits."""
    await tx.execute(
        """
        update disbursement set amount_minor = $2, donations = $3, waiting_reason = $4, ready_at = $5 where id = $1
        """,
        disbursement.id,
        disbursement.money.minor,
        disbursement.donation_count,
        disbursement.waiting_reason,
        disbursement.ready_at,
    )


async def update_status(
    tx: Tx, disbursement: Disbursement, target_status: DisbursementStatus, return_reason: str | None = None
) -> bool:
    """Update a disbursement's status; False if the transition is not allowed. Its donations follow later."""
    return bool(
        await tx.fetchval(
            """
            update disbursement
            set status = $2, status_changed_at = $4, propagating = $2 <> 'SENT', return_reason = $5,
                sent_at = case $2 when 'SENT' then $4 else sent_at end,
                paid_at = case $2 when 'PAID' then $4 else paid_at end,
                returned_at = case $2 when 'RETURNED' then $4 else returned_at end
            where id = $1 and status = any($3) returning true
            """,
            disbursement.id,
            target_status,
            DISBURSEMENT.source_states_of(target_status),
            tx.now,
            return_reason,
        )
    )


async def insert_disbursement_confirmation(
    tx: Tx, disbursement: Disbursement, confirmation: DisbursementConfirmation
) -> None:
    """Store who confirmed the payment. Raises CheckViolationError if a second person is required."""
    await tx.execute(
        """
        insert into disbursement_confirmation (
            disbursement_id, amount_minor, single_approval_limit_minor, confirmed_by, note, second_by, second_note,
                confirmed_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        disbursement.id,
        disbursement.money.minor,
        confirmation.single_operator_limit_minor,
        confirmation.confirmed_by,
        confirmation.note,
        *(confirmation.second_operator_and_note or (None, None)),
        tx.now,
    )


@across_partners("sweep")
async def mark_status_propagated(tx: Tx, disbursement_id: UUID) -> None:
    """Record that all donations of a disbursement have its status."""
    await tx.execute("update disbursement set propagating = false where id = $1", disbursement_id)


WAITING_SINCE: Final = """
select greatest(waits.since, (select last_run_at from schedule where name = $1)) from (
    select least(
        (select created_at from disbursement where status = 'PENDING' and donations > 0 order by id limit 1),
        (select sent_at from disbursement where status = 'SENT' order by id limit 1)
    ) as since
) waits where waits.since is not null
"""
TO_PROPAGATE: Final = "select id from disbursement where propagating order by id limit $1"
WITH_STATUS: Final = """
select id from disbursement where status = $1 and ($2::uuid is null or id > $2) order by id limit $3
"""


@across_partners("operators")
async def find_oldest_waiting_since_or_last_run_at(tx: Tx, schedule_name: str) -> datetime | None:
    """Since when the oldest disbursement has waited to be sent or confirmed, or the schedule's last run, if later."""
    found: datetime | None = await tx.fetchval(WAITING_SINCE, schedule_name)
    return found


@across_partners("sweep")
async def list_disbursement_ids_with_unpropagated_status(tx: Tx, limit: int) -> list[UUID]:
    """Disbursements whose donations do not have their status yet."""
    return [row["id"] for row in await tx.fetch(TO_PROPAGATE, limit)]


async def list_disbursement_ids_with_status(
    tx: Tx, status: DisbursementStatus, after: UUID | None, limit: int
) -> list[UUID]:
    """Disbursements with a status, by creation, after the given one."""
    return [row["id"] for row in await tx.fetch(WITH_STATUS, status, after, limit)]


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: DisbursementFilters
) -> tuple[list[Disbursement], int]:
    """One page of the partner's disbursements in reading order, and the exact total, from one snapshot (P7).

    Empty batches, whose donations were all reassigned, are left out.
    """
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    after = f"id {comparison} $2" if page_.after_id else "$2::uuid is null"
    of = "organisation_id = $4" if filters.organisation_id else "$4::uuid is null"
    is_in = "status = $5" if filters.status else "$5::text is null"
    rows = await tx.fetch(
        f"""
        select {_COLUMNS}, total from (
            select count(*) as total from disbursement where partner_id = $1 and donations > 0 and {of} and {is_in}
        ) counted
        left join lateral (
            select {_COLUMNS} from disbursement
            where partner_id = $1 and donations > 0 and {of} and {is_in} and {after}
            order by id {order} limit $3
        ) listed on true
        order by id {order}
        """,
        partner.id,
        page_.after_id,
        page_.fetch_limit,
        filters.organisation_id,
        filters.status,
    )
    return [_disbursement(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def list_newest(tx: Tx, status: DisbursementStatus | None, limit: int) -> list[Disbursement]:
    """The newest disbursements of all partners that are not empty."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from disbursement where donations > 0 and ($1::text is null or status = $1)
        order by id desc limit $2
        """,
        status,
        limit,
    )
    return [_disbursement(row) for row in rows]


async def list_for_operators(
    tx: Tx, filters: OperatorDisbursementFilters, after: UUID | None, limit: int
) -> list[Disbursement]:
    """Disbursements of all partners that are not empty, newest first, after the given one."""
    rows = await keyset.list_rows_after_id(tx, "disbursement", _COLUMNS, _where(filters), after, limit)
    return [_disbursement(row) for row in rows]


async def find_oldest_unconfirmed_sent_at(tx: Tx) -> datetime | None:
    """When the oldest of the disbursements that are SENT was sent; None if there are none."""
    where = keyset.equality_conditions({"status": "SENT"})
    rows = await keyset.list_rows_after_id(tx, "disbursement", "sent_at", where, None, 1, oldest_first=True)
    return rows[0]["sent_at"] if rows else None


async def count_for_operators(tx: Tx, filters: OperatorDisbursementFilters, max_count: int) -> int:
    """Count matching disbursements, up to one more than ``max_count``."""
    return await keyset.count_rows_up_to(tx, "disbursement", _where(filters), max_count)


def _where(filters: OperatorDisbursementFilters) -> SqlConditions:
    found = keyset.equality_conditions(
        {
            "partner_id": filters.partner_id,
            "organisation_id": filters.organisation_id,
            "status": filters.status,
            "waiting_reason": filters.waiting_reason,
            "amount_minor": filters.money and filters.money.minor,
            "currency": filters.money and filters.money.currency,
        }
    )
    found.add_without_value("donations > 0")
    return found


@across_partners("operators")
async def count_and_sum_ready_disbursements_by_currency(tx: Tx) -> list[ReadyDisbursements]:
    """Disbursements that the next run sends, by currency."""
    rows = await tx.fetch(
        """
        select count(*)::int, sum(amount_minor)::bigint, currency from disbursement
        where status = 'PENDING' and donations > 0 and waiting_reason is null group by currency order by currency
        """
    )
    return [ReadyDisbursements(row[0], Money(row[1], row[2])) for row in rows]


@across_partners("operators")
async def count_waiting_disbursements_by_reason(tx: Tx) -> list[WaitingDisbursements]:
    """Waiting disbursements by reason, those that wait longest first."""
    rows = await tx.fetch(
        """
        select waiting_reason, count(*)::int, min(created_at) from disbursement
        where status = 'PENDING' and donations > 0 and waiting_reason is not null group by 1 order by 3
        """
    )
    return [WaitingDisbursements(WaitingReason(row[0]), row[1], row[2]) for row in rows]


async def find_last_disbursement_return_at(tx: Tx, partner: Partner, donation_id: UUID) -> datetime | None:
    """When the last disbursement of a donation was returned."""
    found: datetime | None = await tx.fetchval(
        """
        select max(d.returned_at) from returned_disbursement_donation g join disbursement d on d.id = g.disbursement_id
        where g.donation_id = $2 and d.partner_id = $1
        """,
        partner.id,
        donation_id,
    )
    return found


async def insert_hold(tx: Tx, hold: DisbursementHold) -> None:
    """Store an operator's decision to hold or release payments to a nonprofit, with the reason."""
    await tx.execute(
        """
        insert into disbursement_hold (
            partner_id, organisation_id, held, note, decided_by, decided_at, second_by, second_note
        ) values ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        hold.partner_id,
        hold.organisation_id,
        hold.is_held,
        hold.note,
        hold.decided_by,
        hold.decided_at,
        hold.second_decided_by,
        hold.second_note,
    )


@across_partners("held")
async def was_held_automatically(tx: Tx, organisation_id: UUID, cause_id: str) -> bool:
    """Whether disbursements to a nonprofit were ever held automatically for this cause."""
    return bool(
        await tx.fetchval(
            "select exists (select from disbursement_hold "
            "where organisation_id = $1 and held and position($2 in note) > 0)",
            organisation_id,
            cause_id,
        )
    )


async def bank_statement_shows_payment(tx: Tx, disbursement_id: UUID) -> bool:
    """Whether a bank line shows that a disbursement was paid, and none that it was returned."""
    return bool(
        await tx.fetchval(
            """
            select exists (select from bank_statement_line where disbursement_id = $1 and matched_as = 'disbursement')
               and not exists (select from bank_statement_line where disbursement_id = $1
               and matched_as = 'disbursement_return')
            """,
            disbursement_id,
        )
    )


async def lock_holds(tx: Tx, organisation_id: UUID) -> None:
    """Lock the holds of a nonprofit until the transaction ends."""
    await tx.execute(
        "select pg_advisory_xact_lock(hashtextextended('disbursement_hold ' || $1::uuid::text, 0))", organisation_id
    )


SENT: Final = f"""
select {_COLUMNS} from disbursement
where status = 'SENT' and currency = $1 and ($2::uuid is null or id > $2) order by id limit $3
"""


@across_partners("operators")
async def list_sent_disbursements(tx: Tx, currency: str, after: UUID | None, limit: int) -> list[Disbursement]:
    """Sent disbursements in a currency, by creation, after the given one."""
    return [_disbursement(row) for row in await tx.fetch(SENT, currency, after, limit)]


async def are_disbursements_on_hold(tx: Tx, partner: Partner, organisation_id: UUID) -> bool:
    """Whether disbursements of a partner's donations to a nonprofit are on hold."""
    return bool(await tx.fetchval("select disbursement_is_held($1, $2)", partner.id, organisation_id))


_NEWEST_HOLDS: Final = """
select distinct on (organisation_id, partner_id) * from disbursement_hold
order by organisation_id, partner_id, id desc
"""


@across_partners("operators")
async def list_active_holds_after_id(tx: Tx, limit: int, after_id: int) -> list[NumberedHold]:
    """A page of active holds, oldest first."""
    rows = await tx.fetch(
        f"""
        select id, partner_id, organisation_id, held, note, decided_by, decided_at from ({_NEWEST_HOLDS}) newest
        where held and id > $2 order by id limit $1
        """,
        limit,
        after_id,
    )
    return [NumberedHold(row[0], DisbursementHold(*row[1:])) for row in rows]


@across_partners("operators")
async def count_active_holds(tx: Tx) -> int:
    """Count the active holds."""
    return int(await tx.fetchval(f"select count(*) from ({_NEWEST_HOLDS}) newest where held"))


@across_partners("operators")
async def list_active_holds(tx: Tx, organisation_id: UUID | None = None) -> list[DisbursementHold]:
    """The active holds of one nonprofit or of all, oldest first."""
    of = "organisation_id = $1" if organisation_id else "$1::uuid is null"
    rows = await tx.fetch(
        f"""
        select partner_id, organisation_id, held, note, decided_by, decided_at from (
            select distinct on (organisation_id, partner_id) * from disbursement_hold
            where {of} order by organisation_id, partner_id, id desc
        ) newest where held order by id
        """,
        organisation_id,
    )
    return [DisbursementHold(*row) for row in rows]


@across_partners("operators")
async def list_active_holds_of_organisations(tx: Tx, organisation_ids: Sequence[UUID]) -> list[DisbursementHold]:
    """The active holds of these nonprofits, oldest first."""
    rows = await tx.fetch(
        """
        select partner_id, organisation_id, held, note, decided_by, decided_at from (
            select distinct on (organisation_id, partner_id) * from disbursement_hold
            where organisation_id = any($1::uuid[]) order by organisation_id, partner_id, id desc
        ) newest where held order by id
        """,
        organisation_ids,
    )
    return [DisbursementHold(*row) for row in rows]


async def lock_open_disbursements(tx: Tx, scope: Partner | AllPartners, organisation_id: UUID) -> list[Disbursement]:
    """Lock the open batches of a nonprofit in a fixed order, until the transaction ends."""
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from disbursement
        where organisation_id = $1 and status = 'PENDING' and ($2::uuid is null or partner_id = $2)
        order by id for no key update
        """,
        organisation_id,
        scope.id if isinstance(scope, Partner) else None,
    )
    return [_disbursement(row) for row in rows]
