"""SQL for disputes. They belong to no partner: partners see only their donations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.accounting.disputes.domain import DISPUTE, AbsorbedLoss, BookedDispute, Dispute, DisputeOutcome
from almoner.giving.checkout.payments.domain import DisputeStatus
from almoner.kit.money import Money
from almoner.platform.database import keyset
from almoner.platform.database.transactions import Tx

_COLUMNS: Final = (
    "id, provider, provider_payment, provider_dispute, donation_id, unallocated_payment_id, amount_minor, currency, "
    "status, "
    "reason, opened_at, received_at, decided_at, decided_by, note, absorbed_minor, disbursed, recovered_minor, "
    "evidence_due_at"
)


def _dispute(row: Record) -> Dispute:
    absorbed, recovered, currency = row["absorbed_minor"], row["recovered_minor"], row["currency"]
    brought = None if recovered is None else Money(recovered, currency)
    return Dispute(
        row["id"],
        row["provider"],
        row["provider_payment"],
        row["provider_dispute"],
        row["donation_id"],
        row["unallocated_payment_id"],
        Money(row["amount_minor"], currency),
        DisputeStatus(row["status"]),
        row["reason"],
        row["opened_at"],
        row["received_at"],
        row["decided_at"],
        row["decided_by"],
        row["note"],
        None if absorbed is None else AbsorbedLoss(Money(absorbed, currency), row["disbursed"], brought),
        evidence_due_at=row["evidence_due_at"],
    )


async def insert(tx: Tx, dispute: Dispute) -> bool:
    """Store an open dispute; False if it is already stored."""
    return bool(
        await tx.fetchval(
            """
            insert into dispute (id, provider, provider_payment, provider_dispute, donation_id, unallocated_payment_id,
                                 amount_minor, currency, status, reason, opened_at, received_at, checked_at,
                                 status_changed_at, evidence_due_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, 'open', $9, $10, $11, $11, $11, $12)
            on conflict on constraint dispute_once do nothing returning true
            """,
            dispute.id,
            dispute.provider,
            dispute.provider_payment_id,
            dispute.provider_dispute_id,
            dispute.donation_id,
            dispute.unallocated_payment_id,
            dispute.money.minor,
            dispute.money.currency,
            dispute.reason,
            dispute.opened_at,
            dispute.received_at,
            dispute.evidence_due_at,
        )
    )


async def update_evidence_due_at(tx: Tx, dispute_id: UUID, due_at: datetime | None) -> None:
    """Store the provider's deadline for evidence."""
    await tx.execute("update dispute set evidence_due_at = $2 where id = $1", dispute_id, due_at)


async def find(tx: Tx, dispute_id: UUID) -> Dispute | None:
    """One dispute."""
    row = await tx.fetchrow(f"select {_COLUMNS} from dispute where id = $1", dispute_id)
    return _dispute(row) if row else None


OF_PAYMENT: Final = f"select {_COLUMNS} from dispute where provider = $1 and provider_payment = $2 order by id"


async def list_by_payment(tx: Tx, provider: str, provider_payment_id: str) -> list[Dispute]:
    """The disputes of a payment, oldest first. To change them, lock the donation or unallocated payment."""
    return [_dispute(row) for row in await tx.fetch(OF_PAYMENT, provider, provider_payment_id)]


OF_PAYMENTS: Final = f"""
select {_COLUMNS}, array(
    select kind from settlement_line where dispute_id = dispute.id and settlement_line.status = 'matched'
) as told
from dispute where provider = $1 and provider_payment = any($2) order by id
"""


async def list_booked_disputes(tx: Tx, provider: str, provider_payment_ids: Sequence[str]) -> list[BookedDispute]:
    """The disputes of several payments, each with the kinds of report lines booked for it."""
    rows = await tx.fetch(OF_PAYMENTS, provider, provider_payment_ids)
    return [BookedDispute(_dispute(row), frozenset(row["told"])) for row in rows]


async def list_newest(tx: Tx, statuses: Sequence[str], limit: int) -> list[Dispute]:
    """Disputes with one of these statuses, newest first."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from dispute where status = any($1) order by id desc limit $2", statuses, limit
    )
    return [_dispute(row) for row in rows]


async def list_for_operators(tx: Tx, status: DisputeStatus | None, after: UUID | None, limit: int) -> list[Dispute]:
    """A page of disputes for operators, newest first; open disputes oldest first."""
    where = keyset.equality_conditions({"status": status and status.value})
    rows = await keyset.list_rows_after_id(
        tx, "dispute", _COLUMNS, where, after, limit, oldest_first=status is DisputeStatus.OPEN
    )
    return [_dispute(row) for row in rows]


async def count_for_operators(tx: Tx, status: DisputeStatus | None, max_count: int) -> int:
    """Count matching disputes, up to one more than ``max_count``."""
    return await keyset.count_rows_up_to(
        tx, "dispute", keyset.equality_conditions({"status": status and status.value}), max_count
    )


async def close_dispute(tx: Tx, dispute_id: UUID, outcome: DisputeOutcome, loss: AbsorbedLoss | None = None) -> bool:
    """Close a dispute with its outcome; False if it is already closed."""
    return bool(
        await tx.fetchval(
            """
            update dispute
            set status = $2, status_changed_at = $4, decided_at = $4, decided_by = $5, note = $6, absorbed_minor = $7,
                disbursed = $8
            where id = $1 and status = any($3) returning true
            """,
            dispute_id,
            outcome.outcome,
            DISPUTE.source_states_of(outcome.outcome),
            tx.now,
            outcome.recorded_by,
            outcome.note,
            loss.absorbed_amount.minor if loss else None,
            loss is not None and loss.was_disbursed,
        )
    )


UNRECOVERED: Final = f"""
select {_COLUMNS} from dispute where donation_id = $1 and disbursed and recovered_minor is null order by id
"""


async def list_with_unrecovered_loss(tx: Tx, donation_id: UUID) -> list[Dispute]:
    """Disputes of the donation that were lost after it was disbursed, and whose loss is not recovered."""
    return [_dispute(row) for row in await tx.fetch(UNRECOVERED, donation_id)]


async def record_recovered_amount(tx: Tx, dispute_id: UUID, money: Money) -> None:
    """Record how much of a loss was recovered by a returned disbursement."""
    await tx.execute("update dispute set recovered_minor = $2 where id = $1", dispute_id, money.minor)


_CLAIM_DUE: Final = """
with due as materialized (
    select id from dispute where status = 'open' and checked_at <= $1 order by checked_at limit $2
    for update skip locked
)
update dispute d set checked_at = $3 from due where d.id = due.id returning d.provider_payment
"""


async def claim_payments_due_for_refresh(tx: Tx, checked_before: datetime, limit: int) -> list[str]:
    """Claim open disputes last refreshed before a given time; returns their payments."""
    return [row["provider_payment"] for row in await tx.fetch(_CLAIM_DUE, checked_before, limit, tx.now)]


OLDEST_REFRESH: Final = "select min(checked_at) from dispute where status = 'open'"


async def find_least_recent_refresh_time(tx: Tx) -> datetime | None:
    """The earliest time of the last refresh among open disputes; None without any."""
    found: datetime | None = await tx.fetchval(OLDEST_REFRESH)
    return found


COUNT_OPEN: Final = "select count(*)::int from dispute where status = 'open'"


async def count_open(tx: Tx) -> int:
    """Count open disputes."""
    return int(await tx.fetchval(COUNT_OPEN))
