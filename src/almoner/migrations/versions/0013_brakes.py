"""Brakes against card testing: what a browser began, declines, pauses, codes by mail, partners under attack.

Revision ID: 0013
Revises: 0012
"""

from alembic import op

revision = "0013"
down_revision = "0012"

UPGRADE = """
-- How many cards the provider may take on one attempt (H6); what was tried is in tries.
alter table payment add column allowed smallint not null default 5 check (allowed between 1 and 5);

-- All moments of the brakes are real time. Addresses, devices and e-mail addresses are keyed hashes of 16 bytes.
-- One payment that a browser began. allowed - declined is what may still be tried on it until it has ended.
create table card_attempt (
    payment_id uuid primary key references payment (id),
    partner_id uuid not null,
    address bytea not null check (length(address) = 16),
    device bytea check (length(device) = 16),
    allowed smallint not null check (allowed between 1 and 5),
    declined smallint not null default 0 check (declined >= 0),
    paid boolean not null default false,
    begun_at timestamptz not null,
    ended_at timestamptz,
    check (ended_at is not null or not paid)
);
create index card_attempt_address on card_attempt (address, begun_at);
create index card_attempt_device on card_attempt (device, begun_at);
create index card_attempt_begun on card_attempt (begun_at);
create index card_attempt_paid on card_attempt (partner_id, ended_at) where paid;

create table card_decline (
    payment_id uuid not null references card_attempt (payment_id) on delete cascade,
    number smallint not null check (number > 0),
    partner_id uuid not null,
    address bytea not null check (length(address) = 16),
    device bytea check (length(device) = 16),
    declined_at timestamptz not null,
    primary key (payment_id, number)
);
create index card_decline_address on card_decline (address, declined_at);
create index card_decline_device on card_decline (device, declined_at);
create index card_decline_partner on card_decline (partner_id, declined_at);

create table card_pause (
    source bytea primary key check (length(source) = 16),
    paused_until timestamptz not null
);
create index card_pause_until on card_pause (paused_until);
comment on column card_pause.source is 'an address or a device';

-- A partner whose donors are asked for a code until it is calm (H7).
create table card_alert (
    partner_id uuid primary key references partner (id),
    raised_at timestamptz not null,
    forced_until timestamptz not null,
    declines integer not null check (declines > 0),
    tries integer not null check (tries >= declines),
    check (forced_until > raised_at)
);

-- The code itself is not here: it is computed from the id with the master key (H11).
create table gift_code (
    id uuid primary key,
    session_id uuid not null references donation_session (id),
    address bytea not null check (length(address) = 16),
    email bytea not null check (length(email) = 16),
    recipient bytea not null,
    sent_at timestamptz not null,
    expires_at timestamptz not null,
    wrong smallint not null default 0 check (wrong between 0 and 5),
    passed_at timestamptz,
    spent_at timestamptz,
    check (expires_at > sent_at and expires_at <= sent_at + interval '10 minutes'),
    check (passed_at <= expires_at),
    check (spent_at is null or passed_at is not null)
);
create index gift_code_session on gift_code (session_id, sent_at);
create index gift_code_address on gift_code (address, sent_at);
create index gift_code_email on gift_code (email, sent_at);
create index gift_code_sent on gift_code (sent_at);

grant select, insert, update, delete on card_attempt, card_decline, card_pause, card_alert, gift_code to almoner_app;

-- The provider tells of each declined card, and takes no more cards than it was asked to.
alter table provider_test.payment add column max_attempts integer not null default 5
    check (max_attempts between 1 and 5);
alter table provider_test.payment add check (attempts <= max_attempts);
alter table provider_test.callback add column attempt integer not null default 0 check (attempt between 0 and 5);
alter table provider_test.callback drop constraint callback_type_check;
alter table provider_test.callback add constraint callback_type_check check (type in (
    'payment.attempt_failed', 'payment.succeeded', 'payment.failed', 'payment.cancelled', 'payment.disputed'
));
alter table provider_test.callback drop constraint callback_payment_id_type_key;
alter table provider_test.callback add constraint callback_once unique (payment_id, type, attempt);
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
