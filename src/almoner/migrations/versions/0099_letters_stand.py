"""Letters of authority of before stand for the answer of the nonprofit, which is waited for no more.

Revision ID: 0099
Revises: 0098
"""

from alembic import op

revision = "0099"
down_revision = "0098"

UPGRADE = """
create index agent_verification_document_of_file on agent_verification_document (document_id);
update agent_verification v set expires_at = null
where status = 'pending_review' and expires_at is not null and exists (
    select from agent_verification_document a join document d on d.id = a.document_id
    where a.agent_verification_id = v.id and d.deleted_at is null and d.status <> 'rejected'
);
"""


def upgrade() -> None:
    """One index more."""
    op.execute(UPGRADE)
