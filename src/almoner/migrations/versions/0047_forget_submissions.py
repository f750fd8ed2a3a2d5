"""Applicants who are no agents, and answers to partners' questions, are forgotten: what there is to forget, by time.

Revision ID: 0047
Revises: 0046
"""

from alembic import op

revision = "0047"
down_revision = "0046"

UPGRADE = """
create index validation_submission_to_forget on validation_submission (processed_at)
    where num_nonnulls(first_name, last_name, email, partner_fields) > 0;
"""


def upgrade() -> None:
    """Create the index."""
    op.execute(UPGRADE)
