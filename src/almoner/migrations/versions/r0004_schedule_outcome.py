"""How the last run of each periodic job ended, and who wants it run now.

Revision ID: r0004
Revises: r0003
"""

from alembic import op

revision = "r0004"
down_revision = "r0003"

UPGRADE = """
alter table schedule add column failed_at timestamptz;
alter table schedule add column last_error text check (length(last_error) between 1 and 500);
alter table schedule add column run_requested_at timestamptz;
alter table schedule add constraint schedule_failure check ((failed_at is null) = (last_error is null));
comment on column schedule.failed_at is 'when its run failed last; null once a run succeeds';
comment on column schedule.run_requested_at is 'an operator wants it run without waiting for the end of its period';
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
