"""SQL for validation submissions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.organisations.domain import MAX_INDEX_PATTERNS
from almoner.platform.database import counters, lists
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.conditions import SqlConditions
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.validation.applications.configurations.domain import Check
from almoner.validation.applications.submissions.domain import (
    SUBMISSION,
    Applicant,
    LatestAppeal,
    PendingReview,
    RequestedEvidence,
    Submission,
    SubmissionFilters,
    SubmissionOrganisation,
    SubmissionStatus,
)

Scope = Partner | AllPartners


LIST: Final = "validation_submission"
_COLUMNS: Final = (
    "id, partner_id, configuration_id, validation_invite_id, status, checks, organisation_id, validation_request_id, "
    "monitoring_subscription_id, eligibility_subscription_id, agent_verification_id, organisation_name, country_code, "
    "language, first_name, last_name, email, metadata, partner_fields, failure_reasons, created_at, processed_at, "
    "overridden_checks"
)
_SELECT: Final = f"select {_COLUMNS} from validation_submission"
UNINDEXED: Final = "(search_name || '')"
"""The same without the word index, for words too short for it."""
_INDEXED: Final = 3


def search_column_for(word: str) -> str:
    """The column to search for a word: the word index if the word is long enough."""
    return "search_name" if len(word) >= _INDEXED else UNINDEXED


def submission_fields_of_row(row: Record) -> dict[str, object]:
    """The fields of a submission that are columns of its row."""
    values = {name: row[name] for name in _COLUMNS.split(", ")}
    applicant = Applicant(values.pop("first_name"), values.pop("last_name"), values.pop("email"))
    listed = {"checks": tuple(row["checks"]), "overridden_checks": tuple(row["overridden_checks"])}
    return {**values, **listed, "own_applicant": applicant}


def _owner(scope: Scope) -> UUID | None:
    return scope.id if isinstance(scope, Partner) else None


async def insert(tx: Tx, partner: Partner, submission: Submission, search_name: str) -> None:
    """Store a new submission."""
    await tx.execute(
        """
        insert into validation_submission (
            id, partner_id, configuration_id, validation_invite_id, status, checks, organisation_id,
            validation_request_id, monitoring_subscription_id, eligibility_subscription_id, agent_verification_id,
            organisation_name, country_code, search_name, language, first_name, last_name, email, metadata,
            partner_fields, created_at, status_changed_at
        ) values (
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $21
        )
        """,
        submission.id,
        partner.id,
        submission.configuration_id,
        submission.validation_invite_id,
        submission.status,
        list(submission.checks),
        submission.organisation_id,
        submission.validation_request_id,
        submission.monitoring_subscription_id,
        submission.eligibility_subscription_id,
        submission.agent_verification_id,
        submission.organisation_name,
        submission.country_code,
        search_name,
        submission.language,
        submission.own_applicant.first_name,
        submission.own_applicant.last_name,
        submission.own_applicant.email,
        submission.metadata,
        submission.partner_fields,
        submission.created_at,
    )
    await counters.add_to_list_total(tx, partner, LIST, 1)


async def find(tx: Tx, scope: Scope, submission_id: UUID) -> Record | None:
    """One row; None if it does not exist."""
    return await tx.fetchrow(
        f"{_SELECT} where id = $1 and ($2::uuid is null or partner_id = $2)", submission_id, _owner(scope)
    )


async def find_for_update(tx: Tx, scope: Scope, submission_id: UUID) -> Record | None:
    """Lock one row until the transaction ends; None if it does not exist."""
    return await tx.fetchrow(
        f"{_SELECT} where id = $1 and ($2::uuid is null or partner_id = $2) for no key update",
        submission_id,
        _owner(scope),
    )


async def update_status(tx: Tx, submission: Submission, expected_status: SubmissionStatus) -> bool:
    """Store a locked submission's new status; False if it is not in the expected state."""
    return bool(
        await tx.fetchval(
            """
            update validation_submission
            set status = $2, failure_reasons = $3, processed_at = $4, status_changed_at = $5
            where id = $1 and status = $6 and status = any($7) returning true
            """,
            submission.id,
            submission.status,
            submission.failure_reasons,
            submission.processed_at,
            tx.now,
            expected_status,
            SUBMISSION.source_states_of(submission.status),
        )
    )


async def mark_checks_overridden(tx: Tx, submission_id: UUID, checks: Sequence[Check]) -> None:
    """Count these failed checks of a locked submission as passed."""
    await tx.execute("update validation_submission set overridden_checks = $2 where id = $1", submission_id, checks)


@across_partners("held")
async def set_failure_reasons(tx: Tx, submission_id: UUID, reasons: Mapping[str, object]) -> None:
    """Store the current failure reasons of a locked failed submission."""
    await tx.execute("update validation_submission set failure_reasons = $2 where id = $1", submission_id, reasons)


@across_partners("held")
async def set_organisation(tx: Tx, submission_id: UUID, organisation_id: UUID, added_search_words: str) -> None:
    """Set the organisation of a locked submission that had none. ``added_search_words``: added to its search text."""
    await tx.execute(
        """
        update validation_submission set organisation_id = $2, search_name = search_name || ' ' || $3
        where id = $1 and organisation_id is null
        """,
        submission_id,
        organisation_id,
        added_search_words,
    )


@across_partners("followers")
async def lock_submissions_failed_before_request_acceptance(
    tx: Tx, validation_request_ids: Sequence[UUID]
) -> list[UUID]:
    """Lock the submissions that failed before these requests were accepted."""
    rows = await tx.fetch(
        """
        select id from validation_submission
        where validation_request_id = any($1::uuid[]) and organisation_id is null and status = 'failed'
        order by id for no key update
        """,
        validation_request_ids,
    )
    return [row["id"] for row in rows]


@across_partners("held")
async def load_organisations_by_submission(
    tx: Tx, submission_ids: Sequence[UUID]
) -> dict[UUID, SubmissionOrganisation]:
    """The current organisation of each submission, from the submission or its request."""
    rows = await tx.fetch(
        """
        select s.id as submission_id, o.id, o.name, o.country_code, o.types
        from validation_submission s
        left join validation_request r on r.id = s.validation_request_id
        join organisation o on o.id = coalesce(s.organisation_id, r.organisation_id)
        where s.id = any($1::uuid[])
        """,
        submission_ids,
    )
    return {
        row["submission_id"]: SubmissionOrganisation(row["id"], row["name"], row["country_code"], tuple(row["types"]))
        for row in rows
    }


@across_partners("operators")
async def load_pending_reviews_by_request_id(tx: Tx, request_ids: Sequence[UUID]) -> dict[UUID, PendingReview]:
    """The last evaluation of each pending validation request, and since when it is in review.

    Evaluations before a correction of register or number are ignored.
    """
    rows = await tx.fetch(
        """
        select r.id, last.reasons, first.recorded_at from validation_request r
        cross join lateral (
            select reasons from evidence e
            where e.record_id = r.id and e.facts ->> 'corrections' = r.corrections::text order by e.id desc limit 1
        ) last
        cross join lateral (
            select recorded_at from evidence e
            where e.record_id = r.id and e.facts ->> 'corrections' = r.corrections::text order by e.id limit 1
        ) first
        where r.id = any($1::uuid[]) and r.status = 'pending'
        """,
        request_ids,
    )
    return {row["id"]: PendingReview(tuple(row["reasons"]), row["recorded_at"]) for row in rows}


@across_partners("held")
async def set_agent_verification(tx: Tx, submission_id: UUID, verification_id: UUID) -> None:
    """Replace the agent verification of a locked submission."""
    await tx.execute(
        "update validation_submission set agent_verification_id = $2 where id = $1", submission_id, verification_id
    )


@across_partners("held")
async def add_search_words(tx: Tx, submission_id: UUID, added_search_words: str) -> None:
    """Add words to the search text of a locked submission."""
    await tx.execute(
        "update validation_submission set search_name = search_name || ' ' || $2 where id = $1",
        submission_id,
        added_search_words,
    )


@across_partners("followers")
async def filter_submission_ids_with_exclusive_request(tx: Tx, submission_ids: Sequence[UUID]) -> set[UUID]:
    """Submissions that created their validation request and share it with no other record."""
    rows = await tx.fetch(
        """
        with recursive own (id) as (
            select agent_verification_id from validation_submission where id = any($1::uuid[])
            union all
            select a.replaces from own join agent_verification a on a.id = own.id where a.replaces is not null
        )
        select s.id from validation_submission s join validation_request r on r.id = s.validation_request_id
        where s.id = any($1::uuid[]) and r.created_at = s.created_at
            and not exists (
                select from validation_submission o where o.validation_request_id = r.id and o.id <> s.id
            ) and not exists (
                select from agent_verification a
                where a.validation_request_id = r.id and not exists (select from own where own.id = a.id)
            ) and not exists (
                select from monitoring_subscription m
                where m.validation_request_id = r.id and m.id is distinct from s.monitoring_subscription_id
            ) and not exists (
                select from eligibility_subscription e
                where e.validation_request_id = r.id and e.id is distinct from s.eligibility_subscription_id
            )
        """,
        submission_ids,
    )
    return {row["id"] for row in rows}


@across_partners("held")
async def find_email_correction_time(tx: Tx, submission_id: UUID) -> datetime | None:
    """When the applicant's address was last corrected; None if never."""
    found: datetime | None = await tx.fetchval(
        """
        select a.created_at from validation_submission s join agent_verification a on a.id = s.agent_verification_id
        where s.id = $1 and a.replaces is not null
        """,
        submission_id,
    )
    return found


async def load_unanswered_request_times_by_verification_id(
    tx: Tx, verification_ids: Sequence[UUID]
) -> dict[UUID, datetime]:
    """By agent verification, when its nonprofit was asked about the applicant, if it has not answered."""
    rows = await tx.fetch(
        """
        select verification_id, asked_at from agent_representation_request
        where verification_id = any($1::uuid[]) and answer is null
        """,
        verification_ids,
    )
    return {row["verification_id"]: row["asked_at"] for row in rows}


@across_partners("held")
async def load_requested_evidence_by_submission_and_check(
    tx: Tx, submission_ids: Sequence[UUID]
) -> dict[UUID, dict[Check, RequestedEvidence]]:
    """The evidence that reviewers requested and no readable document has answered, by submission and check."""
    rows = await tx.fetch(
        """
        select e.validation_submission_id, e.type, e.evidence, e.requested_at from requested_evidence e
        where e.validation_submission_id = any($1::uuid[]) and not exists (
            select from validation_submission_document s join document d on d.id = s.document_id
            where s.validation_submission_id = e.validation_submission_id and s.type = e.type
                and s.created_at > e.requested_at and d.deleted_at is null and d.status in ('pending_scan', 'clean')
        )
        """,
        submission_ids,
    )
    found: dict[UUID, dict[Check, RequestedEvidence]] = {}
    for submission_id, check, evidence, requested_at in rows:
        found.setdefault(submission_id, {})[check] = RequestedEvidence(evidence, requested_at)
    return found


async def insert_evidence_request(
    tx: Tx, partner: Partner, submission_id: UUID, check: str, evidence_code: str, requested_by: str
) -> None:
    """Store the evidence that a reviewer requests, in place of earlier requests."""
    await tx.execute(
        """
        insert into requested_evidence
            (validation_submission_id, type, partner_id, evidence, requested_by, requested_at)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (validation_submission_id, type) do update
            set evidence = excluded.evidence, requested_by = excluded.requested_by,
                requested_at = excluded.requested_at
        """,
        submission_id,
        check,
        partner.id,
        evidence_code,
        requested_by,
        tx.now,
    )


@across_partners("held")
async def load_latest_appeals_by_submission(tx: Tx, submission_ids: Sequence[UUID]) -> dict[UUID, LatestAppeal]:
    """The newest appeal of each submission, if there is one."""
    rows = await tx.fetch(
        """
        select distinct on (validation_submission_id) validation_submission_id, id, status, due_at,
            completed_at is not null as settled
        from appeal where validation_submission_id = any($1::uuid[]) order by validation_submission_id, id desc
        """,
        submission_ids,
    )
    return {row[0]: LatestAppeal(*row[1:]) for row in rows}


_OF_CHECK: Final = {
    "validation_request": "validation_request_id",
    "compliance": "monitoring_subscription_id",
    "eligibility": "eligibility_subscription_id",
    "agent_verification": "agent_verification_id",
}


@across_partners("operators")
async def list_submissions_with_requested_evidence(
    tx: Tx, check: str, check_record_ids: Sequence[UUID]
) -> list[Record]:
    """The undecided submissions of these requests or verifications for which a reviewer requested evidence."""
    return await tx.fetch(
        f"""
        {_SELECT} s where {_OF_CHECK[check]} = any($1::uuid[]) and status = 'pending' and exists (
            select from requested_evidence e where e.validation_submission_id = s.id and e.type = $2
        ) order by id
        """,
        check_record_ids,
        check,
    )


@across_partners("followers")
async def list_open_submission_ids(tx: Tx, check: str, check_record_ids: Sequence[UUID]) -> list[UUID]:
    """The unfinished submissions of these requests, subscriptions or verifications."""
    rows = await tx.fetch(
        f"""
        select id from validation_submission
        where {_OF_CHECK[check]} = any($1::uuid[]) and status in ('pending', 'processed') order by id
        """,
        check_record_ids,
    )
    return [row["id"] for row in rows]


@across_partners("operators")
async def can_request_evidence_for_any_submission(tx: Tx, check: str, check_record_id: UUID) -> bool:
    """Whether an undecided submission of this request or verification has an applicant with an email address."""
    found: bool = await tx.fetchval(
        f"""
        select exists (
            select from validation_submission s left join agent_verification a on a.id = s.agent_verification_id
            where s.{_OF_CHECK[check]} = $1 and s.status = 'pending' and coalesce(a.email, s.email) is not null
        )
        """,
        check_record_id,
    )
    return found


class SubmissionsToAskForEvidence(NamedTuple):
    """The submissions to ask next, and how many wait in all."""

    submission_ids: list[UUID]
    waiting_submission_count: int


@across_partners("operators")
async def list_submissions_to_ask_for_evidence(
    tx: Tx, check: str, check_record_id: UUID, limit: int
) -> SubmissionsToAskForEvidence:
    """The submissions to ask next of those of ``can_request_evidence_for_any_submission``.

    If there are more than ``limit``: those that were never asked about this check, or else those asked longest ago.
    """
    rows = await tx.fetch(
        f"""
        with waiting as (
            select s.id, e.requested_at, count(*) over () as total,
                count(*) filter (where e.requested_at is null) over () as unasked
            from validation_submission s left join agent_verification a on a.id = s.agent_verification_id
            left join requested_evidence e on e.validation_submission_id = s.id and e.type = $2
            where s.{_OF_CHECK[check]} = $1 and s.status = 'pending' and coalesce(a.email, s.email) is not null
        )
        select id, total from waiting where total <= $3 or unasked = 0 or requested_at is null
        order by requested_at nulls first, id limit $3
        """,
        check_record_id,
        check,
        limit,
    )
    return SubmissionsToAskForEvidence([row["id"] for row in rows], rows[0]["total"] if rows else 0)


async def list_undecided_submission_ids(tx: Tx, partner: Partner, configuration_id: UUID) -> list[UUID]:
    """The undecided submissions of a configuration."""
    rows = await tx.fetch(
        """
        select id from validation_submission
        where partner_id = $1 and status = 'processed' and configuration_id = $2 order by id
        """,
        partner.id,
        configuration_id,
    )
    return [row["id"] for row in rows]


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: SubmissionFilters
) -> tuple[list[Record], int]:
    """One page in reading order and the exact total, in one statement (P7): from counters, or from an index."""
    if filters == SubmissionFilters():
        return await lists.list_partner_page(tx, partner, LIST, _COLUMNS, page_)
    return await _narrowed(tx, partner, page_, filters)


async def _narrowed(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: SubmissionFilters
) -> tuple[list[Record], int]:
    conditions = _conditions(filters)
    where = conditions.sql
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    after = f"id {comparison} $2" if page_.after_id else "$2::uuid is null"
    rows = await tx.fetch(
        f"""
        select {_COLUMNS}, total from (select count(*) as total from validation_submission where {where}) counted
        left join lateral (
            select {_COLUMNS} from validation_submission where {where} and {after} order by id {order} limit $3
        ) listed on true
        order by id {order}
        """,
        partner.id,
        page_.after_id,
        page_.fetch_limit,
        *conditions.values,
    )
    return [row for row in rows if row["id"] is not None], rows[0]["total"]


def _conditions(filters: SubmissionFilters) -> SqlConditions:
    conditions = SqlConditions("partner_id = $1", bound=3)
    if filters.statuses:
        conditions.add("status = any({})", list(filters.statuses))
    if filters.configuration_ids is not None:
        conditions.add("configuration_id = any({}::uuid[])", list(filters.configuration_ids))
    if filters.organisation_ids is not None:
        conditions.add("organisation_id = any({}::uuid[])", list(filters.organisation_ids))
    if filters.validation_request_ids is not None:
        conditions.add("validation_request_id = any({}::uuid[])", list(filters.validation_request_ids))
    if filters.country_codes:
        conditions.add("country_code = any({})", list(filters.country_codes))
    if filters.email is not None:
        conditions.add(
            "id in (select id from validation_submission where partner_id = $1 and lower(email) = lower({0}) "
            "union all select s.id from agent_verification a "
            "join validation_submission s on s.agent_verification_id = a.id "
            "where a.partner_id = $1 and lower(a.email) = lower({0}))",
            filters.email,
        )
    for word in filters.search_words[:MAX_INDEX_PATTERNS]:
        conditions.add(search_column_for(word) + " like {}", f"%{word}%")
    if further := filters.search_words[MAX_INDEX_PATTERNS:]:
        conditions.add(f"{UNINDEXED} like all({{}}::text[])", [f"%{word}%" for word in further])
    return conditions
