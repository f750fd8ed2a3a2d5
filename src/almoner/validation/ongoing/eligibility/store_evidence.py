"""SQL for what eligibility was decided on."""

from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.transactions import Tx
from almoner.platform.http.paging import Page
from almoner.validation.ongoing.eligibility.domain import (
    ActivityFinding,
    AllowedActivities,
    EligibilityEvaluation,
    EligibilityResults,
    KnownActivities,
)

_SELECT: Final = """
select e.id, e.occasion, e.organisation_id, e.classification, e.name_classification, e.allowed, e.eligibility_status,
    e.results_changed, e.evaluated_at, (
        select coalesce(jsonb_agg(jsonb_build_array(f.code, f.rule, f.suggested, f.verdict) order by f.code), '[]')
        from eligibility_finding f where f.evaluation_id = e.id
    ) as findings
from eligibility_evaluation e where e.subscription_id = $1
"""


def _evaluation(row: Record) -> EligibilityEvaluation:
    findings = tuple(ActivityFinding(*found) for found in row["findings"])
    confirmed = {found.code: found.rule for found in findings if found.rule is not None}
    rejected = tuple(found.code for found in findings if found.verdict == "rejected")
    return EligibilityEvaluation(
        row["id"],
        row["occasion"],
        KnownActivities(row["organisation_id"], row["classification"], row["name_classification"]),
        AllowedActivities(None if row["allowed"] is None else frozenset(row["allowed"])),
        EligibilityResults(row["eligibility_status"], confirmed, rejected),
        findings,
        row["results_changed"],
        row["evaluated_at"],
    )


async def insert_evaluation(tx: Tx, subscription_id: UUID, evaluation: EligibilityEvaluation) -> None:
    """Store a decision with all that it rests on."""
    await tx.execute(
        """
        with kept as (
            insert into eligibility_evaluation (
                id, subscription_id, occasion, organisation_id, classification, name_classification, allowed,
                eligibility_status, results_changed, evaluated_at
            ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        )
        insert into eligibility_finding (evaluation_id, code, rule, suggested, verdict)
        select $1, * from unnest($11::text[], $12::text[], $13::boolean[], $14::text[])
        """,
        evaluation.id,
        subscription_id,
        evaluation.occasion,
        evaluation.known.organisation_id,
        dict(evaluation.known.classification),
        dict(evaluation.known.name_classification),
        None if evaluation.allowed.codes is None else sorted(evaluation.allowed.codes),
        evaluation.results.status,
        evaluation.results_changed,
        evaluation.evaluated_at,
        [found.code for found in evaluation.findings],
        [found.rule for found in evaluation.findings],
        [found.suggested for found in evaluation.findings],
        [found.verdict for found in evaluation.findings],
    )


async def find_latest_evaluation(tx: Tx, subscription_id: UUID) -> EligibilityEvaluation | None:
    """The newest decision."""
    row = await tx.fetchrow(f"{_SELECT} order by e.id desc limit 1", subscription_id)
    return _evaluation(row) if row else None


async def list_page(tx: Tx, subscription_id: UUID, page_: Page) -> tuple[list[EligibilityEvaluation], int]:
    """One page of the decisions in reading order, and their total."""
    comparison, order = ("<", "desc") if page_.reads_descending else (">", "asc")
    rows = await tx.fetch(
        f"""
        select listed.*, total
        from (select count(*) as total from eligibility_evaluation where subscription_id = $1) counted
        left join lateral (
            {_SELECT} and ($2::uuid is null or e.id {comparison} $2) order by e.id {order} limit $3
        ) listed on true
        order by listed.id {order}
        """,
        subscription_id,
        page_.after_id,
        page_.limit,
    )
    return [_evaluation(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def list_evaluations(tx: Tx, subscription_id: UUID) -> list[EligibilityEvaluation]:
    """All decisions, oldest first."""
    return [_evaluation(row) for row in await tx.fetch(f"{_SELECT} order by e.id", subscription_id)]
