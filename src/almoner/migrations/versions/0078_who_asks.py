"""Whom an applicant applies to, by the name that the form and its mails say: the mail that asks for a confirmation too.

Revision ID: 0078
Revises: 0077
"""

from alembic import op

revision = "0078"
down_revision = "0077"

UPGRADE = """
-- What an older server makes, and what the interface makes alone, is asked for by the partner's own name.
alter table agent_verification add column asked_by text check (length(asked_by) between 1 and 255);
comment on column agent_verification.asked_by is 'the configuration''s name for the partner; null: the partner''s own';
"""


def upgrade() -> None:
    """Change the table."""
    op.execute(UPGRADE)
