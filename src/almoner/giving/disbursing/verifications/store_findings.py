"""SQL for findings of checks, and for flags."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple, cast
from uuid import UUID

from asyncpg import Record

from almoner.giving.disbursing.verifications.domain import CheckType, MonetaryDonationVerification
from almoner.giving.disbursing.verifications.findings import (
    CheckFinding,
    FindingOutcome,
    FlagKind,
    FlagReview,
    FlagStatus,
    StoredFinding,
    VerificationFlag,
    WaitingKind,
    WaitingReviewItem,
)
from almoner.kit.counts import WaitingCount
from almoner.kit.evidence import Evaluation, EvaluationStep, StepVerdict
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.evidence import store as evidence

_OUTCOMES: Final[Mapping[StepVerdict, FindingOutcome]] = {"pass": "succeeded", "fail": "failed", "unknown": "unclear"}
_VERDICTS: Final = {outcome: verdict for verdict, outcome in _OUTCOMES.items()}


def _stored_finding(evaluation: Evaluation) -> StoredFinding:
    [step] = evaluation.steps
    until = cast("str | None", evaluation.facts["expiresAt"])
    finding = CheckFinding(
        cast("CheckType", step.name),
        _OUTCOMES[step.verdict],
        step.source or "",
        step.code,
        step.facts,
        step.data_as_of,
        datetime.fromisoformat(until) if until else None,
    )
    return StoredFinding(evaluation.id, finding, evaluation.at)


async def insert_finding(tx: Tx, verification: MonetaryDonationVerification, finding: CheckFinding) -> UUID:
    """Store a finding; returns its ID."""
    verdict = _VERDICTS[finding.outcome]
    step = EvaluationStep(
        finding.check, verdict, finding.reason, finding.source, finding.data_as_of, dict(finding.facts)
    )
    made = await evidence.record_evaluation(
        tx,
        Partner(verification.partner_id),
        "monetary_donation_verification",
        verification.id,
        [step],
        facts={"expiresAt": finding.expires_at},
    )
    return made.id


async def find_newest_finding(tx: Tx, verification_id: UUID, check: CheckType) -> StoredFinding | None:
    """The newest finding of a check."""
    found = await evidence.find_latest_evaluation(tx, verification_id, step=check)
    return _stored_finding(found) if found else None


async def list_findings(tx: Tx, verification_id: UUID) -> list[StoredFinding]:
    """All findings of a verification, oldest first."""
    return [_stored_finding(one) for one in await evidence.list_evaluations(tx, verification_id)]


@across_partners("sweep")
async def set_next_check_at(tx: Tx, verification_id: UUID, next_check_at: datetime) -> None:
    """Store when registers and lists must be checked again."""
    await tx.execute(
        "update monetary_donation_verification set next_check_at = $2 where id = $1", verification_id, next_check_at
    )


NEXT_CHECK: Final = """
select min(next_check_at) from monetary_donation_verification
where status in ('pending', 'approved') and next_check_at is not null
"""


@across_partners("sweep")
async def next_check_at(tx: Tx) -> datetime | None:
    """When the next check is due."""
    found: datetime | None = await tx.fetchval(NEXT_CHECK)
    return found


@across_partners("sweep")
async def claim_verifications_due_for_check(tx: Tx, due_again_at: datetime, limit: int) -> list[UUID]:
    """Claim verifications due for a check; they are due again at ``due_again_at`` unless a check sets another time."""
    rows = await tx.fetch(
        """
        with due as (
            select id from monetary_donation_verification
            where status in ('pending', 'approved') and next_check_at <= $1
            order by next_check_at limit $2 for no key update skip locked
        )
        update monetary_donation_verification v set next_check_at = $3 from due where v.id = due.id returning v.id
        """,
        tx.now,
        limit,
        due_again_at,
    )
    return [row["id"] for row in rows]


_FACTS: Final = "f.steps -> 0 -> 'facts'"
_FLAG: Final = f"""
select g.id, g.verification_id, g.kind, g.status, {_FACTS}, g.raised_at, g.first_by, g.first_note, g.first_at,
       g.second_by, g.second_note, g.second_at
from monetary_donation_flag g join evidence f on (f.record_id, f.id) = (g.verification_id, g.finding_id)
"""


def _flag(row: Record) -> VerificationFlag:
    first, second = (FlagReview(*row[at : at + 3]) if row[at] else None for at in (6, 9))
    id_, verification_id, kind, status, facts, raised_at = row[:6]
    return VerificationFlag(id_, verification_id, kind, status, facts, raised_at, first, second)


async def raise_flag(tx: Tx, verification_id: UUID, finding_id: UUID, kind: FlagKind) -> None:
    """Store a new flag."""
    await tx.execute(
        """
        insert into monetary_donation_flag (
            id, verification_id, finding_id, kind, status, raised_at, status_changed_at
        ) values ($1, $2, $3, $4, 'open', $5, $5)
        """,
        tx.new_id(),
        verification_id,
        finding_id,
        kind,
        tx.now,
    )


async def has_expired_finding(tx: Tx, verification_id: UUID) -> bool:
    """Whether the evidence of any check of a verification has expired."""
    return bool(
        await tx.fetchval(
            "select exists (select from monetary_donation_flag where verification_id = $1 and status = 'open' "
            "and kind = 'evidence_expired')",
            verification_id,
        )
    )


async def withdraw_expired_evidence_flags(tx: Tx, verification_id: UUID, check: CheckType) -> bool:
    """Close flags for expired evidence of a check, because there is new evidence; False if none was open."""
    ended = await tx.execute(
        """
        update monetary_donation_flag g
        set status = 'withdrawn', status_changed_at = $3, first_by = coalesce(first_by, 'rule'),
            first_note = coalesce(first_note, 'there is evidence again'), first_at = coalesce(first_at, $3)
        from evidence f
        where f.record_id = $1 and f.id = g.finding_id and f.steps -> 0 ->> 'name' = $2
          and g.verification_id = $1 and g.kind = 'evidence_expired'
          and g.status = 'open'
        """,
        verification_id,
        check,
        tx.now,
    )
    return ended != "UPDATE 0"


@across_partners("held")
async def list_flags(tx: Tx, verification_id: UUID) -> list[VerificationFlag]:
    """All flags of a verification, oldest first."""
    rows = await tx.fetch(f"{_FLAG} where g.verification_id = $1 order by g.id", verification_id)
    return [_flag(row) for row in rows]


async def list_flags_with_status(tx: Tx, status: FlagStatus, limit: int) -> list[VerificationFlag]:
    """Flags of all verifications, newest first."""
    rows = await tx.fetch(f"{_FLAG} where g.status = $1 order by g.id desc limit $2", status, limit)
    return [_flag(row) for row in rows]


_COUNT_PENDING: Final = """
select count(*), min(expires_at) from monetary_donation_verification where status = 'pending' and expires_at > $1
"""
_COUNT_OPEN_FLAGS: Final = """
select count(*), min(f.raised_at) from monetary_donation_flag f
join monetary_donation_verification v on v.id = f.verification_id
where f.status = 'open' and v.status in ('pending', 'approved')
"""


class OpenVerificationCounts(NamedTuple):
    """How many verifications and flags wait, the first expiry of those verifications, and the oldest flag's time."""

    pending_count: int
    first_expires_at: datetime | None
    open_flag_count: int
    oldest_flag_raised_at: datetime | None


@across_partners("operators")
async def load_open_verification_counts(tx: Tx) -> OpenVerificationCounts:
    """Count waiting verifications and flags."""
    [pending], [flagged] = await tx.fetch(_COUNT_PENDING, tx.now), await tx.fetch(_COUNT_OPEN_FLAGS)
    return OpenVerificationCounts(*pending, *flagged)


COUNT_WAITING: Final = """
select 'monetary_donation_verification' as kind, count(*), min(created_at) as oldest from (
    select created_at from monetary_donation_verification where status = 'pending' and expires_at > $1
    order by created_at, id limit $2
) pending
union all select 'verification_flag', count(*), min(raised_at) from (
    select f.raised_at from monetary_donation_flag f join monetary_donation_verification v on v.id = f.verification_id
    where f.status = 'open' and v.status in ('pending', 'approved') order by f.raised_at, f.id limit $2
) flagged
"""


@across_partners("operators")
async def count_waiting_by_kind_up_to(tx: Tx, max_count: int) -> Mapping[WaitingKind, WaitingCount]:
    """Count pending verifications and open flags up to ``max_count``."""
    rows = await tx.fetch(COUNT_WAITING, tx.now, max_count)
    return {row["kind"]: WaitingCount(row["count"], row["oldest"]) for row in rows}


_WAITING: Final = """
select kind, id, partner_id, organisation_id, since, reviewed, open_checks from (
    (
        select 'monetary_donation_verification' as kind, v.id, v.partner_id, v.organisation_id, v.created_at as since,
            false as reviewed, array(
                select type from monetary_donation_check c where c.verification_id = v.id and c.status = 'pending'
                order by c.id
            ) as open_checks
        from monetary_donation_verification v
        where v.status = 'pending' and v.expires_at > $1 and coalesce($7, 'monetary_donation_verification') =
            'monetary_donation_verification' and ($2::uuid is null or v.partner_id = $2)
            and ($3::timestamptz is null or v.created_at <= $3)
            and ($4::timestamptz is null or (v.created_at, v.id) > ($4, $5::uuid))
        order by v.created_at, v.id limit $6
    ) union all (
        select 'verification_flag', f.id, v.partner_id, v.organisation_id, f.raised_at,
            f.first_by is not null, '{}'::text[]
        from monetary_donation_flag f join monetary_donation_verification v on v.id = f.verification_id
        where f.status = 'open' and v.status in ('pending', 'approved') and coalesce($7, 'verification_flag') =
            'verification_flag' and ($2::uuid is null or v.partner_id = $2)
            and ($3::timestamptz is null or f.raised_at <= $3)
            and ($4::timestamptz is null or (f.raised_at, f.id) > ($4, $5::uuid))
        order by f.raised_at, f.id limit $6
    )
) waiting order by since, id limit $6
"""


async def list_waiting_review_items(
    tx: Tx,
    limit: int,
    *,
    kind: WaitingKind | None = None,
    partner_id: UUID | None = None,
    waiting_since_before: datetime | None = None,
    after_position: tuple[datetime, UUID] | None = None,
) -> list[WaitingReviewItem]:
    """Pending verifications and open flags, longest waiting first."""
    rows = await tx.fetch(
        _WAITING, tx.now, partner_id, waiting_since_before, *(after_position or (None, None)), limit, kind
    )
    return [WaitingReviewItem(*row) for row in rows]


@across_partners("operators")
async def find_flag(tx: Tx, flag_id: UUID) -> VerificationFlag | None:
    """One flag."""
    row = await tx.fetchrow(f"{_FLAG} where g.id = $1", flag_id)
    return _flag(row) if row else None


async def list_open_account_flags(
    tx: Tx, kind: FlagKind, verification_id: UUID, account_id: str
) -> list[VerificationFlag]:
    """Open flags about an account; they change under their verification's lock only."""
    rows = await tx.fetch(
        f"{_FLAG} where g.verification_id = $1 and g.status = 'open' and g.kind = $2 "
        f"and {_FACTS} ->> 'account' = $3 order by g.id",
        verification_id,
        kind,
        account_id,
    )
    return [_flag(row) for row in rows]


async def update_flag_reviews_and_status(tx: Tx, flag: VerificationFlag, status: FlagStatus) -> None:
    """Store the reviews of a locked flag, and its new state."""
    first, second = flag.first_review, flag.second_review
    assert first is not None, "somebody has looked"
    await tx.execute(
        """
        update monetary_donation_flag
        set first_by = $2, first_note = $3, first_at = $4, second_by = $5, second_note = $6, second_at = $7,
            status = $8, status_changed_at = $9
        where id = $1
        """,
        flag.id,
        first.by,
        first.note,
        first.at,
        second.by if second else None,
        second.note if second else None,
        second.at if second else None,
        status,
        tx.now,
    )
