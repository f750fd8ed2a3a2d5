"""SQL for evaluations and of their steps: only ever added to."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from asyncpg import Record

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx
from almoner.validation.requests.domain import Evaluation, EvaluationOutcome, EvaluationStep, StepVerdict


async def insert_evaluation(tx: Tx, request_id: UUID, evaluation: Evaluation) -> None:
    """Store an evaluation with its steps, and how many corrections of its request it has seen."""
    await tx.execute(
        """
        insert into validation_request_evaluation (
            id, validation_request_id, occasion, outcome, reasons, agreement, threshold, organisation_id, evaluated_at,
            corrections
        )
        select $1, id, $3, $4, $5, $6, $7, $8, $9, corrections from validation_request where id = $2
        """,
        evaluation.id,
        request_id,
        evaluation.occasion,
        evaluation.outcome.verdict,
        evaluation.outcome.reasons,
        evaluation.agreement,
        evaluation.threshold,
        evaluation.organisation_id,
        evaluation.evaluated_at,
    )
    await tx.execute(
        """
        insert into validation_request_step (
            id, evaluation_id, position, name, verdict, code, source, data_as_of, facts
        )
        select id, $9, position, name, verdict, code, source, data_as_of, facts::jsonb
        from unnest($1::uuid[], $2::smallint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
                    $8::text[])
            as given (id, position, name, verdict, code, source, data_as_of, facts)
        """,
        [tx.new_id() for _ in evaluation.steps],
        list(range(1, len(evaluation.steps) + 1)),
        [step.name for step in evaluation.steps],
        [step.verdict for step in evaluation.steps],
        [step.code for step in evaluation.steps],
        [step.source for step in evaluation.steps],
        [step.data_as_of for step in evaluation.steps],
        [msgspec.json.encode(step.facts).decode() for step in evaluation.steps],
        evaluation.id,
    )


_EVALUATIONS: Final = """
    select e.id, e.occasion, e.outcome, e.reasons, told.steps, e.agreement, e.threshold, e.organisation_id,
        e.evaluated_at
    from validation_request_evaluation e
    cross join lateral (
        select jsonb_agg(
            jsonb_build_array(s.name, s.verdict, s.code, s.source, s.data_as_of, s.facts) order by s.position
        ) as steps
        from validation_request_step s where s.evaluation_id = e.id
    ) told
"""


@across_partners("held")
async def list_evaluations(tx: Tx, request_id: UUID) -> list[Evaluation]:
    """The evaluations of a request, oldest first."""
    rows = await tx.fetch(f"{_EVALUATIONS} where e.validation_request_id = $1 order by e.id", request_id)
    return [_evaluation(row) for row in rows]


@across_partners("held")
async def find_latest_evaluation(tx: Tx, request_id: UUID) -> Evaluation | None:
    """The last evaluation of a request; None before the first one, and right after a correction."""
    row = await tx.fetchrow(
        f"""
        {_EVALUATIONS} join validation_request r on r.id = e.validation_request_id
        where e.validation_request_id = $1 and e.corrections = r.corrections order by e.id desc limit 1
        """,
        request_id,
    )
    return _evaluation(row) if row else None


def _evaluation(row: Record) -> Evaluation:
    return Evaluation(
        id=row["id"],
        occasion=row["occasion"],
        outcome=EvaluationOutcome(row["outcome"], tuple(row["reasons"])),
        steps=tuple(_step(*step) for step in row["steps"] or ()),
        agreement=row["agreement"],
        threshold=row["threshold"],
        organisation_id=row["organisation_id"],
        evaluated_at=row["evaluated_at"],
    )


def _step(
    name: str, verdict: StepVerdict, code: str, source: str | None, data_as_of: str | None, facts: Mapping[str, object]
) -> EvaluationStep:
    dated = datetime.fromisoformat(data_as_of) if data_as_of else None
    return EvaluationStep(name, verdict, code, source, dated, facts)
