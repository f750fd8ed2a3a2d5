"""SQL for appeals."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.validation.applications.submissions.domain import Submission
from almoner.validation.decisions.appeals.domain import APPEAL, Appeal

Scope = Partner | AllPartners

_COLUMNS: Final = (
    "id, partner_id, validation_submission_id, text, appellant, first_decided_by, overridden_checks, status, "
    "created_at, "
    "due_at, decided_at, decided_by, completed_at"
)


def _appeal(row: Record) -> Appeal:
    return Appeal(row[0], row[1], row[2], row[3], row[4], tuple(row[5]), tuple(row[6]), *row[7:13])


async def insert(tx: Tx, partner: Partner, appeal: Appeal) -> None:
    """Store a new appeal."""
    await tx.execute(
        """
        insert into appeal (
            id, partner_id, validation_submission_id, text, appellant, first_decided_by, status, created_at, due_at,
            status_changed_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $8)
        """,
        appeal.id,
        partner.id,
        appeal.submission_id,
        appeal.text,
        appeal.appellant,
        list(appeal.original_deciders),
        appeal.status,
        appeal.created_at,
        appeal.due_at,
    )


async def find(tx: Tx, scope: Scope, appeal_id: UUID) -> Appeal | None:
    """One appeal; None if it does not exist."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"select {_COLUMNS} from appeal where id = $1 and ($2::uuid is null or partner_id = $2)", appeal_id, partner_id
    )
    return _appeal(row) if row else None


@across_partners("held")
async def find_for_update(tx: Tx, appeal_id: UUID) -> Appeal | None:
    """Lock one appeal until the transaction ends; None if it does not exist."""
    row = await tx.fetchrow(f"select {_COLUMNS} from appeal where id = $1 for no key update", appeal_id)
    return _appeal(row) if row else None


@across_partners("operators")
async def load_organisation_names_by_appeal_id(tx: Tx, appeal_ids: Sequence[UUID]) -> dict[UUID, str]:
    """The names of the nonprofits that these appeals are about."""
    rows = await tx.fetch(
        """
        select a.id, s.organisation_name from appeal a
        join validation_submission s on s.id = a.validation_submission_id where a.id = any($1)
        """,
        appeal_ids,
    )
    return {row["id"]: row["organisation_name"] for row in rows}


async def find_latest(tx: Tx, scope: Scope, submission_id: UUID) -> Appeal | None:
    """The newest appeal of a submission; None if there is none."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from appeal where validation_submission_id = $1 and ($2::uuid is null or partner_id = $2)
        order by id desc limit 1
        """,
        submission_id,
        partner_id,
    )
    return _appeal(row) if row else None


async def store_decision(tx: Tx, appeal: Appeal) -> bool:
    """Store the decision on a locked appeal; False if it is not open."""
    return bool(
        await tx.fetchval(
            """
            update appeal set status = $2, overridden_checks = $3, decided_at = $4, decided_by = $5,
                status_changed_at = $4
            where id = $1 and status = any($6) returning true
            """,
            appeal.id,
            appeal.status,
            list(appeal.overridden_checks),
            appeal.decided_at,
            appeal.decided_by,
            APPEAL.source_states_of(appeal.status),
        )
    )


@across_partners("held")
async def mark_reversal_completed(tx: Tx, appeal_id: UUID) -> None:
    """Record that the new result of a locked reversed appeal was set."""
    await tx.execute("update appeal set completed_at = $2 where id = $1", appeal_id, tx.now)


@across_partners("sweep")
async def find_earliest_unerased_decision_time(tx: Tx) -> datetime | None:
    """When the longest-decided appeal that still has a text was decided."""
    found: datetime | None = await tx.fetchval(
        "select min(decided_at) from appeal where text is not null and decided_at is not null"
    )
    return found


@across_partners("sweep")
async def erase_appeal_texts(tx: Tx, decided_before: datetime, limit: int) -> int:
    """Erase the texts of appeals decided by then; returns how many."""
    rows = await tx.fetch(
        """
        with old as (
            select id from appeal where text is not null and decided_at <= $1
            order by decided_at limit $2 for no key update skip locked
        )
        update appeal a set text = null from old where a.id = old.id returning a.id
        """,
        decided_before,
        limit,
    )
    return len(rows)


async def list_decision_makers_of_submission(
    tx: Tx, partner: Partner, submission: Submission, organisation_ids: Sequence[UUID]
) -> tuple[str, ...]:
    """The operators who decided the failed checks of a submission and its earlier appeals.

    Decisions on verifications that were replaced by an address correction count too. ``organisation_ids``: its
    organisation's records in all registers, each of which is screened separately.
    """
    rows = await tx.fetch(
        """
        with recursive applicant (id) as (
            select $2::uuid
            union all
            select a.replaces from applicant join agent_verification a on a.id = applicant.id
            where a.replaces is not null
        ), subject (kind, id) as (
            select 'validation_request', $1::uuid union all select 'agent_verification', id from applicant
        ), compared (type, id) as (
            select 'organisation', unnest($3::uuid[]) union all select 'agent_verification', id from applicant
        )
        select distinct by from (
            select d.decided_by as by from subject
            join review_decision d on d.kind = subject.kind and d.subject_id = subject.id and d.partner_id = $5
            union all
            select d.decided_by from compared c
            join screening_subject s on s.type = c.type and s.subject_id = c.id and s.partner_id = $5
            join screening_match m on m.screening_subject_id = s.id
            join review_decision d on d.kind = 'match' and d.subject_id = m.id
            union all
            select decided_by from appeal where validation_submission_id = $4 and partner_id = $5
        ) found where by ~ '^(sandbox_)?operator_' order by by
        """,
        submission.validation_request_id,
        submission.agent_verification_id,
        list(organisation_ids),
        submission.id,
        partner.id,
    )
    return tuple(row["by"] for row in rows)


@across_partners("followers")
async def list_submission_ids_with_incomplete_reversal(
    tx: Tx, check: str, check_record_ids: Sequence[UUID]
) -> list[UUID]:
    """Submissions with a reversed appeal that wait for these checks to end."""
    rows = await tx.fetch(
        f"""
        select s.id from validation_submission s
        where s.{_CHECKS[check]} = any($1::uuid[]) and s.status = 'failed'
            and exists (
                select from appeal a
                where a.validation_submission_id = s.id and a.status = 'reversed' and a.completed_at is null
            )
        """,
        check_record_ids,
    )
    return [row["id"] for row in rows]


_CHECKS: Final = {
    "monitoring": "monitoring_subscription_id",
    "eligibility": "eligibility_subscription_id",
    "agent": "agent_verification_id",
}
