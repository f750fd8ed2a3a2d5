"""A draft of the hosted form holds the longest answers that a configuration allows, in any script.

Revision ID: 0077
Revises: 0076
"""

from alembic import op

revision = "0077"
down_revision = "0076"

UPGRADE = """
-- 30 answers of 5,000 signs, each of up to four bytes, and what else the form asks for.
alter table application_draft drop constraint application_draft_answers_check,
    add constraint application_draft_answers_check
        check (jsonb_typeof(answers) = 'object' and pg_column_size(answers) < 1000000);
"""


def upgrade() -> None:
    """Change the table."""
    op.execute(UPGRADE)
