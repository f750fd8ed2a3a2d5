"""Users, donation sessions, donations, payments and held money.

Revision ID: 0005
Revises: 0004
"""

from alembic import op

revision = "0005"
down_revision = "0004"

UPGRADE = """
create table giving_user (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    organisation_id uuid references organisation (id),
    created_at timestamptz not null,
    deleted_at timestamptz,
    unique (partner_id, id)
);
comment on column giving_user.organisation_id is 'default organisation of the user''s gifts';

-- Sessions and donations have no foreign key to partner: every writer of a partner would lock and dirty that one row.
create table donation_session (
    id uuid primary key,
    partner_id uuid not null,
    organisation_id uuid not null references organisation (id),
    user_id uuid,
    status text not null check (status in ('open', 'completed', 'expired')),
    language text check (length(language) between 2 and 35),
    currency char(3) check (currency ~ '^[A-Z]{3}$'),
    success_url text check (length(success_url) between 8 and 2048),
    metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    donation_id uuid,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    foreign key (partner_id, user_id) references giving_user (partner_id, id),
    check (expires_at > created_at),
    constraint donation_session_completed check ((status = 'completed') = (donation_id is not null))
);
create index donation_session_due on donation_session (expires_at) where status = 'open';

create table donation (
    id uuid primary key,
    partner_id uuid not null,
    organisation_id uuid not null references organisation (id),
    user_id uuid,
    type text not null check (type in ('hosted', 'direct')),
    session_id uuid,
    payment_id uuid,
    status text not null
        check (status in ('ACTIVE', 'REQUESTED_PAYMENT', 'RECEIVED_PAYMENT', 'DISBURSED', 'CANCELLED')),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    first_name text check (length(first_name) between 1 and 255),
    last_name text check (length(last_name) between 1 and 255),
    email text check (length(email) between 3 and 255),
    consented boolean not null,
    anonymous boolean not null,
    metadata jsonb not null check (jsonb_typeof(metadata) = 'object'),
    created_at timestamptz not null,
    cancelled_at timestamptz,
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    unique (id, session_id),
    foreign key (partner_id, user_id) references giving_user (partner_id, id),
    foreign key (partner_id, session_id) references donation_session (partner_id, id),
    constraint donation_hosted check ((type = 'hosted') = (session_id is not null)),
    constraint donation_cancelled check ((status = 'CANCELLED') = (cancelled_at is not null)),
    constraint donation_paid check (
        type = 'direct' or (status in ('RECEIVED_PAYMENT', 'DISBURSED')) = (payment_id is not null)
    )
);
-- A session has at most one donation that is not cancelled.
create unique index donation_one_per_session on donation (session_id) where status <> 'CANCELLED';
create index donation_of_organisation on donation (partner_id, organisation_id, id);
create index donation_of_user on donation (partner_id, user_id, id) where user_id is not null;
create index donation_with_status on donation (partner_id, status, id);
create index donation_by_day on donation (partner_id, created_at);
create index donation_unpaid on donation (created_at) where status = 'REQUESTED_PAYMENT' and type = 'hosted';

-- A session is completed by a donation of its own.
alter table donation_session add constraint donation_session_donation
    foreign key (donation_id, id) references donation (id, session_id);

-- One attempt to be paid by a provider. The provider's idempotency key is made from the id.
create table payment (
    id uuid primary key,
    donation_id uuid not null references donation (id),
    provider text not null,
    provider_payment text,
    url text,
    status text not null check (status in ('starting', 'open', 'succeeded', 'held', 'failed', 'cancelled')),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    description text not null check (length(description) between 1 and 500),
    language text not null,
    pages_url text not null,
    api_url text not null,
    tries smallint not null check (tries >= 0),
    created_at timestamptz not null,
    status_changed_at timestamptz not null,
    constraint payment_of_provider unique (provider, provider_payment),
    unique (id, donation_id, amount_minor, currency),
    constraint payment_known check (status in ('starting', 'cancelled') or provider_payment is not null)
);
create unique index payment_one_live on payment (donation_id) where status in ('starting', 'open');
create unique index payment_one_counted on payment (donation_id) where status = 'succeeded';
create index payment_of_donation on payment (donation_id, id);
create index payment_live on payment (created_at) where status in ('starting', 'open');

-- A donation is paid by a payment of its own, to the last minor unit.
alter table donation add constraint donation_payment foreign key (payment_id, id, amount_minor, currency)
    references payment (id, donation_id, amount_minor, currency);

-- What a provider told us, each notice once.
create table provider_event (
    provider text not null,
    provider_event text not null,
    type text not null,
    provider_payment text not null,
    received_at timestamptz not null,
    constraint provider_event_once primary key (provider, provider_event)
);

-- Money that a provider took and that pays no donation: kept with the reason until it is returned or placed by rule.
create table held_payment (
    id uuid primary key,
    provider text not null,
    provider_payment text not null,
    payment_id uuid references payment (id),
    donation_id uuid references donation (id),
    reason text not null check (reason in (
        'donation_cancelled', 'session_over', 'paid_twice', 'short', 'over', 'other_currency', 'other_reference',
        'other_mode', 'unknown_payment'
    )),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    reference text not null,
    held_at timestamptz not null,
    constraint held_payment_once unique (provider, provider_payment)
);
create index held_payment_of_donation on held_payment (donation_id);

-- Calls to the outside that are under way: a crash leaves the row, and its lease runs out by real time.
create table flow_call (
    flow text not null,
    row_id uuid not null,
    holder uuid not null,
    leased_until timestamptz not null,
    primary key (flow, row_id)
);
create index flow_call_lease on flow_call (flow, leased_until);

insert into lifecycle_move (resource, from_status, to_status) values
    ('donation_session', 'open', 'completed'),
    ('donation_session', 'open', 'expired'),
    ('donation_session', 'expired', 'completed'),
    ('donation', 'ACTIVE', 'CANCELLED'),
    ('donation', 'ACTIVE', 'REQUESTED_PAYMENT'),
    ('donation', 'REQUESTED_PAYMENT', 'CANCELLED'),
    ('donation', 'REQUESTED_PAYMENT', 'RECEIVED_PAYMENT'),
    ('donation', 'RECEIVED_PAYMENT', 'DISBURSED'),
    ('donation', 'DISBURSED', 'RECEIVED_PAYMENT'),
    ('payment', 'starting', 'open'),
    ('payment', 'starting', 'succeeded'),
    ('payment', 'starting', 'held'),
    ('payment', 'starting', 'failed'),
    ('payment', 'starting', 'cancelled'),
    ('payment', 'open', 'succeeded'),
    ('payment', 'open', 'held'),
    ('payment', 'open', 'failed'),
    ('payment', 'open', 'cancelled'),
    ('payment', 'failed', 'succeeded'),
    ('payment', 'failed', 'held'),
    ('payment', 'cancelled', 'succeeded'),
    ('payment', 'cancelled', 'held');

create trigger donation_session_status before update of status on donation_session for each row
    when (old.status is distinct from new.status) execute function guard_status('donation_session');
create trigger donation_status before update of status on donation for each row
    when (old.status is distinct from new.status) execute function guard_status('donation');
create trigger payment_status before update of status on payment for each row
    when (old.status is distinct from new.status) execute function guard_status('payment');

-- What was promised may change until it is paid; whose it is and what it was, never.
create function guard_promise() returns trigger language plpgsql as $$
begin
    raise exception '% may not change its amount, currency or owner now', tg_table_name
        using errcode = 'check_violation', constraint = tg_table_name || '_promise';
end $$;
create trigger donation_promise before update on donation for each row
    when ((old.id, old.partner_id, old.type, old.created_at) is distinct from
              (new.id, new.partner_id, new.type, new.created_at)
          or old.session_id is distinct from new.session_id
          or (old.status not in ('ACTIVE', 'REQUESTED_PAYMENT')
              and (old.amount_minor, old.currency, old.payment_id) is distinct from
                  (new.amount_minor, new.currency, new.payment_id)))
    execute function guard_promise();
create trigger payment_promise before update on payment for each row
    when ((old.id, old.donation_id, old.provider, old.amount_minor, old.currency) is distinct from
              (new.id, new.donation_id, new.provider, new.amount_minor, new.currency)
          or (old.provider_payment is not null and old.provider_payment is distinct from new.provider_payment))
    execute function guard_promise();

grant select, insert, update on giving_user, donation_session, donation, payment to almoner_app;
grant select, insert on provider_event, held_payment to almoner_app;
grant select, insert, update, delete on flow_call to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
