"""Who is watched is compared again when the engine that compares has another version.

Revision ID: 0055
Revises: 0054
"""

from alembic import op

revision = "0055"
down_revision = "0054"

UPGRADE = """
-- A server of the release before knows nothing of it: what it keeps is compared again.
alter table screening_subject
    add column engine integer not null default 0 check (engine >= 0);
comment on column screening_subject.engine is 'which version of the engine compared it last';
create index screening_subject_outdated on screening_subject (engine) where watched;
insert into queue_lane (lane, cap) values ('screening', 1);
"""


def upgrade() -> None:
    """Change the tables."""
    op.execute(UPGRADE)
