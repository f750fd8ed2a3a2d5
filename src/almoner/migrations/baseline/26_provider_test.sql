-- The test provider, which the service knows by its interface alone.

create schema provider_test;
grant usage on schema provider_test to almoner_app;

-- max_attempts: it reports each declined card, and accepts no more cards than requested.
-- refunded: total of its refunds, never more than was paid.
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
    updated_at timestamptz not null,
    max_attempts integer not null default 5 check (max_attempts between 1 and 5),
    refunded bigint not null default 0,
    check (attempts <= max_attempts),
    constraint payment_refunded check (
        refunded between 0 and amount and (refunded = 0 or status = 'succeeded')
    )
);
comment on table provider_test.payment is 'No card number is ever stored: brand and last four digits only (H5).';
grant select, insert, update, delete on provider_test.payment to almoner_app;

create table provider_test.callback (
    id text primary key check (id ~ '^tpe_[0-9a-f]{32}$'),
    payment_id text not null references provider_test.payment (id),
    type text not null check (type in (
        'payment.attempt_failed', 'payment.succeeded', 'payment.failed', 'payment.cancelled', 'payment.disputed',
        'dispute.opened', 'dispute.won', 'dispute.lost'
    )),
    body bytea not null,
    due_at timestamptz not null,
    leased_until timestamptz,
    attempts integer not null,
    delivered_at timestamptz,
    given_up_at timestamptz,
    created_at timestamptz not null,
    attempt integer not null default 0 check (attempt between 0 and 5),
    constraint callback_once unique (payment_id, type, attempt)
);
create index callback_due on provider_test.callback (due_at) where delivered_at is null and given_up_at is null;
grant select, insert, update, delete on provider_test.callback to almoner_app;

create table provider_test.refund (
    id text primary key check (id ~ '^tpr_[0-9a-f]{32}$'),
    payment_id text not null references provider_test.payment (id),
    idempotency_key text not null unique,
    amount bigint not null check (amount > 0),
    currency char(3) not null,
    created_at timestamptz not null
);
create index refund_of_payment on provider_test.refund (payment_id);

create function provider_test.add_refund() returns trigger language plpgsql as $$
begin
    update provider_test.payment set refunded = refunded + new.amount where id = new.payment_id;
    return new;
end $$;
create trigger refund_counts after insert on provider_test.refund
    for each row execute function provider_test.add_refund();
grant select, insert on provider_test.refund to almoner_app;

-- A payment is disputed once; a scheduled dispute has a future opened_at.
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
