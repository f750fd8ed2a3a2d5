"""Disputes: the test provider's.

Revision ID: 0050
Revises: 0048
"""

from alembic import op

revision = "0050"
down_revision = "0048"

UPGRADE = """
-- The test provider: a payment is disputed once; what is still to open has its moment in the future.
create table provider_test.dispute (
    id text primary key check (id ~ '^tpd_[0-9a-f]{32}$'),
    payment_id text not null unique references provider_test.payment (id),
    amount bigint not null check (amount >= 0),
    currency char(3) not null,
    status text not null check (status in ('open', 'won', 'lost')),
    reason text not null,
    opened_at timestamptz not null,
    decided_at timestamptz,
    check ((status = 'open') = (decided_at is null))
);
grant select, insert, update on provider_test.dispute to almoner_app;
alter table provider_test.callback drop constraint callback_type_check;
alter table provider_test.callback add constraint callback_type_check check (type in (
    'payment.attempt_failed', 'payment.succeeded', 'payment.failed', 'payment.cancelled', 'payment.disputed',
    'dispute.opened', 'dispute.won', 'dispute.lost'
));
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
