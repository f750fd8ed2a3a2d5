"""Totals of completely imported settlement reports.

Revision ID: r0007
Revises: r0006
"""

from alembic import op

revision = "r0007"
down_revision = "r0006"

UPGRADE = """
-- Set once all lines are stored. Version 0.1.0 leaves them null, and then the lines are added up.
alter table settlement
    add column fee_minor bigint,
    add column net_minor bigint,
    add constraint settlement_totals check ((fee_minor is null) = (net_minor is null)) not valid;
create trigger settlement_totals_immutable before update on settlement for each row
    when (old.fee_minor is not null) execute function guard_immutable();
grant update (fee_minor, net_minor) on settlement to almoner_app;
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
