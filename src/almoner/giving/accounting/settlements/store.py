"""SQL for settlements and their lines, which belong to no partner: partners see their donations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.accounting.settlements.domain import (
    CurrencyTotal,
    LineKey,
    MismatchReason,
    Settlement,
    SettlementLine,
    SettlementLineKind,
    SettlementReport,
    StoredSettlementLine,
    UnmatchedSettlementLine,
)
from almoner.kit.money import Money
from almoner.platform.database.transactions import Tx

_LINE: Final = (
    "id, settlement_id, provider, kind, provider_payment, gross_minor, fee_minor, currency, reason, created_at, "
    "provider_refund"
)


@dataclass(frozen=True, slots=True)
class MatchedRecord:
    """The payment, unallocated payment, refund or dispute of a booked line.

    ``waived_fee_minor``: the part of the fee that a refunded donation does not pay.
    """

    payment_id: UUID | None = None
    unallocated_payment_id: UUID | None = None
    refund_id: UUID | None = None
    dispute_id: UUID | None = None
    waived_fee_minor: int = 0


_BOOKED: Final = """
select b.id, b.settlement_id from settlement_line b
where (b.provider, b.provider_payment, b.kind) = (l.provider, l.provider_payment, l.kind)
  and (b.provider_refund = l.provider_refund or l.provider_refund = '') and b.status = 'matched'
"""
"""Booked lines of the same movement as ``l``; queries each of two indexes."""
_NOBODY: Final = MatchedRecord()


def _line(row: Record) -> StoredSettlementLine:
    id_, settlement_id, provider, kind, payment, gross, fee, currency, reason, since, refund = row[:11]
    line = SettlementLine(SettlementLineKind(kind), payment, Money(abs(gross), currency), Money(fee, currency), refund)
    return StoredSettlementLine(id_, settlement_id, provider, line, MismatchReason(reason) if reason else None, since)


async def has_payments_at_provider(tx: Tx, provider: str) -> bool:
    """Whether we have any payments or unallocated payments at this provider."""
    return bool(
        await tx.fetchval(
            """
            select exists (select from payment where provider = $1)
                or exists (select from unallocated_payment where provider = $1)
            """,
            provider,
        )
    )


_NEXT_PROVIDERS: Final = """
found_{table} (provider) as (
    select min(provider) from {table}
    union all select (select min(provider) from {table} t where t.provider > f.provider)
    from found_{table} f where f.provider is not null
)
"""
_PROVIDERS: Final = f"""
with recursive {_NEXT_PROVIDERS.format(table="payment")}, {_NEXT_PROVIDERS.format(table="unallocated_payment")}
select provider from found_payment where provider is not null
union select provider from found_unallocated_payment where provider is not null order by 1
"""


async def list_providers(tx: Tx) -> list[str]:
    """The providers that have payments: one step in the index for each."""
    return [row["provider"] for row in await tx.fetch(_PROVIDERS)]


async def insert(tx: Tx, report: SettlementReport) -> None:
    """Store a report without its lines, unless it is already stored."""
    await tx.execute(
        """
        insert into settlement (id, provider, reference, currency, settled_on, sha256, lines, imported_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict on constraint settlement_once do nothing
        """,
        tx.new_id(),
        report.provider,
        report.reference,
        report.currency,
        report.settled_on,
        report.sha256,
        len(report.lines),
        tx.now,
    )


async def find_fully_stored_references(tx: Tx, provider: str, references: Sequence[str]) -> set[str]:
    """Return the references of reports whose lines are all stored."""
    rows = await tx.fetch(
        """
        select reference from settlement s where provider = $1 and reference = any($2)
          and lines = (select count(*) from settlement_line l where l.settlement_id = s.id)
        """,
        provider,
        references,
    )
    return {row["reference"] for row in rows}


async def find_last_fetch_at(tx: Tx, provider: str) -> datetime | None:
    """When a provider's payouts were last fetched."""
    found: datetime | None = await tx.fetchval(
        "select checked_at from settlement_report_check where provider = $1", provider
    )
    return found


async def claim_report_fetch(tx: Tx, provider: str, before: datetime) -> bool:
    """Record that a provider is being queried now; False if another process was faster."""
    return bool(
        await tx.fetchval(
            """
            insert into settlement_report_check as last (provider, checked_at) values ($1, $2)
            on conflict (provider) do update set checked_at = excluded.checked_at where last.checked_at <= $3
            returning true
            """,
            provider,
            tx.now,
            before,
        )
    )


_SETTLEMENT: Final = """
select s.id, s.provider, s.reference, s.currency, s.settled_on, s.sha256, s.lines, s.imported_at,
       case when s.fee_minor is null then added.matched else s.lines - other.lines end as matched, other.exceptions,
       coalesce(s.fee_minor, added.fee_minor) as fee_minor, coalesce(s.net_minor, added.net_minor) as net_minor
from settlement s cross join lateral (
    select count(*) as lines, count(*) filter (where status = 'exception') as exceptions
    from settlement_line where settlement_id = s.id and status <> 'matched'
) other cross join lateral (
    select count(*) filter (where status = 'matched') as matched, coalesce(sum(fee_minor), 0)::bigint as fee_minor,
           coalesce(sum(net_minor), 0)::bigint as net_minor
    from settlement_line where settlement_id = s.id and s.fee_minor is null
) added
"""
"""The lines of a report are only added up until all of them are stored."""


async def find_settlement(tx: Tx, provider: str, reference: str) -> Settlement | None:
    """The provider's report with this reference, and the status of its lines."""
    row = await tx.fetchrow(f"{_SETTLEMENT} where s.provider = $1 and s.reference = $2", provider, reference)
    return Settlement(*row) if row else None


async def save_settlement_totals(tx: Tx, provider: str, reference: str) -> None:
    """Store the totals of a report whose lines are all stored."""
    await tx.execute(
        """
        update settlement s set fee_minor = added.fee_minor, net_minor = added.net_minor
        from (
            select l.settlement_id, sum(l.fee_minor) as fee_minor, sum(l.net_minor) as net_minor
            from settlement_line l join settlement r on r.id = l.settlement_id
            where r.provider = $1 and r.reference = $2 group by l.settlement_id
        ) added
        where added.settlement_id = s.id and s.fee_minor is null
        """,
        provider,
        reference,
    )


async def list_newest(tx: Tx, limit: int, before: UUID | None = None) -> list[Settlement]:
    """The newest reports, before the given one."""
    rows = await tx.fetch(
        f"""
        {_SETTLEMENT} where s.id in (
            select id from settlement where $2::uuid is null or id < $2 order by id desc limit $1
        ) order by s.id desc
        """,
        limit,
        before,
    )
    return [Settlement(*row) for row in rows]


async def load_stored_lines_by_key(
    tx: Tx, settlement_id: UUID, provider_payment_ids: Sequence[str]
) -> dict[LineKey, StoredSettlementLine]:
    """The lines of a report that are already stored."""
    rows = await tx.fetch(
        f"select {_LINE} from settlement_line where settlement_id = $1 and provider_payment = any($2)",
        settlement_id,
        provider_payment_ids,
    )
    return {stored.line.key: stored for stored in map(_line, rows)}


BOOKED_KINDS: Final = """
select provider_payment, kind from settlement_line
where provider = $1 and provider_payment = any($2) and status = 'matched' and refund_id is null
  and dispute_id is null
"""


async def find_booked_line_kinds(
    tx: Tx, provider: str, provider_payment_ids: Sequence[str]
) -> set[tuple[str, SettlementLineKind]]:
    """The provider's payments with booked lines and their kinds; lines of donation refunds by refund."""
    return {
        (row[0], SettlementLineKind(row[1])) for row in await tx.fetch(BOOKED_KINDS, provider, provider_payment_ids)
    }


async def find_settlement_date_of_payment(tx: Tx, payment_id: UUID) -> date | None:
    """The day of the report that settled a payment, or the unallocated payment that was applied as it; None if none."""
    found: date | None = await tx.fetchval(
        """
        with settled as (
            select settlement_id from settlement_line where payment_id = $1 and kind = 'payment'
            union all
            select l.settlement_id from unallocated_payment u
            join settlement_line l on l.unallocated_payment_id = u.id and l.kind = 'payment'
            where u.applied_payment_id = $1
        )
        select s.settled_on from settled join settlement s on s.id = settled.settlement_id
        """,
        payment_id,
    )
    return found


async def insert_lines(
    tx: Tx, lines: Sequence[StoredSettlementLine], matched_records: Mapping[UUID, MatchedRecord]
) -> int:
    """Store new lines, booked with their owner or unbooked with the reason; returns how many were new."""
    status = await tx.execute(
        """
        insert into settlement_line (id, settlement_id, provider, currency, kind, provider_payment, gross_minor,
                                     fee_minor, net_minor, status, reason, payment_id, unallocated_payment_id,
                                     refund_id, waived_fee_minor, provider_refund, dispute_id, created_at, checked_at,
                                     status_changed_at)
        select id, settlement_id, provider, currency, kind, payment, gross, fee, net,
               case when reason is null then 'matched' else 'exception' end, reason, payment_id,
               unallocated_payment_id, refund_id, spared, provider_refund, dispute_id, $12, $12, $12
        from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
                    $8::bigint[], $9::bigint[], $10::text[], $11::uuid[], $13::uuid[], $14::uuid[], $15::text[],
                    $16::bigint[], $17::uuid[])
            as given (id, settlement_id, provider, currency, kind, payment, gross, fee, net, reason, payment_id,
                      unallocated_payment_id, refund_id, provider_refund, spared, dispute_id)
        on conflict on constraint settlement_line_once do nothing
        """,
        [one.id for one in lines],
        [one.settlement_id for one in lines],
        [one.provider for one in lines],
        [one.line.gross.currency for one in lines],
        [one.line.kind.value for one in lines],
        [one.line.provider_payment_id for one in lines],
        [one.line.signed_gross_minor for one in lines],
        [one.line.fee.minor for one in lines],
        [one.line.signed_net_minor for one in lines],
        [one.mismatch_reason for one in lines],
        [matched_records.get(one.id, _NOBODY).payment_id for one in lines],
        tx.now,
        [matched_records.get(one.id, _NOBODY).unallocated_payment_id for one in lines],
        [matched_records.get(one.id, _NOBODY).refund_id for one in lines],
        [one.line.provider_refund_or_dispute_id for one in lines],
        [matched_records.get(one.id, _NOBODY).waived_fee_minor for one in lines],
        [matched_records.get(one.id, _NOBODY).dispute_id for one in lines],
    )
    return int(status.rpartition(" ")[2])


async def update_unmatched_lines(
    tx: Tx, lines: Sequence[StoredSettlementLine], matched_records: Mapping[UUID, MatchedRecord]
) -> None:
    """Record a new check of unmatched lines."""
    await tx.execute(
        """
        update settlement_line l
        set status = case when given.reason is null then 'matched' else 'exception' end, reason = given.reason,
            payment_id = given.payment_id, unallocated_payment_id = given.unallocated_payment_id,
            refund_id = given.refund_id, waived_fee_minor = given.spared, dispute_id = given.dispute_id,
            checked_at = $5,
            status_changed_at = case when given.reason is null then $5 else l.status_changed_at end
        from unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $6::uuid[], $7::bigint[],
                    $8::uuid[])
            as given (id, reason, payment_id, unallocated_payment_id, refund_id, spared, dispute_id)
        where l.id = given.id and l.status = 'exception'
        """,
        [one.id for one in lines],
        [one.mismatch_reason for one in lines],
        [matched_records.get(one.id, _NOBODY).payment_id for one in lines],
        [matched_records.get(one.id, _NOBODY).unallocated_payment_id for one in lines],
        tx.now,
        [matched_records.get(one.id, _NOBODY).refund_id for one in lines],
        [matched_records.get(one.id, _NOBODY).waived_fee_minor for one in lines],
        [matched_records.get(one.id, _NOBODY).dispute_id for one in lines],
    )


async def mark_lines_checked(tx: Tx, line_ids: Sequence[UUID]) -> None:
    """Record a check that changed nothing about these lines."""
    await tx.execute("update settlement_line set checked_at = $2 where id = any($1::uuid[])", line_ids, tx.now)


EXCEPTIONS: Final = f"""
select {_LINE} from settlement_line where status = 'exception' and checked_at < $1 order by checked_at, id limit $2
"""
OLDEST_CHECK: Final = "select min(checked_at) from settlement_line where status = 'exception'"


async def list_unmatched_lines_checked_before(
    tx: Tx, checked_before: datetime, limit: int
) -> list[StoredSettlementLine]:
    """Unmatched lines that were last checked before a given time, longest ago first."""
    return [_line(row) for row in await tx.fetch(EXCEPTIONS, checked_before, limit)]


_UNBOOKED: Final = f"""
select {_LINE}, (select reference from settlement s where s.id = l.settlement_id) as reference,
       (select s.reference from (
            {_BOOKED} and b.refund_id is null and b.dispute_id is null
            union all {_BOOKED} and (b.refund_id is not null or b.dispute_id is not null)
        ) booked join settlement s on s.id = booked.settlement_id order by booked.id limit 1) as booked_in
from settlement_line l
"""


async def list_unmatched_lines(tx: Tx, limit: int, after: UUID | None = None) -> list[UnmatchedSettlementLine]:
    """Unbooked lines, oldest first, with the references of their reports. ``after``: a line's ID."""
    rows = await tx.fetch(
        f"""
        {_UNBOOKED} where l.status = 'exception' and ($2::uuid is null or (l.created_at, l.id) > (
            select created_at, id from settlement_line where id = $2
        )) order by l.created_at, l.id limit $1
        """,
        limit,
        after,
    )
    return [UnmatchedSettlementLine(row["reference"], row["booked_in"], _line(row)) for row in rows]


async def find_unmatched_line(tx: Tx, line_id: UUID) -> UnmatchedSettlementLine | None:
    """Find one unmatched line."""
    row = await tx.fetchrow(f"{_UNBOOKED} where l.status = 'exception' and l.id = $1", line_id)
    return UnmatchedSettlementLine(row["reference"], row["booked_in"], _line(row)) if row else None


async def sum_unmatched_lines_by_currency(tx: Tx) -> list[CurrencyTotal]:
    """The totals of unmatched lines by currency."""
    rows = await tx.fetch(
        """
        select currency, count(*), sum(net_minor)::bigint from settlement_line where status = 'exception'
        group by currency order by currency
        """
    )
    return [CurrencyTotal(*row) for row in rows]


async def dismiss_line(tx: Tx, settlement_id: UUID, key: LineKey, dismissed_by: str, note: str) -> bool:
    """Dismiss an unmatched line, with the operator and the reason; False if it is not unmatched."""
    payment, kind, refund = key
    return bool(
        await tx.fetchval(
            """
            update settlement_line set status = 'cleared', cleared_by = $4, note = $5, status_changed_at = $6
            where settlement_id = $1 and provider_payment = $2 and kind = $3 and provider_refund = $7
              and status = 'exception'
            returning true
            """,
            settlement_id,
            payment,
            kind.value,
            dismissed_by,
            note,
            tx.now,
            refund,
        )
    )


async def lock_unmatched_lines(tx: Tx, line_ids: Sequence[UUID]) -> list[StoredSettlementLine]:
    """Lock those of these lines that are not booked, in a fixed order, until the transaction ends."""
    rows = await tx.fetch(
        f"""
        select {_LINE} from settlement_line where id = any($1::uuid[]) and status = 'exception'
        order by id for no key update
        """,
        line_ids,
    )
    return [_line(row) for row in rows]


async def find_oldest_check_time_of_unmatched_lines(tx: Tx) -> datetime | None:
    """When the unmatched line with the oldest check was last checked."""
    found: datetime | None = await tx.fetchval(OLDEST_CHECK)
    return found
