"""SQL for evidence: evaluations with their steps, append-only."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec
from asyncpg import Record

from almoner.kit.evidence import Evaluation, EvaluationStep, EvidenceKind
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.paging import RequestedPage

_COLUMNS: Final = "id, steps, recorded_at, occasion, outcome, reasons, facts"
_OF_RECORD: Final = f"select {_COLUMNS} from evidence where record_id = $1"


def _evaluation(row: Record) -> Evaluation:
    steps = msgspec.convert(row["steps"], tuple[EvaluationStep, ...])
    return Evaluation(
        row["id"], steps, row["recorded_at"], row["occasion"], row["outcome"], tuple(row["reasons"]), row["facts"]
    )


async def record_evaluation(
    tx: Tx,
    partner: Partner,
    kind: EvidenceKind,
    record_id: UUID,
    steps: Sequence[EvaluationStep],
    *,
    occasion: str | None = None,
    outcome: str | None = None,
    reasons: Sequence[str] = (),
    facts: Mapping[str, object] | None = None,
) -> Evaluation:
    """Store an evaluation of the partner's record, with the findings of its steps."""
    result = Evaluation(tx.new_id(), tuple(steps), tx.now, occasion, outcome, tuple(reasons), facts or {})
    await tx.execute(
        """
        insert into evidence (
            id, kind, record_id, partner_id, occasion, outcome, reasons, facts, steps, recorded_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """,
        result.id,
        kind,
        record_id,
        partner.id,
        occasion,
        outcome,
        result.reasons,
        dict(result.facts),
        result.steps,
        result.at,
    )
    return result


LATEST: Final = f"{_OF_RECORD} and facts @> $2 and steps @> $3 order by id desc limit 1"


@across_partners("held")
async def find_latest_evaluation(
    tx: Tx, record_id: UUID, *, facts: Mapping[str, object] | None = None, step: str | None = None
) -> Evaluation | None:
    """The newest evaluation of a record, optionally with these facts or a step of this name."""
    row = await tx.fetchrow(LATEST, record_id, dict(facts or {}), [{"name": step}] if step else [])
    return _evaluation(row) if row else None


@across_partners("held")
async def list_evaluations(tx: Tx, record_id: UUID) -> list[Evaluation]:
    """All evaluations of a record, oldest first."""
    return [_evaluation(row) for row in await tx.fetch(f"{_OF_RECORD} order by id", record_id)]


@across_partners("held")
async def list_evaluation_page(tx: Tx, record_id: UUID, page_: RequestedPage) -> tuple[list[Evaluation], int]:
    """One page of a record's evaluations in reading order, and their total."""
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    rows = await tx.fetch(
        f"""
        select listed.*, total from (select count(*) as total from evidence where record_id = $1) counted
        left join lateral (
            {_OF_RECORD} and ($2::uuid is null or id {comparison} $2) order by id {order} limit $3
        ) listed on true
        order by listed.id {order}
        """,
        record_id,
        page_.after_id,
        page_.fetch_limit,
    )
    return [_evaluation(row) for row in rows if row["id"] is not None], rows[0]["total"]
