"""SQL for reviews and decisions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple, get_args
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx
from almoner.validation.decisions.reviews.domain import (
    NOT_SHOWN,
    DeclaredConflictOfInterest,
    EvidenceState,
    Kind,
    RecordedDecision,
    RelatedDecision,
    RelatedSubject,
    Review,
    ReviewDecision,
    ReviewFilters,
    ReviewNote,
    ReviewSubject,
    Verdict,
)

QueuePosition = tuple[datetime, UUID]
"""The position of a page's last review: since when it waits, and its ID."""
_COLUMNS: Final = (
    "id, kind, subject_id, partner_id, country_code, script, reasons, asked_at, claimed_by, claimed_until, "
    "claimed_fingerprint, status, ended_at, due_at, evidence_requested_at"
)


def _review(row: Record) -> Review:
    return Review(row[0], ReviewSubject(*row[1:6]), tuple(row[6]), *row[7:])


async def open_review_or_add_reasons(
    tx: Tx,
    subject: ReviewSubject,
    reasons: Sequence[str],
    due_at: datetime,
    evidence_requested_at: datetime | None = None,
) -> None:
    """Open the subject's review, or add the missing reasons to the open one."""
    await tx.execute(
        """
        insert into review (
            id, kind, subject_id, partner_id, reasons, asked_at, status, status_changed_at, country_code, script,
            due_at, evidence_requested_at
        ) values ($1, $2, $3, $4, $5, $6, 'open', $6, $7, $8, $9, $10)
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
        subject.country_code,
        subject.name_script,
        due_at,
        evidence_requested_at,
    )


async def close_review(tx: Tx, subject: ReviewSubject, status: str) -> UUID | None:
    """Close the subject's open review; returns its ID, or None if there is none."""
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


async def insert_decision(tx: Tx, subject: ReviewSubject, recorded_decision: RecordedDecision) -> None:
    """Store a decision."""
    await tx.execute(
        """
        insert into review_decision (
            id, review_id, kind, subject_id, partner_id, verdict, reason_code, note, decided_by, decided_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """,
        tx.new_id(),
        recorded_decision.review_id,
        subject.kind,
        subject.id,
        subject.partner_id,
        recorded_decision.decision.verdict,
        recorded_decision.decision.reason_code,
        recorded_decision.decision.note,
        recorded_decision.decision.by,
        recorded_decision.at,
    )


async def lock_open_review(tx: Tx, subject: ReviewSubject) -> Review | None:
    """Lock the subject's open review until the transaction ends; None if there is none."""
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from review where kind = $1 and subject_id = $2 and status = 'open' for no key update
        """,
        subject.kind,
        subject.id,
    )
    return _review(row) if row else None


async def record_evidence_request(tx: Tx, subject: ReviewSubject) -> None:
    """Record that the applicant of the subject's open review is asked for evidence now."""
    await tx.execute(
        "update review set evidence_requested_at = $3 where kind = $1 and subject_id = $2 and status = 'open'",
        subject.kind,
        subject.id,
        tx.now,
    )


async def claim_review(
    tx: Tx, review: Review, operator_id: str, claimed_until: datetime, evidence_fingerprint: bytes
) -> None:
    """Assign a locked review to an operator who has seen it."""
    await tx.execute(
        "update review set claimed_by = $2, claimed_until = $3, claimed_fingerprint = $4 where id = $1",
        review.id,
        operator_id,
        claimed_until,
        evidence_fingerprint,
    )


async def release_claim(tx: Tx, review: Review) -> None:
    """Remove the claim of a locked review."""
    await tx.execute(
        "update review set claimed_by = null, claimed_until = null, claimed_fingerprint = null where id = $1", review.id
    )


async def list_reviews(tx: Tx, subject: ReviewSubject) -> list[Review]:
    """List the reviews of a subject, oldest first."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from review where kind = $1 and subject_id = $2 order by id", subject.kind, subject.id
    )
    return [_review(row) for row in rows]


async def list_decisions(tx: Tx, subject: ReviewSubject) -> list[RecordedDecision]:
    """List the decisions on a subject, oldest first."""
    rows = await tx.fetch(
        """
        select verdict, reason_code, decided_by, note, decided_at, review_id
        from review_decision where kind = $1 and subject_id = $2 order by id
        """,
        subject.kind,
        subject.id,
    )
    return [RecordedDecision(ReviewDecision(row[0], row[1], row[2], row[3]), row[4], row[5]) for row in rows]


_FREE_FOR: Final = """
    (claimed_until is null or claimed_until <= $4) and not exists (
        select from review_conflict c
        where c.kind = review.kind and c.subject_id = review.subject_id and c.declared_by = $12
    )
"""
"""Unclaimed, and without a conflict of interest of this operator."""


_RECEIVED: Final = """
    (asked_at > evidence_requested_at or exists (
        select from validation_request_document v join document d on d.id = v.document_id
        where review.kind = 'validation_request' and v.validation_request_id = review.subject_id
            and d.created_at > review.evidence_requested_at
            and d.deleted_at is null and d.status in ('pending_scan', 'clean')
    ) or exists (
        select from validation_submission s
        join validation_submission_document u on u.validation_submission_id = s.id and u.type = review.kind
        join document d on d.id = u.document_id
        where review.kind = 'agent_verification' and s.agent_verification_id = review.subject_id
            and u.created_at > review.evidence_requested_at
            and d.deleted_at is null and d.status in ('pending_scan', 'clean')
    ))
"""
"""Evidence has arrived since it was requested: a readable document, or a correction, which opened another review."""
_AWAITED: Final = f"""
    not {_RECEIVED} and coalesce((
        select true from validation_submission s
        where review.kind = 'validation_request' and s.validation_request_id = review.subject_id
            and s.status = 'pending' limit 1
    ), (
        select true from validation_submission s
        where review.kind = 'agent_verification' and s.agent_verification_id = review.subject_id
            and s.status = 'pending' limit 1
    ), false)
"""
"""Evidence has not arrived, and an application still waits for it. With ``exists``, all that wait would be read."""
_WITH_EVIDENCE: Final[Mapping[EvidenceState, str]] = {
    "awaited": f"evidence_requested_at is not null and {_AWAITED}",
    "received": f"evidence_requested_at is not null and {_RECEIVED}",
}


_NONPROFIT_AWAITED: Final = """
    coalesce((
        select a.expires_at is not null from agent_verification a
        where review.kind = 'agent_verification' and a.id = review.subject_id
    ), false)
"""
"""The nonprofit was asked about the applicant and can still answer. Documents in place of the answer end the wait."""


@across_partners("operators")
async def filter_review_ids_with_received_evidence(tx: Tx, review_ids: Sequence[UUID]) -> set[UUID]:
    """Which of these open reviews have evidence that the applicant was asked for."""
    rows = await tx.fetch(
        f"select id from review where id = any($1::uuid[]) and status = 'open' and {_WITH_EVIDENCE['received']}",
        review_ids,
    )
    return {row[0] for row in rows}


async def list_open_reviews(
    tx: Tx, filters: ReviewFilters, limit: int, after: QueuePosition | None = None
) -> list[Review]:
    """Open reviews, oldest first, after the last one of the previous page."""
    kind = "kind = $1" if filters.kind else "$1::text is null"
    partner = "partner_id = $2" if filters.partner_id else "$2::uuid is null"
    holder = "claimed_by = $3 and claimed_until > $4" if filters.holder else "$3::text is null and $4::timestamptz = $4"
    beyond = "(asked_at, id) > ($6, $7)" if after else "$6::timestamptz is null and $7::uuid is null"
    country = "country_code = $8" if filters.country_code else "$8::text is null"
    script = "script = $9" if filters.script else "$9::text is null"
    reason = "reasons @> array[$10::text]" if filters.reason else "$10::text is null"
    until = "asked_at <= $11" if filters.asked_until else "$11::timestamptz is null"
    due = "due_at <= $13" if filters.due_until else "$13::timestamptz is null"
    waits = f"({_WITH_EVIDENCE['awaited']} or {_NONPROFIT_AWAITED})"
    free = f"{_FREE_FOR} and not {waits}" if filters.free_for else "$12::text is null"
    evidence = _WITH_EVIDENCE[filters.evidence] if filters.evidence else "true"
    rows = await tx.fetch(
        f"""
        select {_COLUMNS} from review where status = 'open' and {kind} and {partner} and {holder} and {beyond}
            and {country} and {script} and {reason} and {until} and {free} and {due} and {evidence}
        order by asked_at, id limit $5
        """,
        filters.kind,
        filters.partner_id,
        filters.holder,
        tx.real_now,
        limit,
        *(after or (None, None)),
        filters.country_code,
        filters.script,
        filters.reason,
        filters.asked_until,
        filters.free_for,
        filters.due_until,
    )
    return [_review(row) for row in rows]


class OpenReviewCount(NamedTuple):
    """How many reviews wait, and since when the oldest of them has waited."""

    total: int
    oldest_requested_at: datetime | None


@across_partners("operators")
async def count_open_reviews_by_kind(tx: Tx) -> dict[Kind, OpenReviewCount]:
    """The number of open reviews by kind, and since when the oldest has waited."""
    rows = await tx.fetch(
        "select kind, count(*) as count, min(asked_at) as oldest from review where status = 'open' group by kind"
    )
    return {row[0]: OpenReviewCount(row[1], row[2]) for row in rows}


@across_partners("operators")
async def count_open_reviews_up_to(tx: Tx, max_count: int) -> OpenReviewCount:
    """The number of open reviews, counted up to ``max_count``, and since when the oldest has waited."""
    [counted] = await tx.fetch(
        """
        select count(*), min(asked_at) from (
            select asked_at from review where status = 'open' order by asked_at, id limit $1
        ) waiting
        """,
        max_count,
    )
    return OpenReviewCount(*counted)


@across_partners("operators")
async def count_reviews_with_received_evidence_up_to(tx: Tx, max_count: int) -> OpenReviewCount:
    """The number of open reviews with evidence that was asked for, up to ``max_count``, and the oldest one's start."""
    [counted] = await tx.fetch(
        f"""
        select count(*), min(asked_at) from (
            select asked_at from review where status = 'open' and {_WITH_EVIDENCE["received"]}
            order by asked_at, id limit $1
        ) waiting
        """,
        max_count,
    )
    return OpenReviewCount(*counted)


@across_partners("operators")
async def count_open_reviews_by_filter(tx: Tx, reviewer_id: str, max_count: int) -> Mapping[str, OpenReviewCount]:
    """How many open reviews are "claimed" by a person, "overdue", and of each kind, counted up to ``max_count``."""
    rows = await tx.fetch(
        """
        select 'claimed', count(*), min(asked_at) from (
            select asked_at from review where status = 'open' and claimed_by = $1 and claimed_until > $2
            order by asked_at, id limit $5
        ) waiting
        union all select 'overdue', count(*), min(asked_at) from (
            select asked_at from review where status = 'open' and due_at <= $3 order by due_at limit $5
        ) waiting
        union all select given.kind, waiting.count, waiting.oldest from unnest($4::text[]) as given (kind), lateral (
            select count(*), min(asked_at) as oldest from (
                select asked_at from review where status = 'open' and kind = given.kind
                order by asked_at, id limit $5
            ) of_kind
        ) waiting
        """,
        reviewer_id,
        tx.real_now,
        tx.now,
        get_args(Kind),
        max_count,
    )
    return {row[0]: OpenReviewCount(row[1], row[2]) for row in rows}


class DecisionCount(NamedTuple):
    """How many cases of a kind a person decided this way."""

    decided_by: str
    kind: Kind
    verdict: Verdict
    total: int


@across_partners("operators")
async def list_decision_counts(tx: Tx) -> list[DecisionCount]:
    """The number of decisions by person, including simulated reviewers, but not rules."""
    rows = await tx.fetch(
        """
        select decided_by, kind, verdict, count(*) as count from review_decision where review_id is not null
        group by decided_by, kind, verdict
        """
    )
    return [DecisionCount(row[0], row[1], row[2], row[3]) for row in rows]


class WaitingTimeBucketCount(NamedTuple):
    """How many reviews are in a bucket, by the index of its upper bound."""

    bucket_index: int
    review_count: int


class WaitingTimeHistogram(NamedTuple):
    """How long decided reviews of a kind waited."""

    kind: Kind
    counts_by_bucket: Sequence[WaitingTimeBucketCount]
    total_waiting_seconds: float


@across_partners("operators")
async def list_waiting_time_histograms(tx: Tx, bucket_bounds: Sequence[Decimal]) -> list[WaitingTimeHistogram]:
    """The waiting times of decided reviews by kind."""
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
        bucket_bounds,
    )
    return [WaitingTimeHistogram(row[0], tuple(map(WaitingTimeBucketCount, row[1], row[2])), row[3]) for row in rows]


async def assign_review(tx: Tx, review: Review, assignee_id: str, claimed_until: datetime) -> None:
    """Assign a locked review to an operator who has not seen it."""
    await tx.execute(
        "update review set claimed_by = $2, claimed_until = $3, claimed_fingerprint = $4 where id = $1",
        review.id,
        assignee_id,
        claimed_until,
        NOT_SHOWN,
    )


async def extend_claim(tx: Tx, review: Review, claimed_until: datetime) -> None:
    """Prolong the claim of a locked review; the evidence shown stays the same."""
    await tx.execute("update review set claimed_until = $2 where id = $1", review.id, claimed_until)


async def insert_note(tx: Tx, subject: ReviewSubject, note: ReviewNote) -> None:
    """Store a reviewer's note."""
    await tx.execute(
        """
        insert into review_note (id, kind, subject_id, partner_id, text, written_by, written_at)
        values ($1, $2, $3, $4, $5, $6, $7)
        """,
        tx.new_id(),
        subject.kind,
        subject.id,
        subject.partner_id,
        note.text,
        note.by,
        note.at,
    )


async def list_notes(tx: Tx, subject: ReviewSubject) -> list[ReviewNote]:
    """List the notes on a case, oldest first."""
    rows = await tx.fetch(
        "select written_by, written_at, text from review_note where kind = $1 and subject_id = $2 order by id",
        subject.kind,
        subject.id,
    )
    return [ReviewNote(*row) for row in rows]


async def insert_conflict_of_interest(tx: Tx, subject: ReviewSubject, conflict: DeclaredConflictOfInterest) -> None:
    """Record a conflict of interest, which is permanent."""
    await tx.execute(
        """
        insert into review_conflict (kind, subject_id, partner_id, declared_by, reason, declared_at)
        values ($1, $2, $3, $4, $5, $6) on conflict do nothing
        """,
        subject.kind,
        subject.id,
        subject.partner_id,
        conflict.by,
        conflict.reason,
        conflict.at,
    )


async def list_conflicts_of_interest(tx: Tx, subject: ReviewSubject) -> list[DeclaredConflictOfInterest]:
    """The operators who must not decide a case, and why."""
    rows = await tx.fetch(
        """
        select declared_by, declared_at, reason from review_conflict
        where kind = $1 and subject_id = $2 order by declared_at, declared_by
        """,
        subject.kind,
        subject.id,
    )
    return [DeclaredConflictOfInterest(*row) for row in rows]


class RelatedDecisions(NamedTuple):
    """Decisions on related records, newest first, and pending ones."""

    decided: list[RelatedDecision]
    pending: list[RelatedDecision]


async def list_related_decisions(tx: Tx, related_subjects: Sequence[RelatedSubject], limit: int) -> RelatedDecisions:
    """List decisions on related records, and pending ones."""
    by_subject = {(one.subject.kind, one.subject.id): one for one in related_subjects}
    kinds, ids = [kind for kind, _ in by_subject], [id_ for _, id_ in by_subject]
    decided = await tx.fetch(
        """
        select d.kind, d.subject_id, d.verdict, d.reason_code, d.decided_by, d.note, d.decided_at, d.review_id
        from unnest($1::text[], $2::uuid[]) as given (kind, id)
        join review_decision d on d.kind = given.kind and d.subject_id = given.id
        order by d.decided_at desc, d.id desc limit $3
        """,
        kinds,
        ids,
        limit,
    )
    waiting = await tx.fetch(
        """
        select r.kind, r.subject_id, r.asked_at from unnest($1::text[], $2::uuid[]) as given (kind, id)
        join review r on r.kind = given.kind and r.subject_id = given.id and r.status = 'open'
        order by r.asked_at, r.id limit $3
        """,
        kinds,
        ids,
        limit,
    )
    return RelatedDecisions(
        [
            RelatedDecision(
                by_subject[row[0], row[1]],
                RecordedDecision(ReviewDecision(row[2], row[3], row[4], row[5]), row[6], row[7]),
            )
            for row in decided
        ],
        [RelatedDecision(by_subject[row[0], row[1]], None, row[2]) for row in waiting],
    )
