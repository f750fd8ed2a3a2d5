"""A reversed appeal that has a later one was answered in between.

Revision ID: 0098
Revises: 0097
"""

from alembic import op

revision = "0098"
down_revision = "0097"

UPGRADE = """
update appeal a set settled_at = a.decided_at where a.status = 'reversed' and a.settled_at is null and exists (
    select from appeal n where n.validation_submission_id = a.validation_submission_id and n.id > a.id
);
"""


def upgrade() -> None:
    """Rows alone."""
    op.execute(UPGRADE)
