"""SQL of bank statements and their lines."""

from collections.abc import Sequence
from datetime import date
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.banking.bank_statements.domain import (
    BankLine,
    BankMovement,
    MatchedAs,
    MissingProviderPayout,
    OpenLineReason,
    ProviderPayout,
    Statement,
)
from almoner.platform.database.transactions import AllPartners, Tx

_COLUMNS: Final = (
    "id, account, booked_on, amount_minor, currency, bank_reference, end_to_end_id, counterparty, "
    "remittance_information, "
    "return_reason, reversal, status, reason, matched_as, created_at, booking_error"
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
    reason = OpenLineReason(row["reason"]) if row["reason"] else None
    return BankLine(row[0], row[1], BankMovement(*row[2:11]), row["status"], reason, *row[13:16])


async def lock_account(tx: Tx, _scope: AllPartners, account: str) -> None:
    """Let one import of an account keep its lines after the other, until the transaction ends."""
    await tx.execute("select pg_advisory_xact_lock(hashtextextended('bank account ' || $1::text, 0))", account)


async def lock_movement_reference(tx: Tx, _scope: AllPartners, line: BankLine) -> None:
    """Look at lines that bear one name of the bank one after the other, until the transaction ends."""
    await tx.execute(
        "select pg_advisory_xact_lock(hashtextextended('bank movement ' || $1::text || ' ' || $2::text, 0))",
        line.account,
        line.movement.reference,
    )


async def count_statement_parts(tx: Tx, _scope: AllPartners, account: str, reference: str) -> int:
    """How many files have brought lines of a statement."""
    return int(
        await tx.fetchval(
            "select count(*) from bank_statement where account = $1 and reference = $2",
            account,
            reference,
        )
    )


async def recorded_movements(tx: Tx, _scope: AllPartners, account: str, reference: str) -> list[BankMovement]:
    """What a statement has told."""
    rows = await tx.fetch(
        f"""
        select {_MOVEMENT} from bank_statement_line
        where statement_id in (select id from bank_statement where account = $1 and reference = $2)
        """,
        account,
        reference,
    )
    return [BankMovement(*row) for row in rows]


async def exported_movements(
    tx: Tx, _scope: AllPartners, account: str, currency: str, first: date, last: date
) -> list[BankMovement]:
    """What the exports of an account have told of some days."""
    rows = await tx.fetch(
        f"""
        select {_MOVEMENT} from bank_statement_line where booked_on between $3 and $4 and statement_id in (
            select id from bank_statement where account = $1 and currency = $2 and export
        )
        """,
        account,
        currency,
        first,
        last,
    )
    return [BankMovement(*row) for row in rows]


async def insert(
    tx: Tx, _scope: AllPartners, new: Statement, lines: Sequence[tuple[int, BankMovement]], part: int, by: str
) -> None:
    """Store a statement, or what is new of one, with lines and their positions, which nobody has looked at yet."""
    statement_id, moved = tx.new_id(), [one for _, one in lines]
    await tx.execute(
        """
        insert into bank_statement (id, account, reference, currency, opening_minor, closing_minor, sha256, lines,
                                    imported_by, imported_at, part, ends_on, export)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        """,
        statement_id,
        new.account,
        new.reference,
        new.currency,
        new.opening_minor,
        new.closing_minor,
        new.sha256,
        len(moved),
        by,
        tx.now,
        part,
        new.ends_on,
        new.export,
    )
    await tx.execute(
        """
        insert into bank_statement_line (
            id, statement_id, position, account, booked_on, amount_minor, currency, bank_reference, end_to_end_id,
            counterparty, remittance_information, return_reason, reversal, status, reason, created_at, status_changed_at
        ) select given.id, $1, position, $2, booked_on, minor, $3, reference, end_to_end_id, other,
            remitted, returned, reversal, 'open', 'unknown', $4, $4
        from unnest($5::uuid[], $6::date[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[],
                    $13::int[], $14::bool[])
            as given (id, booked_on, minor, reference, end_to_end_id, other, remitted, returned, position, reversal)
        """,
        statement_id,
        new.account,
        new.currency,
        tx.now,
        [tx.new_id() for _ in moved],
        [one.booked_on for one in moved],
        [one.minor for one in moved],
        [one.reference for one in moved],
        [one.end_to_end_id for one in moved],
        [one.counterparty for one in moved],
        [one.remittance_information for one in moved],
        [one.return_reason for one in moved],
        [position for position, _ in lines],
        [one.reversal for one in moved],
    )


OPEN_LINES: Final = (
    "select id from bank_statement_line where status = 'open' and ($1::uuid is null or id > $1) order by id limit $2"
)


async def open_line_ids(tx: Tx, _scope: AllPartners, after: UUID | None, limit: int) -> list[UUID]:
    """Lines that wait, the oldest first, after one of them."""
    return [row[0] for row in await tx.fetch(OPEN_LINES, after, limit)]


async def list_lines(tx: Tx, _scope: AllPartners, limit: int, *, every: bool) -> list[BankLine]:
    """The oldest lines that wait; or the newest of all."""
    where, order = ("", "desc") if every else ("where status = 'open'", "asc")
    rows = await tx.fetch(f"select {_COLUMNS} from bank_statement_line {where} order by id {order} limit $1", limit)
    return [_line(row) for row in rows]


async def get_for_update(tx: Tx, _scope: AllPartners, line_id: UUID) -> BankLine | None:
    """One line, held until the transaction ends."""
    row = await tx.fetchrow(f"select {_COLUMNS} from bank_statement_line where id = $1 for no key update", line_id)
    return _line(row) if row else None


DUPLICATE_REFERENCE: Final = """
select exists (
    select from bank_statement_line
    where account = $1 and bank_reference = $2 and reversal = $4
      and id <> $3 and (id < $3 or status = 'matched')
)
"""
"""A reversal is mostly named as what it undoes is.

Identifiers go by the time at which an import began: one that began first may be kept, and looked at, last."""


async def is_duplicate_reference(tx: Tx, _scope: AllPartners, line: BankLine) -> bool:
    """Whether another line of the account bears the bank's reference, and was first."""
    return bool(
        await tx.fetchval(DUPLICATE_REFERENCE, line.account, line.movement.reference, line.id, line.movement.reversal)
    )


async def payments_reversed_by_line(tx: Tx, _scope: AllPartners, line: BankLine) -> list[UUID]:
    """The payments of the gifts that a line takes back, by the bank's name of what it had told."""
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


async def find_provider_payout(tx: Tx, _scope: AllPartners, provider: str, reference: str) -> ProviderPayout | None:
    """What a provider paid out at once, by its name of it."""
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


async def referenced_provider_payouts(
    tx: Tx, _scope: AllPartners, movement: BankMovement, days: int, least: int
) -> list[ProviderPayout]:
    """What providers paid out at once, some days before or after, whose reference is in the words of a line."""
    rows = await tx.fetch(
        """
        select s.id, s.reference, s.currency, sum(l.net_minor)::bigint from settlement s
        join settlement_line l on l.settlement_id = s.id
        where s.provider <> 'bank_transfer' and s.settled_on between $1::date - $2::int and $1::date + $2::int
          and length(s.reference) >= $3 and position(upper(s.reference) in upper($4)) > 0
        group by 1, 2, 3
        """,
        movement.booked_on,
        days,
        least,
        movement.text,
    )
    return [ProviderPayout(*row) for row in rows]


_UNBANKED: Final = """
from unreconciled_settlement s where exists (select from bank_statement b where b.currency = s.currency)
"""
"""Of a currency whose statements are imported: elsewhere nothing can be told."""


async def missing_provider_payouts(tx: Tx, _scope: AllPartners, limit: int) -> list[MissingProviderPayout]:
    """Reports of providers whose payouts no line tells of, the oldest first."""
    rows = await tx.fetch(
        f"""
        select s.provider, s.settled_on, s.id, s.reference, s.currency, s.net_minor, s.imported_at,
               (select count(*)::int from bank_statement_line l where l.status = 'open' and length(s.reference) >= 6
                    and position(upper(s.reference) in upper(concat_ws(' ', l.end_to_end_id,
                        l.remittance_information))) > 0)
        {_UNBANKED} order by s.imported_at, s.id limit $1
        """,
        limit,
    )
    return [MissingProviderPayout(row[0], row[1], ProviderPayout(*row[2:6]), row[6], row[7]) for row in rows]


async def count_unreconciled(tx: Tx, _scope: AllPartners) -> tuple[int, int]:
    """How many lines wait for a person, and how many reports for a line."""
    row = await tx.fetchrow(
        f"select (select count(*)::int from bank_statement_line "
        f"where status = 'open'), (select count(*)::int {_UNBANKED})"
    )
    return (row[0], row[1]) if row else (0, 0)


async def lines_of_statement(tx: Tx, _scope: AllPartners, account: str, statement: str) -> list[UUID]:
    """The lines of a statement, in its order."""
    rows = await tx.fetch(
        """
        select l.id from bank_statement_line l join bank_statement s on s.id = l.statement_id
        where s.account = $1 and s.reference = $2 order by l.position
        """,
        account,
        statement,
    )
    return [row["id"] for row in rows]


async def referenced_disbursements(tx: Tx, _scope: AllPartners, end_to_end_ids: Sequence[str]) -> list[UUID]:
    """The payouts with these end-to-end ids."""
    rows = await tx.fetch("select id from disbursement where end_to_end_id = any($1::text[])", end_to_end_ids)
    return [row[0] for row in rows]


async def find_manually_recorded_payment(tx: Tx, _scope: AllPartners, line: BankLine) -> UUID | None:
    """The transfer of a partner that somebody has noted under the bank's reference, of this very amount."""
    found: UUID | None = await tx.fetchval(
        """
        select id from request_payment p
        where bank_reference = $1 and amount_minor = $2 and currency = $3 and applied_from is null
          and not exists (select from bank_statement_line where request_payment_id = p.id)
        """,
        line.movement.reference,
        line.movement.minor,
        line.movement.currency,
    )
    return found


async def matched_targets(tx: Tx, _scope: AllPartners, things: Sequence[UUID]) -> set[tuple[MatchedAs, UUID]]:
    """What lines are the movements of, among these."""
    rows = await tx.fetch(
        """
        select matched_as, coalesce(settlement_id, disbursement_id) as thing from bank_statement_line
        where settlement_id = any($1::uuid[]) or disbursement_id = any($1::uuid[])
        """,
        things,
    )
    return {(row["matched_as"], row["thing"]) for row in rows}


async def mark_open(
    tx: Tx, _scope: AllPartners, line_id: UUID, reason: OpenLineReason, refusal: str | None = None
) -> None:
    """Note why a held line waits; ``booking_error``: what spoke against booking it."""
    await tx.execute(
        """
        update bank_statement_line set reason = $2, booking_error = $3
        where id = $1 and (reason, booking_error) is distinct from ($2::text, $3::text)
        """,
        line_id,
        reason,
        refusal,
    )


async def mark_matched(tx: Tx, _scope: AllPartners, line_id: UUID, matched_as: MatchedAs, thing: UUID, by: str) -> None:
    """Note what a held line is the movement of."""
    await tx.execute(
        f"""
        update bank_statement_line
        set status = 'matched', reason = null, booking_error = null, matched_as = $2, {_TARGET_COLUMN[matched_as]} = $3,
            decided_by = $4, status_changed_at = $5
        where id = $1
        """,
        line_id,
        matched_as,
        thing,
        by,
        tx.now,
    )


async def mark_dismissed(tx: Tx, _scope: AllPartners, line_id: UUID, by: str, note: str) -> None:
    """Note that a held line is the movement of nothing here."""
    await tx.execute(
        """
        update bank_statement_line
        set status = 'dismissed', reason = null, booking_error = null, decided_by = $2, note = $3,
            status_changed_at = $4
        where id = $1
        """,
        line_id,
        by,
        note,
        tx.now,
    )
