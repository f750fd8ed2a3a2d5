"""SQL that links files to submissions and invites; the files themselves are stored by ``documents``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx
from almoner.validation.applications.documents.domain import DatedEvidenceOutcome
from almoner.validation.applications.submission_documents.domain import Kind


@dataclass(frozen=True, slots=True)
class SubmissionDocumentRecord:
    """A document without its file."""

    id: UUID
    partner_id: UUID
    document_id: UUID
    validation_submission_id: UUID | None
    validation_invite_id: UUID | None
    type: Kind
    created_at: datetime


_COLUMNS: Final = "id, partner_id, document_id, validation_submission_id, validation_invite_id, type, created_at"


def _row(record: Record) -> SubmissionDocumentRecord:
    return SubmissionDocumentRecord(*record[:7])


async def insert(tx: Tx, partner: Partner, document_record: SubmissionDocumentRecord) -> None:
    """Store a new document record."""
    await tx.execute(
        f"insert into validation_submission_document ({_COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7)",
        document_record.id,
        partner.id,
        document_record.document_id,
        document_record.validation_submission_id,
        document_record.validation_invite_id,
        document_record.type,
        document_record.created_at,
    )


_OF_SUBMISSION: Final = f"""
select {_COLUMNS} from validation_submission_document
where validation_submission_id = $2 and partner_id = $1 order by id
"""
_OF_INVITE: Final = f"""
select {_COLUMNS} from validation_submission_document
where validation_invite_id = $2 and partner_id = $1 order by id
"""


async def list_by_submission(tx: Tx, partner: Partner, submission_id: UUID) -> list[SubmissionDocumentRecord]:
    """A submission's documents, oldest first."""
    return [_row(record) for record in await tx.fetch(_OF_SUBMISSION, partner.id, submission_id)]


async def list_by_invite(tx: Tx, partner: Partner, invite_id: UUID) -> list[SubmissionDocumentRecord]:
    """An invite's documents, oldest first."""
    return [_row(record) for record in await tx.fetch(_OF_INVITE, partner.id, invite_id)]


@across_partners("held")
async def find_by_document_id(tx: Tx, document_id: UUID) -> SubmissionDocumentRecord | None:
    """The record of a file; None if it has none."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from validation_submission_document where document_id = $1", document_id
    )
    return _row(row) if row else None


_OUTCOMES: Final = """
select d.document_id,
    case r.status when 'pending' then 'open' when 'accepted' then 'accepted' else 'refused' end as outcome,
    coalesce(r.accepted_at, r.rejected_at) as at
from validation_request_document d join validation_request r on r.id = d.validation_request_id
where d.document_id = any($1::uuid[])
union all
select d.document_id,
    case when s.status = 'pending' or a.open then 'open'
         when s.status = 'failed' then 'refused' else 'accepted' end,
    greatest(s.processed_at, a.decided_at)
from validation_submission_document d join validation_submission s on s.id = d.validation_submission_id
left join lateral (
    select bool_or(status = 'open' or status = 'reversed' and completed_at is null) as open,
        max(coalesce(completed_at, decided_at)) as decided_at
    from appeal where validation_submission_id = s.id
) a on true
where d.document_id = any($1::uuid[])
"""


@across_partners("held")
async def load_evidence_outcomes_by_document_id(
    tx: Tx, document_ids: Sequence[UUID]
) -> dict[UUID, list[DatedEvidenceOutcome]]:
    """The outcomes of all records that these files are evidence for, by file."""
    found: dict[UUID, list[DatedEvidenceOutcome]] = {}
    for row in await tx.fetch(_OUTCOMES, list(document_ids)):
        found.setdefault(row[0], []).append(DatedEvidenceOutcome(row[1], row[2]))
    return found


async def assign_to_submission(
    tx: Tx, partner: Partner, submission_document_ids: Sequence[UUID], submission_id: UUID
) -> None:
    """Assign an invite's documents to its submission."""
    await tx.execute(
        """
        update validation_submission_document set validation_submission_id = $3
        where partner_id = $1 and id = any($2::uuid[])
        """,
        partner.id,
        list(submission_document_ids),
        submission_id,
    )


@across_partners("sweep")
async def list_document_ids_of_unused_invites(tx: Tx, invite_ids: Sequence[UUID]) -> list[UUID]:
    """The files, not deleted yet, of invites without a submission."""
    rows = await tx.fetch(
        """
        select d.id from validation_submission_document s join document d on d.id = s.document_id
        where s.validation_invite_id = any($1::uuid[]) and s.validation_submission_id is null and d.deleted_at is null
        """,
        list(invite_ids),
    )
    return [row["id"] for row in rows]
