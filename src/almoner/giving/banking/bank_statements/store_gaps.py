"""SQL for missing bank statements and missing provider payouts."""

from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.banking.bank_statements.domain import StatementGap
from almoner.platform.database.transactions import Tx

_GAPS: Final = """
select * from (
    select id, account, currency, reference, opening_minor, day, imported_at, '{}'::text[] from bank_statement_gap
    union all select id, account, currency, reference, coalesce(opening_minor, 0), day, imported_at, rejected_lines
    from bank_statement_incomplete
) as incomplete (id, account, currency, reference, opening_minor, day, imported_at, rejected_lines)
"""


async def list_statement_gaps(tx: Tx, limit: int, after: tuple[datetime, UUID] | None = None) -> list[StatementGap]:
    """Statements whose previous statement is missing, by import. ``after``: the last one seen."""
    rows = await tx.fetch(
        f"""
        {_GAPS} where $2::timestamptz is null or (imported_at, id) > ($2, $3::uuid)
        order by imported_at, id limit $1
        """,
        limit,
        *(after or (None, None)),
    )
    return [StatementGap(*row) for row in rows]


async def find_statement_gap(tx: Tx, statement_id: UUID) -> StatementGap | None:
    """Find one gap."""
    row = await tx.fetchrow(f"{_GAPS} where id = $1", statement_id)
    return StatementGap(*row) if row else None


async def record_gap_explanation(tx: Tx, statement_id: UUID, note: str, explained_by: str) -> bool:
    """Record why the previous statement is missing; returns whether it was unexplained."""
    done = await tx.execute(
        "insert into bank_statement_gap_explanation (statement_id, note, explained_by, explained_at) "
        "values ($1, $2, $3, $4) on conflict do nothing",
        statement_id,
        note,
        explained_by,
        tx.now,
    )
    return done == "INSERT 0 1"


async def record_provider_payout_explanation(
    tx: Tx, provider: str, reference: str, note: str, explained_by: str
) -> bool:
    """Record why a provider payout never arrived; returns whether it was missing."""
    done = await tx.execute(
        """
        insert into settlement_explanation (settlement_id, note, explained_by, explained_at)
        select id, $3, $4, $5 from unreconciled_settlement where provider = $1 and reference = $2 on conflict do nothing
        """,
        provider,
        reference,
        note,
        explained_by,
        tx.now,
    )
    return done == "INSERT 0 1"
