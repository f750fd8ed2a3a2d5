"""SQL for second looks and the statistics of the queue."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx
from almoner.validation.decisions.reviews.domain import (
    DailyReviewStatistics,
    Kind,
    ReasonStatistics,
    ReviewDecision,
    ReviewSubject,
    SecondLook,
    SecondLookAgreement,
)


def _second_look(row: Record) -> SecondLook:
    return SecondLook(row[0], ReviewSubject(row[1], row[2], row[3]), row[4], row[5], row[6])


async def insert(tx: Tx, review_id: UUID, subject: ReviewSubject, decision: ReviewDecision) -> None:
    """Select a decided review for a second look."""
    await tx.execute(
        """
        insert into review_second_look (review_id, kind, subject_id, partner_id, first_by, first_verdict, selected_at)
        values ($1, $2, $3, $4, $5, $6, $7)
        """,
        review_id,
        subject.kind,
        subject.id,
        subject.partner_id,
        decision.by,
        decision.verdict,
        tx.now,
    )


@across_partners("operators")
async def list_waiting_second_looks(
    tx: Tx, operator_id: str, limit: int, after_position: tuple[datetime, UUID] | None = None
) -> list[SecondLook]:
    """Reviews waiting for a second look by this person, oldest first.

    Excludes those they decided or have a conflict of interest with. ``after_position``: the position of the last one
    seen.
    """
    rows = await tx.fetch(
        """
        select review_id, kind, subject_id, partner_id, first_by, selected_at, decided_by from review_second_look s
        where verdict is null and first_by <> $1 and not exists (
            select from review_conflict c
            where c.kind = s.kind and c.subject_id = s.subject_id and c.declared_by = $1
        ) and ($3::timestamptz is null or (selected_at, review_id) > ($3, $4::uuid))
        order by selected_at, review_id limit $2
        """,
        operator_id,
        limit,
        *(after_position or (None, None)),
    )
    return [_second_look(row) for row in rows]


@across_partners("operators")
async def find_for_update(tx: Tx, review_id: UUID) -> SecondLook | None:
    """Lock one second look until the transaction ends; None if it does not exist."""
    row = await tx.fetchrow(
        """
        select review_id, kind, subject_id, partner_id, first_by, selected_at, decided_by
        from review_second_look where review_id = $1 for update
        """,
        review_id,
    )
    return _second_look(row) if row else None


async def record_second_look_decision(tx: Tx, second_look: SecondLook, decision: ReviewDecision) -> None:
    """Store the second operator's decision, once."""
    await tx.execute(
        """
        update review_second_look set verdict = $2, reason_code = $3, note = $4, decided_by = $5, decided_at = $6
        where review_id = $1 and verdict is null
        """,
        second_look.review_id,
        decision.verdict,
        decision.reason_code,
        decision.note,
        decision.by,
        tx.now,
    )


@across_partners("operators")
async def list_second_look_agreement_by_reviewer(tx: Tx, since: datetime) -> list[SecondLookAgreement]:
    """How often second looks agreed since a given time, by the first reviewer and kind."""
    rows = await tx.fetch(
        """
        select first_by, kind, count(*) as looks, count(*) filter (where verdict = first_verdict) as agreed
        from review_second_look where verdict is not null and decided_at >= $1
        group by first_by, kind order by first_by, kind
        """,
        since,
    )
    return [SecondLookAgreement(*row) for row in rows]


@across_partners("operators")
async def list_reason_statistics(tx: Tx, since: datetime) -> list[ReasonStatistics]:
    """By kind and reason for review since a given time: decided cases and second looks, most cases first.

    A case with several reasons counts for each of them.
    """
    rows = await tx.fetch(
        """
        select kind, reason, sum(decided)::int as decided, sum(accepted)::int, sum(looks)::int as looks,
            sum(agreed)::int
        from (
            select r.kind, r.reasons, 1 as decided, (d.verdict = 'accepted')::int as accepted, 0 as looks, 0 as agreed
            from review r join review_decision d on d.review_id = r.id
            where r.status = 'decided' and r.ended_at >= $1
            union all
            select r.kind, r.reasons, 0, 0, 1, (s.verdict = s.first_verdict)::int
            from review_second_look s join review r on r.id = s.review_id
            where s.verdict is not null and s.decided_at >= $1
        ) counted cross join unnest(reasons) as reason
        group by kind, reason order by decided desc, looks desc, kind, reason
        """,
        since,
    )
    return [ReasonStatistics(*row) for row in rows]


@across_partners("operators")
async def list_daily_review_statistics(tx: Tx, since: datetime) -> Sequence[DailyReviewStatistics]:
    """By kind and day since a time: how many were decided, how many of them on time, and the median wait."""
    rows = await tx.fetch(
        """
        select kind, (ended_at at time zone 'UTC')::date as day, count(*) as decided,
            count(*) filter (where ended_at <= due_at) as kept,
            percentile_cont(0.5) within group (order by extract(epoch from ended_at - asked_at))::float8 as median
        from review where status = 'decided' and ended_at >= $1 group by 1, 2 order by 2, 1
        """,
        since,
    )
    return [DailyReviewStatistics(*row) for row in rows]


class ReviewerDecisionCount(NamedTuple):
    """How many decisions of a kind a reviewer made, in how many different hours."""

    reviewer: str
    kind: Kind
    decision_count: int
    distinct_hour_count: int


@across_partners("operators")
async def list_decision_counts_by_reviewer(tx: Tx, since: datetime) -> Sequence[ReviewerDecisionCount]:
    """The number of decisions by reviewer and kind since a given time, and the number of different hours."""
    rows = await tx.fetch(
        """
        select decided_by, kind, count(*) as decisions, count(distinct date_trunc('hour', decided_at)) as hours
        from review_decision where review_id is not null and decided_at >= $1
        group by decided_by, kind order by decided_by, kind
        """,
        since,
    )
    return [ReviewerDecisionCount(row[0], row[1], row[2], row[3]) for row in rows]
