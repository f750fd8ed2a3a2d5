"""When the applicant of an open review was asked for evidence.

Revision ID: r0009
Revises: r0008
"""

from alembic import op

revision = "r0009"
down_revision = "r0008"

# An interruption leaves an index invalid, so all are repeated.
STATEMENTS = (
    "alter table review add column if not exists evidence_requested_at timestamptz",
    "comment on column review.evidence_requested_at is 'when a reviewer last asked the applicant for evidence'",
    """
update review r set evidence_requested_at = asked.at
from (
    select e.type as kind,
        case e.type when 'validation_request' then s.validation_request_id else s.agent_verification_id end as subject,
        max(e.requested_at) as at
    from requested_evidence e join validation_submission s on s.id = e.validation_submission_id
    where s.status = 'pending' group by 1, 2
) asked
where r.kind = asked.kind and r.subject_id = asked.subject and r.status = 'open' and r.evidence_requested_at is null
""",
    "drop index concurrently if exists review_queue_asked",
    """
create index concurrently review_queue_asked on review (asked_at, id)
    where status = 'open' and evidence_requested_at is not null
""",
)


def upgrade() -> None:
    with op.get_context().autocommit_block():
        for statement in STATEMENTS:
            op.execute(statement)


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
