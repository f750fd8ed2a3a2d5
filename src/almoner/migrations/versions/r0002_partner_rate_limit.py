"""A partner's own rate limits.

Revision ID: r0002
Revises: r0001 and a hash of the baseline
"""

from alembic import op

from almoner.migrations import BASELINE_REVISION

revision = "r0002"
down_revision = BASELINE_REVISION

UPGRADE = """
-- A partner's own rate limit for each of its keys of a kind; without a row, the deployment's.
create table partner_rate_limit (
    partner_id uuid not null references partner (id),
    key_kind text not null check (key_kind in ('secret', 'publishable', 'scim')),
    per_second double precision not null check (per_second > 0 and per_second < 1000000),
    burst integer not null check (burst between 1 and 1000000),
    primary key (partner_id, key_kind)
);
comment on column partner_rate_limit.burst is 'how many requests may come at once';
grant select, insert, update, delete on partner_rate_limit to almoner_app;
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
