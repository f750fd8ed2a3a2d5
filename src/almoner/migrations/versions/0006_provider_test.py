"""The built-in test payment provider: payments and callbacks in a schema of its own.

Revision ID: 0006
Revises: 0005
"""

from alembic import op

revision = "0006"
down_revision = "0005"

UPGRADE = """
create schema provider_test;

create table provider_test.payment (
    id text primary key check (id ~ '^tp_[0-9a-f]{32}$'),
    idempotency_key text not null unique,
    fingerprint bytea not null,
    amount bigint not null check (amount > 0),
    currency char(3) not null,
    description text not null,
    reference text not null,
    return_url text not null,
    cancel_url text not null,
    callback_url text not null,
    language text not null,
    status text not null check (status in ('open', 'processing', 'succeeded', 'failed', 'cancelled')),
    attempts integer not null check (attempts between 0 and 5),
    last_decline text,
    brand text,
    last_four char(4),
    disputes_later boolean not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
comment on table provider_test.payment is 'No card number is ever stored: brand and last four digits only (H5).';

create table provider_test.callback (
    id text primary key check (id ~ '^tpe_[0-9a-f]{32}$'),
    payment_id text not null references provider_test.payment (id),
    type text not null
        check (type in ('payment.succeeded', 'payment.failed', 'payment.cancelled', 'payment.disputed')),
    body bytea not null,
    due_at timestamptz not null,
    leased_until timestamptz,
    attempts integer not null,
    delivered_at timestamptz,
    given_up_at timestamptz,
    created_at timestamptz not null,
    unique (payment_id, type)
);
create index callback_due on provider_test.callback (due_at) where delivered_at is null and given_up_at is null;

grant usage on schema provider_test to almoner_app;
grant select, insert, update, delete on provider_test.payment, provider_test.callback to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
