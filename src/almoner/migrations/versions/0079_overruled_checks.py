"""What an appeal has reversed counts for every later look at the submission.

Revision ID: 0079
Revises: 0078
"""

from alembic import op

revision = "0079"
down_revision = "0078"

UPGRADE = """
alter table validation_submission
    add column overruled text[] not null default '{}' constraint validation_submission_overruled check (
        overruled <@ array['validation_request', 'compliance', 'eligibility', 'agent_verification']
    );
comment on column validation_submission.overruled is
    'checks that count as passed since an appeal was reversed, whatever they say themselves';
update validation_submission s set overruled = a.overruled
from (
    select distinct on (validation_submission_id) validation_submission_id, overruled from appeal
    where status = 'reversed' order by validation_submission_id, id desc
) a
where a.validation_submission_id = s.id and s.status <> 'failed' and a.overruled <> '{}';
"""


def upgrade() -> None:
    """Add the column."""
    op.execute(UPGRADE)
