"""SQL for bank statements and their lines."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.giving.banking.bank_statements.domain import (
    BankLine,
    BankMovement,
    BankStatement,
    ImportedStatement,
    LineDetails,
    LineFilters,
    MatchedAs,
    MissingProviderPayout,
    NewStatementLine,
    PossibleDuplicate,
    ProviderPayout,
    UnreconciledLineReason,
)
from almoner.giving.checkout.payments.domain import UnallocatedReason
from almoner.kit.counts import WaitingCount
from almoner.platform.database import keyset
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.conditions import SqlConditions
from almoner.platform.database.transactions import Tx

_COLUMNS: Final = (
    "id, account, booked_on, amount_minor, currency, bank_reference, end_to_end_id, counterparty, "
    "remittance_information, "
    "return_reason, reversal, status, reason, matched_as, created_at, booking_error, occurrence"
)
_MOVEMENT: Final = (
    "booked_on, amount_minor, currency, bank_reference, end_to_end_id, counterparty, "
    "remittance_information, return_reason, reversal"
)
_TARGET_COLUMN: Final = {
    "request": "request_payment_id",
    "settlement": "settlement_id",
    "donation": "settlement_id",
    "donation_refund": "settlement_id",
    "disbursement": "disbursement_id",
    "disbursement_return": "disbursement_id",
}


def _line(row: Record) -> BankLine:
    reason = UnreconciledLineReason(row["reason"]) if row["reason"] else None
    return BankLine(row[0], row[1], BankMovement(*row[2:11]), row["status"], reason, *row[13:17])


async def lock_account(tx: Tx, account: str) -> None:
    """Lock an account until the transaction ends, so that its imports run one at a time."""
    await tx.execute("select pg_advisory_xact_lock(hashtextextended('bank account ' || $1::text, 0))", account)


async def lock_movements_of_same_day_and_amount(tx: Tx, line: BankLine) -> None:
    """Lock lines of the same day and amount, so that they are reconciled one at a time."""
    await tx.execute(
        "select pg_advisory_xact_lock(hashtextextended('bank movement ' || $1::text || ' ' || $2::text, 0))",
        line.account,
        f"{line.movement.booked_on} {line.movement.amount_minor}",
    )


async def load_statement_number_and_file_count(tx: Tx, statement: BankStatement) -> tuple[int, int]:
    """The number of this statement among those with its reference, and the number of files with its lines.

    Banks reuse references: other days or another sequence number make another statement.
    """
    first, last = statement.date_range or (None, None)
    row = await tx.fetchrow(
        """
        select recurrence, count(*)::int from bank_statement where account = $1 and reference = $2 group by recurrence
        having (bool_and(sequence is null) or $5::text is null or bool_or(sequence = $5))
           and coalesce(min(begins_on) <= $4::date and max(ends_on) >= $3::date, true)
        order by recurrence desc limit 1
        """,
        statement.account,
        statement.reference,
        first,
        last,
        statement.sequence_number,
    )
    if row is not None:
        return row[0], row[1]
    known = await tx.fetchval(
        "select max(recurrence) from bank_statement where account = $1 and reference = $2",
        statement.account,
        statement.reference,
    )
    return (known or 0) + 1, 0


async def list_stored_movements_of_statement(
    tx: Tx, account: str, reference: str, statement_number: int
) -> list[BankMovement]:
    """The stored movements of a statement."""
    rows = await tx.fetch(
        f"""
        select {_MOVEMENT} from bank_statement_line
        where statement_id in (
            select id from bank_statement where account = $1 and reference = $2 and recurrence = $3
        )
        """,
        account,
        reference,
        statement_number,
    )
    return [BankMovement(*row) for row in rows]


async def list_movements_imported_from_account_exports(
    tx: Tx, account: str, currency: str, first_day: date, last_day: date
) -> list[BankMovement]:
    """The stored movements of an account's exports for some days."""
    rows = await tx.fetch(
        f"""
        select {_MOVEMENT} from bank_statement_line where booked_on between $3 and $4 and statement_id in (
            select id from bank_statement where account = $1 and currency = $2 and export
        )
        """,
        account,
        currency,
        first_day,
        last_day,
    )
    return [BankMovement(*row) for row in rows]


async def insert_statement_lines(
    tx: Tx,
    statement: BankStatement,
    lines: Sequence[NewStatementLine],
    statement_number_and_file_number: tuple[int, int],
    imported_by: str,
) -> None:
    """Store a statement, or its new lines.

    ``statement_number_and_file_number``: from ``load_statement_number_and_file_count``, including this one.
    """
    statement_id, (first, last) = tx.new_id(), statement.date_range or (None, None)
    await tx.execute(
        """
        insert into bank_statement (id, account, reference, currency, opening_minor, closing_minor, sha256, lines,
                                    imported_by, imported_at, part, begins_on, ends_on, export, recurrence, sequence,
                                    form, rejected_lines)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
        """,
        statement_id,
        statement.account,
        statement.reference,
        statement.currency,
        statement.opening_minor,
        statement.closing_minor,
        statement.sha256,
        len(lines),
        imported_by,
        tx.now,
        statement_number_and_file_number[1],
        first,
        last,
        statement.is_account_export,
        statement_number_and_file_number[0],
        statement.sequence_number,
        statement.file_format,
        statement.rejected,
    )
    await _insert_lines(tx, statement_id, statement, lines)


async def _insert_lines(tx: Tx, statement_id: UUID, new: BankStatement, lines: Sequence[NewStatementLine]) -> None:
    moved = [one.movement for one in lines]
    await tx.execute(
        """
        insert into bank_statement_line (
            id, statement_id, position, account, booked_on, amount_minor, currency, bank_reference, end_to_end_id,
            counterparty, remittance_information, return_reason, reversal, occurrence, status, reason, created_at,
            status_changed_at
        ) select given.id, $1, position, $2, booked_on, minor, $3, reference, end_to_end_id, other,
            remitted, returned, reversal, occurrence, 'open', 'unknown', $4, $4
        from unnest($5::uuid[], $6::date[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[],
                    $13::int[], $14::bool[], $15::int[])
            as given (id, booked_on, minor, reference, end_to_end_id, other, remitted, returned, position, reversal,
                      occurrence)
        """,
        statement_id,
        new.account,
        new.currency,
        tx.now,
        [tx.new_id() for _ in moved],
        [one.booked_on for one in moved],
        [one.amount_minor for one in moved],
        [one.reference for one in moved],
        [one.end_to_end_id for one in moved],
        [one.counterparty for one in moved],
        [one.remittance_information for one in moved],
        [one.return_reason for one in moved],
        [one.position for one in lines],
        [one.is_reversal for one in moved],
        [one.occurrence_number for one in lines],
    )


_OPEN_LINES: Final = (
    "select id from bank_statement_line where status = 'open' and ($1::uuid is null or id > $1) order by id limit $2"
)


async def list_unreconciled_line_ids(tx: Tx, after: UUID | None, limit: int) -> list[UUID]:
    """Open lines after the given one, oldest first."""
    return [row[0] for row in await tx.fetch(_OPEN_LINES, after, limit)]


async def list_oldest_open_or_newest_lines(tx: Tx, limit: int, *, newest_of_any_status: bool) -> list[BankLine]:
    """The oldest open lines, or the newest of all."""
    where, order = ("", "desc") if newest_of_any_status else ("where status = 'open'", "asc")
    rows = await tx.fetch(f"select {_COLUMNS} from bank_statement_line {where} order by id {order} limit $1", limit)
    return [_line(row) for row in rows]


_DETAILS: Final = f"""
select {", ".join(f"l.{column.strip()}" for column in _COLUMNS.split(","))}, s.reference,
       coalesce(l.request_payment_id, l.settlement_id, l.disbursement_id), l.decided_by,
       case when l.status = 'open' then null else l.status_changed_at end, l.note
from bank_statement_line l join bank_statement s on s.id = l.statement_id
"""


async def find_unallocated_reason(tx: Tx, line_id: UUID) -> UnallocatedReason | None:
    """Why the money of a booked line pays no donation; None if it does."""
    reason = await tx.fetchval(
        """
        select u.reason from bank_statement_line b
        join settlement_line l on l.settlement_id = b.settlement_id
        join unallocated_payment u on u.id = l.unallocated_payment_id
        where b.id = $1 and b.matched_as = 'donation' limit 1
        """,
        line_id,
    )
    return UnallocatedReason(reason) if reason else None


_MOVEMENT_OF_LINE: Final = ", ".join(f"b.{column.strip()}" for column in _MOVEMENT.split(","))


async def load_movements_by_unallocated_payment(
    tx: Tx, unallocated_payment_ids: Sequence[UUID]
) -> dict[UUID, BankMovement]:
    """The bank transfers by which unallocated payments arrived; not the provider payouts that contain card payments."""
    rows = await tx.fetch(
        f"""
        select s.unallocated_payment_id, {_MOVEMENT_OF_LINE}
        from settlement_line s join bank_statement_line b on b.settlement_id = s.settlement_id
        where s.unallocated_payment_id = any($1) and s.kind = 'payment' and b.matched_as = 'donation'
        """,
        unallocated_payment_ids,
    )
    return {row[0]: BankMovement(*row[1:]) for row in rows}


async def find_line_details(tx: Tx, line_id: UUID) -> LineDetails | None:
    """A line with its statement and decisions."""
    row = await tx.fetchrow(f"{_DETAILS} where l.id = $1", line_id)
    return LineDetails(_line(row), *row[17:22]) if row else None


async def load_line_details_by_id(tx: Tx, line_ids: Sequence[UUID]) -> dict[UUID, LineDetails]:
    """``find_line_details`` of several lines, by ID."""
    rows = await tx.fetch(f"{_DETAILS} where l.id = any($1::uuid[])", line_ids)
    return {row["id"]: LineDetails(_line(row), *row[17:22]) for row in rows}


async def list_filtered_lines(tx: Tx, filters: LineFilters, after: UUID | None, limit: int) -> list[BankLine]:
    """A page of statement lines in import order: open lines oldest first, others newest first."""
    rows = await keyset.list_rows_after_id(
        tx, "bank_statement_line", _COLUMNS, _where(filters), after, limit, oldest_first=filters.status == "open"
    )
    return [_line(row) for row in rows]


async def count_lines(tx: Tx, filters: LineFilters, max_count: int) -> int:
    """Count matching lines, up to one more than ``max_count``."""
    return await keyset.count_rows_up_to(tx, "bank_statement_line", _where(filters), max_count)


def _where(filters: LineFilters) -> SqlConditions:
    found = SqlConditions(bound=0)
    if filters.status == "open":
        found.add_without_value("status = 'open'")  # the same condition as in the index of open lines
    elif filters.status is not None:
        found.add("status = {}", filters.status)
    for condition, value in (
        ("reason = {}", filters.reason),
        ("account = {}", filters.account),
        (
            "amount_minor = any({})",
            None
            if filters.amounts_minor is None
            else [*filters.amounts_minor, *(-one for one in filters.amounts_minor)],
        ),
        ("booked_on = {}", filters.booked_on),
    ):
        if value is not None:
            found.add(condition, value)
    return found


_STATEMENTS: Final = """
select id, account, reference, currency, opening_minor, closing_minor, lines, imported_by, imported_at, begins_on,
       ends_on, form, rejected_lines
from bank_statement where $1::uuid is null or id < $1 order by id desc limit $2
"""


async def list_statements(tx: Tx, after: UUID | None, limit: int) -> list[ImportedStatement]:
    """The newest statements, after the given one."""
    return [ImportedStatement(*row) for row in await tx.fetch(_STATEMENTS, after, limit)]


async def load_last_covered_days_by_account_and_currency(tx: Tx) -> dict[tuple[str, str], date]:
    """The last day that statements of each account and currency cover."""
    rows = await tx.fetch(
        "select account, currency::text, max(ends_on) from bank_statement where ends_on is not null group by 1, 2"
    )
    return {(row[0], row[1]): row[2] for row in rows}


async def find_oldest_unreconciled_line_at(tx: Tx) -> datetime | None:
    """When the oldest open line was imported."""
    found: datetime | None = await tx.fetchval(
        "select created_at from bank_statement_line where status = 'open' order by id limit 1"
    )
    return found


async def find_line_for_update(tx: Tx, line_id: UUID) -> BankLine | None:
    """One line, locked until the transaction ends."""
    row = await tx.fetchrow(f"select {_COLUMNS} from bank_statement_line where id = $1 for no key update", line_id)
    return _line(row) if row else None


_DUPLICATES: Final = """
select l.bank_reference = mine.bank_reference and o.id <> s.id
           and coalesce(l.end_to_end_id = mine.end_to_end_id, true)
           and coalesce(l.remittance_information = mine.remittance_information, true),
       l.booked_on, l.amount_minor, l.currency, l.bank_reference, l.end_to_end_id, l.counterparty,
       l.remittance_information, l.return_reason, l.reversal
from bank_statement_line mine
join bank_statement s on s.id = mine.statement_id
join bank_statement_line l on l.account = mine.account and l.amount_minor = mine.amount_minor
    and l.booked_on between mine.booked_on - 10 and mine.booked_on + 10 and l.reversal = mine.reversal
    and l.id <> mine.id and (l.id < mine.id or l.status = 'matched')
join bank_statement o on o.id = l.statement_id
where mine.id = $1 and case
    when (o.reference, o.recurrence) is not distinct from (s.reference, s.recurrence) then
        l.bank_reference = mine.bank_reference and l.occurrence < mine.occurrence
        and l.bank_reference not like '#%' and s.opening_minor is null
        and l.remittance_information is not distinct from mine.remittance_information
        and l.end_to_end_id is not distinct from mine.end_to_end_id
    when l.bank_reference = mine.bank_reference then
        (l.booked_on = mine.booked_on and l.occurrence = mine.occurrence)
        or (l.remittance_information = mine.remittance_information
            and l.end_to_end_id is not distinct from mine.end_to_end_id)
        or (l.remittance_information is null and mine.remittance_information is null
            and l.end_to_end_id = mine.end_to_end_id)
    else l.booked_on = mine.booked_on and s.form is not null and o.form is not null and (
        s.form <> o.form or starts_with(l.bank_reference, '#') <> starts_with(mine.bank_reference, '#')
    )
end
limit 200
"""
"""Lines that may show the same money: in other statements, by the bank's reference, or as other file formats show it.

One statement may have several movements with one reference; without balances, equal lines may be repeats. A reversal
usually has the reference of the movement it reverses. IDs follow the start of an import: one that started first may be
stored and reconciled last.
"""


async def list_possible_duplicates(tx: Tx, line: BankLine) -> list[PossibleDuplicate]:
    """Movements that may be duplicates of the line."""
    return [PossibleDuplicate(row[0], BankMovement(*row[1:])) for row in await tx.fetch(_DUPLICATES, line.id)]


async def mark_not_duplicate(tx: Tx, line: BankLine) -> None:
    """Mark a line as different from similar ones in other statements."""
    await tx.execute(
        """
        update bank_statement_line set occurrence = 1 + (
            select max(occurrence) from bank_statement_line
            where account = $2 and bank_reference = $3 and booked_on = $4 and amount_minor = $5 and reversal = $6
        ) where id = $1 and exists (
            select from bank_statement_line l
            where l.account = $2 and l.bank_reference = $3 and l.booked_on = $4 and l.amount_minor = $5
              and l.reversal = $6 and l.id <> $1 and l.occurrence = bank_statement_line.occurrence
        )
        """,
        line.id,
        line.account,
        line.movement.reference,
        line.movement.booked_on,
        line.movement.amount_minor,
        line.movement.is_reversal,
    )


async def is_bank_reference_matched_by_other_line(tx: Tx, line: BankLine, matched_as: MatchedAs) -> bool:
    """Whether another line with the same bank reference is already booked as this kind."""
    return bool(
        await tx.fetchval(
            "select exists (select from bank_statement_line "
            "where bank_reference = $1 and matched_as = $2 and id <> $3)",
            line.movement.reference,
            matched_as,
            line.id,
        )
    )


async def list_payment_ids_reversed_by_line(tx: Tx, line: BankLine) -> list[UUID]:
    """The payments of donations that a line reverses, by the bank reference of the original line."""
    rows = await tx.fetch(
        """
        select distinct payment_id from settlement_line where payment_id is not null and settlement_id in (
            select settlement_id from bank_statement_line
            where account = $1 and bank_reference = $2 and matched_as = 'donation'
        )
        """,
        line.account,
        line.movement.reference,
    )
    return [row[0] for row in rows]


async def find_provider_payout(tx: Tx, provider: str, reference: str) -> ProviderPayout | None:
    """Find a provider payout by the provider's reference."""
    row = await tx.fetchrow(
        """
        select s.id, s.reference, s.currency,
               (select coalesce(sum(net_minor), 0)::bigint from settlement_line where settlement_id = s.id)
        from settlement s where s.provider = $1 and s.reference = $2 and s.provider <> 'bank_transfer'
        """,
        provider,
        reference,
    )
    return ProviderPayout(*row) if row else None


async def find_referenced_provider_payouts(
    tx: Tx, movement: BankMovement, within_days: int, min_reference_length: int
) -> list[ProviderPayout]:
    """Provider payouts of the days around a line whose reference is in its text."""
    rows = await tx.fetch(
        """
        select s.id, s.reference, s.currency, sum(l.net_minor)::bigint from settlement s
        join settlement_line l on l.settlement_id = s.id
        where s.provider <> 'bank_transfer' and s.settled_on between $1::date - $2::int and $1::date + $2::int
          and length(s.reference) >= $3 and position(upper(s.reference) in upper($4)) > 0
        group by 1, 2, 3
        """,
        movement.booked_on,
        within_days,
        min_reference_length,
        movement.reference_search_text,
    )
    return [ProviderPayout(*row) for row in rows]


_UNBANKED: Final = """
from unreconciled_settlement s where exists (select from bank_statement b where b.currency = s.currency)
"""
"""Only currencies with imported statements; for others nothing is known."""


_MISSING_PROVIDER_PAYOUT: Final = f"""
select s.provider, s.settled_on, s.id, s.reference, s.currency, s.net_minor, s.imported_at,
       (select count(*)::int from bank_statement_line l where l.status = 'open' and length(s.reference) >= 6
            and position(upper(s.reference) in upper(concat_ws(' ', l.end_to_end_id,
                l.remittance_information))) > 0)
{_UNBANKED}
"""


async def list_missing_provider_payouts(
    tx: Tx, limit: int, after: tuple[datetime, UUID] | None = None
) -> list[MissingProviderPayout]:
    """Provider payouts without a bank line, oldest first. ``after``: the last one of the previous page."""
    rows = await tx.fetch(
        f"""
        {_MISSING_PROVIDER_PAYOUT} and ($2::timestamptz is null or (s.imported_at, s.id) > ($2, $3::uuid))
        order by s.imported_at, s.id limit $1
        """,
        limit,
        *(after or (None, None)),
    )
    return [_missing_provider_payout(row) for row in rows]


async def count_missing_provider_payouts_up_to(tx: Tx, max_count: int) -> WaitingCount:
    """Count provider payouts without a bank line up to ``max_count``; they wait since their import."""
    [counted] = await tx.fetch(
        f"""
        select count(*)::int, min(imported_at) from (
            select s.imported_at {_UNBANKED} order by s.imported_at, s.id limit $1
        ) missing
        """,
        max_count,
    )
    return WaitingCount(*counted)


async def find_missing_provider_payout(tx: Tx, provider: str, reference: str) -> MissingProviderPayout | None:
    """Find one provider payout without a bank line."""
    row = await tx.fetchrow(f"{_MISSING_PROVIDER_PAYOUT} and s.provider = $1 and s.reference = $2", provider, reference)
    return _missing_provider_payout(row) if row else None


def _missing_provider_payout(row: Record) -> MissingProviderPayout:
    return MissingProviderPayout(row[0], row[1], ProviderPayout(*row[2:6]), row[6], row[7])


class UnreconciledCounts(NamedTuple):
    """Statement lines that wait for an operator, and provider payouts without a line."""

    unreconciled_line_count: int
    missing_provider_payout_count: int


async def count_unreconciled_lines_and_payouts(tx: Tx) -> UnreconciledCounts:
    """Count lines that wait for an operator, and provider payouts without a line."""
    row = await tx.fetchrow(
        f"select (select count(*)::int from bank_statement_line "
        f"where status = 'open'), (select count(*)::int {_UNBANKED})"
    )
    return UnreconciledCounts(row[0], row[1]) if row else UnreconciledCounts(0, 0)


async def list_line_ids_of_statement(tx: Tx, account: str, reference: str) -> list[UUID]:
    """The IDs of a statement's lines, in its order."""
    rows = await tx.fetch(
        """
        select l.id from bank_statement_line l join bank_statement s on s.id = l.statement_id
        where s.account = $1 and s.reference = $2 order by l.position
        """,
        account,
        reference,
    )
    return [row["id"] for row in rows]


@across_partners("banking")
async def find_disbursement_ids_by_end_to_end_ids(tx: Tx, end_to_end_ids: Sequence[str]) -> list[UUID]:
    """The disbursements with these end-to-end IDs."""
    rows = await tx.fetch("select id from disbursement where end_to_end_id = any($1::text[])", end_to_end_ids)
    return [row[0] for row in rows]


async def find_manually_recorded_payment_id(tx: Tx, line: BankLine) -> UUID | None:
    """The partner's transfer that was recorded manually with this bank reference and amount."""
    found: UUID | None = await tx.fetchval(
        """
        select id from request_payment p
        where bank_reference = $1 and amount_minor = $2 and currency = $3 and applied_from is null
          and not exists (select from bank_statement_line where request_payment_id = p.id)
        """,
        line.movement.reference,
        line.movement.amount_minor,
        line.movement.currency,
    )
    return found


async def find_matched_records(tx: Tx, record_ids: Sequence[UUID]) -> set[tuple[MatchedAs, UUID]]:
    """Return the records that lines are already matched with."""
    rows = await tx.fetch(
        """
        select matched_as, coalesce(settlement_id, disbursement_id) as thing from bank_statement_line
        where settlement_id = any($1::uuid[]) or disbursement_id = any($1::uuid[])
        """,
        record_ids,
    )
    return {(row["matched_as"], row["thing"]) for row in rows}


async def record_unreconciled_reason(
    tx: Tx, line_id: UUID, reason: UnreconciledLineReason, booking_error: str | None = None
) -> None:
    """Record why a locked line stays open."""
    await tx.execute(
        """
        update bank_statement_line set reason = $2, booking_error = $3
        where id = $1 and (reason, booking_error) is distinct from ($2::text, $3::text)
        """,
        line_id,
        reason,
        booking_error,
    )


async def mark_matched(tx: Tx, line_id: UUID, matched_as: MatchedAs, record_id: UUID, matched_by: str) -> None:
    """Record the match of a locked line."""
    await tx.execute(
        f"""
        update bank_statement_line
        set status = 'matched', reason = null, booking_error = null, matched_as = $2, {_TARGET_COLUMN[matched_as]} = $3,
            decided_by = $4, status_changed_at = $5
        where id = $1
        """,
        line_id,
        matched_as,
        record_id,
        matched_by,
        tx.now,
    )


async def reopen(tx: Tx, line_id: UUID, reopened_by: str, note: str) -> None:
    """Reopen a line and record that its dismissal or match was undone."""
    await tx.execute(
        """
        insert into bank_statement_line_reopening
            (line_id, reopened_at, reopened_by, note, status, settlement_id, decided_by, decided_note)
        select id, $2, $3, $4, status, settlement_id, decided_by, note from bank_statement_line where id = $1
        """,
        line_id,
        tx.now,
        reopened_by,
        note,
    )
    await tx.execute(
        """
        update bank_statement_line
        set status = 'open', reason = 'reopened', matched_as = null, settlement_id = null, decided_by = null,
            note = null, status_changed_at = $2
        where id = $1
        """,
        line_id,
        tx.now,
    )


async def mark_dismissed(tx: Tx, line_id: UUID, dismissed_by: str, note: str) -> None:
    """Record that a locked line was dismissed."""
    await tx.execute(
        """
        update bank_statement_line
        set status = 'dismissed', reason = null, booking_error = null, decided_by = $2, note = $3,
            status_changed_at = $4
        where id = $1
        """,
        line_id,
        dismissed_by,
        note,
        tx.now,
    )
