"""Refunds that failed after their provider had sent them: kept apart from the refund, which stays as it was told.

Revision ID: 0087
Revises: 0083
"""

from alembic import op

revision = "0087"
down_revision = "0083"

UPGRADE = """
-- What was sent and came back: its donor does not have the money, and a person sees to it. Only ever added to.
create table refund_failure (
    refund_id uuid primary key references refund (id),
    why text not null check (length(why) between 1 and 500),
    heard_at timestamptz not null
);
create trigger refund_failure_append_only before update or delete or truncate on refund_failure
    for each statement execute function refuse_change();
grant select, insert on refund_failure to almoner_app;
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(UPGRADE)
