"""SQL for reviews and decisions."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx
from almoner.validation.decisions.reviews.domain import (
    Kind,
    RecordedDecision,
    Review,
    ReviewDecision,
    ReviewFilters,
    ReviewSubject,
    Verdict,
)

_COLUMNS: Final = (
    "id, kind, subject_id, partner_id, reasons, asked_at, claimed_by, claimed_until, "
    "claimed_fingerprint, status, ended_at"
)


def _review(row: Record) -> Review:
    return Review(row[0], ReviewSubject(row[1], row[2], row[3]), tuple(row[4]), *row[5:11])


async def open_review(tx: Tx, subject: ReviewSubject, reasons: Sequence[str]) -> None:
    """Open the subject's review, or add to the open one the reasons that it does not have."""
    await tx.execute(
        """
        insert into review (id, kind, subject_id, partner_id, reasons, asked_at, status, status_changed_at)
        values ($1, $2, $3, $4, $5, $6, 'open', $6)
        on conflict (kind, subject_id) where status = 'open' do update set reasons = review.reasons || array(
            select reason from unnest(excluded.reasons) with ordinality as given (reason, place)
            where reason <> all(review.reasons) order by place
        )
        """,
        tx.new_id(),
        subject.kind,
        subject.id,
        subject.partner_id,
        reasons,
        tx.now,
    )


async def close_review(tx: Tx, subject: ReviewSubject, status: str) -> UUID | None:
    """End the subject's open review; its id, None when there is none."""
    ended: UUID | None = await tx.fetchval(
        """
        update review set status = $3, status_changed_at = $4, ended_at = greatest($4, asked_at)
        where kind = $1 and subject_id = $2 and status = 'open' returning id
        """,
        subject.kind,
        subject.id,
        status,
        tx.now,
    )
    return ended


async def insert_decision(tx: Tx, subject: ReviewSubject, decided: RecordedDecision) -> None:
    """Store who decided what, and why."""
    await tx.execute(
        """
        insert into review_decision (
            id, review_id, kind, subject_id, partner_id, verdict, reason_code, note, decided_by, decided_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """,
        tx.new_id(),
        decided.review_id,
        subject.kind,
        subject.id,
        subject.partner_id,
        decided.decision.verdict,
        decided.decision.reason_code,
        decided.decision.note,
        decided.decision.by,
        decided.at,
    )


async def lock_open_review(tx: Tx, subject: ReviewSubject) -> Review | None:
    """The subject's open review, locked until the transaction ends."""
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from review where kind = $1 and subject_id = $2 and status = 'open' for no key update
        """,
        subject.kind,
        subject.id,
    )
    return _review(row) if row else None


async def claim_review(tx: Tx, review: Review, by: str, until: datetime, shown: bytes) -> None:
    """Give a locked review to somebody who was shown it."""
    await tx.execute(
        "update review set claimed_by = $2, claimed_until = $3, claimed_fingerprint = $4 where id = $1",
        review.id,
        by,
        until,
        shown,
    )


async def release_claim(tx: Tx, review: Review) -> None:
    """Let go of a locked review."""
    await tx.execute(
        "update review set claimed_by = null, claimed_until = null, claimed_fingerprint = null where id = $1", review.id
    )


async def list_reviews(tx: Tx, subject: ReviewSubject) -> list[Review]:
    """Of a subject, oldest first."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from review where kind = $1 and subject_id = $2 order by id", subject.kind, subject.id
    )
    return [_review(row) for row in rows]


async def list_decisions(tx: Tx, subject: ReviewSubject) -> list[RecordedDecision]:
    """About a subject, oldest first."""
    rows = await tx.fetch(
        """
        select verdict, reason_code, decided_by, note, decided_at, review_id
        from review_decision where kind = $1 and subject_id = $2 order by id
        """,
        subject.kind,
        subject.id,
    )
    return [RecordedDecision(ReviewDecision(row[0], row[1], row[2], row[3]), row[4], row[5]) for row in rows]


async def list_open_reviews(tx: Tx, filters: ReviewFilters, limit: int) -> list[Review]:
    """What waits for somebody, oldest first."""
    kind = "kind = $1" if filters.kind else "$1::text is null"
    partner = "partner_id = $2" if filters.partner_id else "$2::uuid is null"
    holder = "claimed_by = $3 and claimed_until > $4" if filters.holder else "$3::text is null and $4::timestamptz = $4"
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from review where status = 'open' and {kind} and {partner} and {holder}
        order by asked_at, id limit $5
        """,
        filters.kind,
        filters.partner_id,
        filters.holder,
        tx.real_now,
        limit,
    )
    return [_review(row) for row in rows]


@across_partners("operators")
async def count_open_reviews(tx: Tx) -> list[tuple[Kind, int, datetime]]:
    """Of each kind that waits: how many, and since when the first."""
    rows = await tx.fetch(
        "select kind, count(*) as count, min(asked_at) as oldest from review where status = 'open' group by kind"
    )
    return [(row[0], row[1], row[2]) for row in rows]


@across_partners("operators")
async def count_decisions(tx: Tx) -> list[tuple[str, Kind, Verdict, int]]:
    """How often each person decided what; also those who stand for people, not what rules decide alone."""
    rows = await tx.fetch(
        """
        select decided_by, kind, verdict, count(*) as count from review_decision where review_id is not null
        group by decided_by, kind, verdict
        """
    )
    return [(row[0], row[1], row[2], row[3]) for row in rows]


@across_partners("operators")
async def list_waiting_times(tx: Tx, bounds: Sequence[Decimal]) -> list[tuple[Kind, Sequence[tuple[int, int]], float]]:
    """Of each kind: how many decided ones waited up to which bound and no less, by its place; seconds altogether."""
    rows = await tx.fetch(
        """
        select kind, array_agg(place) as places, array_agg(count) as counts, sum(seconds)::float8 as seconds from (
            select kind, width_bucket(seconds - 0.000001, $1::numeric[]) as place,  -- a bound is among its own
                sum(seconds) as seconds, count(*) as count
            from (
                select kind, extract(epoch from ended_at - asked_at) as seconds from review where status = 'decided'
            ) one group by 1, 2
        ) found group by kind
        """,
        bounds,
    )
    return [(row[0], tuple(zip(row[1], row[2], strict=True)), row[3]) for row in rows]
