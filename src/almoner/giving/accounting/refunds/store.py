"""SQL for refunds. Triggers (``refund_counts``) update the sums of the donation."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.accounting.refunds.domain import REFUND, Refund, RefundStatus, SentRefund
from almoner.kit.money import Money
from almoner.platform.database import keyset
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx

_COLUMNS: Final = (
    "id, donation_id, payment_id, provider, amount_minor, deducted_minor, currency, status, started_at, started_by, "
    "note, "
    "ended_at, ended_by, ended_note, provider_refund"
)


def _refund(row: Record) -> Refund:
    id_, donation_id, payment_id, provider, minor, absorbed, currency, *rest = row[:15]
    return Refund(id_, donation_id, payment_id, provider, Money(minor, currency), Money(absorbed, currency), *rest)


async def insert(tx: Tx, refund: Refund) -> None:
    """Store a new refund; a trigger adds it to its locked donation's sums.

    Raises CheckViolationError if more would be refunded than was donated, or the donation is in a disbursement.
    """
    await tx.execute(
        """
        insert into refund (id, donation_id, payment_id, provider, amount_minor, deducted_minor, currency, status,
                            started_at, started_by, note, status_changed_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $9)
        """,
        refund.id,
        refund.donation_id,
        refund.payment_id,
        refund.provider,
        refund.money.minor,
        refund.nonprofit_share.minor,
        refund.money.currency,
        refund.status,
        refund.started_at,
        refund.started_by,
        refund.note,
    )


async def find(tx: Tx, refund_id: UUID) -> Refund | None:
    """One refund."""
    row = await tx.fetchrow(f"select {_COLUMNS} from refund where id = $1", refund_id)
    return _refund(row) if row else None


async def find_for_update(tx: Tx, refund_id: UUID) -> Refund | None:
    """One refund, locked until the transaction ends; lock its donation first."""
    row = await tx.fetchrow(f"select {_COLUMNS} from refund where id = $1 for no key update", refund_id)
    return _refund(row) if row else None


OF_DONATION: Final = f"select {_COLUMNS} from refund where donation_id = $1 order by id"


async def list_by_donation(tx: Tx, donation_id: UUID) -> list[Refund]:
    """The refunds of one donation, oldest first."""
    return [_refund(row) for row in await tx.fetch(OF_DONATION, donation_id)]


NEWEST: Final = f"""
select {_COLUMNS} from refund where status = any($1) order by id desc limit $2
"""


async def list_newest(tx: Tx, statuses: Sequence[str], limit: int) -> list[Refund]:
    """Refunds with one of these statuses, newest first."""
    return [_refund(row) for row in await tx.fetch(NEWEST, statuses, limit)]


async def list_for_operators(
    tx: Tx, status: RefundStatus | None, provider: str | None, after: UUID | None, limit: int
) -> list[Refund]:
    """A page of refunds for operators, newest first; pending refunds oldest first."""
    where = keyset.equality_conditions({"status": status, "provider": provider})
    rows = await keyset.list_rows_after_id(
        tx, "refund", _COLUMNS, where, after, limit, oldest_first=status == "pending"
    )
    return [_refund(row) for row in rows]


async def count_for_operators(tx: Tx, status: RefundStatus | None, provider: str | None, max_count: int) -> int:
    """Count matching refunds, up to one more than ``max_count``."""
    return await keyset.count_rows_up_to(
        tx, "refund", keyset.equality_conditions({"status": status, "provider": provider}), max_count
    )


@across_partners("operators")
async def needs_resolution(tx: Tx, refund_id: UUID) -> bool:
    """Whether a refund was refused, or failed after it was sent, and no operator has resolved that."""
    of_one = f"select exists (select {UNSENT} and r.id = $1) or exists (select {FAILED_AFTER_SENT} and r.id = $1)"
    return bool(await tx.fetchval(of_one, refund_id))


async def mark_sent(
    tx: Tx, refund_id: UUID, provider_refund_id: str, recorded_by: str | None, note: str | None
) -> bool:
    """Mark a refund as sent; False if its state does not allow it.

    Raises UniqueViolationError if another refund already has the provider's refund ID.
    """
    return bool(
        await tx.fetchval(
            """
            update refund set status = 'sent', status_changed_at = $6, ended_at = $6, provider_refund = $2,
                              ended_by = $3, ended_note = $4
            where id = $1 and status = any($5) returning true
            """,
            refund_id,
            provider_refund_id,
            recorded_by,
            note,
            REFUND.source_states_of("sent"),
            tx.now,
        )
    )


async def mark_refused(tx: Tx, refund_id: UUID, restored: Money, decided_by: str | None, note: str) -> bool:
    """Mark a refund as refused; False if its state does not allow it."""
    return bool(
        await tx.fetchval(
            """
            update refund set status = 'refused', status_changed_at = $6, ended_at = $6, restored_minor = $2,
                              ended_by = $3, ended_note = $4
            where id = $1 and status = any($5) returning true
            """,
            refund_id,
            restored.minor,
            decided_by,
            note,
            REFUND.source_states_of("refused"),
            tx.now,
        )
    )


OF_PAYMENTS: Final = f"""
select {_COLUMNS}, exists (select from settlement_line l where l.refund_id = refund.id) as drawn from refund
where payment_id = any($1::uuid[]) and status = 'sent' order by payment_id, ended_at, id
"""


async def load_sent_refunds_by_payment_id(tx: Tx, payment_ids: Sequence[UUID]) -> Mapping[UUID, list[SentRefund]]:
    """Sent refunds of these payments, oldest first, each with whether a report line is booked for it."""
    found: dict[UUID, list[SentRefund]] = {}
    for row in await tx.fetch(OF_PAYMENTS, payment_ids):
        found.setdefault(row["payment_id"], []).append(SentRefund(_refund(row), row["drawn"]))
    return found


UNSENT: Final = """
from refund r join donation d on d.id = r.donation_id
where r.status = 'refused' and r.ended_by is null and d.refunded_minor < d.amount_minor
  and not exists (select from refund_closure where refund_id = r.id)
  and not exists (
    select from refund l where l.donation_id = r.donation_id and l.id <> r.id and l.started_at >= r.ended_at
  )
"""
"""Refunds that a provider rejected and that were not created again or resolved."""
OLDEST_UNSENT: Final = f"""
select r.* {UNSENT} and ($2::timestamptz is null or (r.ended_at, r.id) > ($2, $3::uuid))
order by r.ended_at, r.id limit $1
"""
FAILED_AFTER_SENT: Final = """
from refund_failure f join refund r on r.id = f.refund_id
where not exists (select from refund_closure where refund_id = f.refund_id)
"""
"""Refunds that failed after they were sent and that were not resolved."""
_FAILED: Final = ", ".join(
    {"ended_at": "f.reported_at as ended_at", "ended_note": "f.reason as ended_note"}.get(column, f"r.{column}")
    for column in _COLUMNS.split(", ")
)
_OLDEST_FAILED: Final = f"""
select {_FAILED} {FAILED_AFTER_SENT} and ($2::timestamptz is null or (f.reported_at, f.refund_id) > ($2, $3::uuid))
order by f.reported_at, f.refund_id limit $1
"""


@across_partners("operators")
async def list_unresolved(tx: Tx, limit: int, after: tuple[datetime, UUID] | None = None) -> list[Refund]:
    """Refused and failed refunds that wait for an operator, oldest first. ``after``: the last one seen."""
    waiting = f"select {_COLUMNS} from ({OLDEST_UNSENT}) r union all select * from ({_OLDEST_FAILED}) f"
    rows = await tx.fetch(
        f"select * from ({waiting}) w order by ended_at, id limit $1", limit, *(after or (None, None))
    )
    return [_refund(row) for row in rows]


COUNT_UNSENT: Final = f"select count(*) {UNSENT}"


@across_partners("operators")
async def count_unresolved(tx: Tx) -> int:
    """Count unsent refunds that wait for an operator."""
    return int(await tx.fetchval(f"select ({COUNT_UNSENT}) + (select count(*) {FAILED_AFTER_SENT})"))


FIND_BY_PROVIDER_REFUND: Final = "select id from refund where provider = $1 and provider_refund = $2"


async def find_id_by_provider_refund_id(tx: Tx, provider: str, provider_refund_id: str) -> UUID | None:
    """The refund with this ID at the provider."""
    found: UUID | None = await tx.fetchval(FIND_BY_PROVIDER_REFUND, provider, provider_refund_id)
    return found


async def has_refund_without_provider_id(tx: Tx, provider: str, provider_payment_id: str) -> bool:
    """Whether the payment has a pending refund, which has no ID at the provider yet."""
    return bool(
        await tx.fetchval(
            """
            select exists (select from refund r join payment p on p.id = r.payment_id
                           where p.provider = $1 and p.provider_payment = $2 and r.status = 'pending')
            """,
            provider,
            provider_payment_id,
        )
    )


async def insert_failure(tx: Tx, refund_id: UUID, reason: str) -> bool:
    """Record that a sent refund failed; False if that is already recorded."""
    return bool(
        await tx.fetchval(
            """
            insert into refund_failure (refund_id, reason, reported_at) values ($1, $2, $3)
            on conflict do nothing returning true
            """,
            refund_id,
            reason,
            tx.now,
        )
    )


async def has_failed(tx: Tx, refund_id: UUID) -> bool:
    """Whether the refund failed after it was sent."""
    return bool(await tx.fetchval("select exists (select from refund_failure where refund_id = $1)", refund_id))


async def insert_resolution(tx: Tx, refund_id: UUID, note: str, resolved_by: str) -> bool:
    """Mark a refused refund as resolved by an operator; False if it is already resolved."""
    return bool(
        await tx.fetchval(
            """
            insert into refund_closure (refund_id, note, decided_by, decided_at) values ($1, $2, $3, $4)
            on conflict do nothing returning true
            """,
            refund_id,
            note,
            resolved_by,
            tx.now,
        )
    )
