-- The test provider, which the service knows by its interface alone.

create schema provider_test;
grant usage on schema provider_test to almoner_app;

-- A card that a donor saved to be charged later, with the text that the donor agreed to. behaviour: of its test card.
-- fails_with: how the next charge is declined.
create table provider_test.payment_method (
    id text primary key check (id ~ '^tpm_[0-9a-f]{32}$'),
    customer text not null check (customer ~ '^tpc_[0-9a-f]{32}$'),
    brand text not null,
    last_four char(4) not null,
    expires_at timestamptz not null,
    behaviour text not null,
    fails_with text,
    agreement text not null,
    agreement_version text not null,
    email text not null,
    callback_url text not null,
    changes integer not null default 0,
    created_at timestamptz not null
);
grant select, insert, update, delete on provider_test.payment_method to almoner_app;

-- kind: a payment on the page, a setup that only saves a card, or a charge of a saved card without the donor.
-- max_attempts: it reports each declined card, and accepts no more cards than requested.
-- refunded: total of its refunds, never more than was paid.
-- agreement: the card is saved when it is paid. payment_method_id: the card that was saved, or is charged.
create table provider_test.payment (
    id text primary key check (id ~ '^tp_[0-9a-f]{32}$'),
    kind text not null default 'payment' check (kind in ('payment', 'setup', 'charge')),
    idempotency_key text not null unique,
    fingerprint bytea not null,
    amount bigint not null check (amount >= 0 and (amount = 0) = (kind = 'setup')),
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
    agreement text,
    agreement_version text,
    email text,
    payment_method_id text references provider_test.payment_method (id) on delete set null,
    first_payment_id text references provider_test.payment (id),
    check (attempts <= max_attempts),
    check ((agreement is null) = (agreement_version is null) and (agreement is null) = (email is null)),
    check (kind <> 'setup' or agreement is not null),
    check ((kind = 'charge') = (first_payment_id is not null)),
    constraint payment_refunded check (
        refunded between 0 and amount and (refunded = 0 or status = 'succeeded')
    )
);
comment on table provider_test.payment is 'No card number is ever stored: brand and last four digits only (H5).';
grant select, insert, update, delete on provider_test.payment to almoner_app;

create index payment_of_method on provider_test.payment (payment_method_id) where payment_method_id is not null;
create unique index payment_charged_once on provider_test.payment (reference) where kind = 'charge';

-- subject: the payment or payment method that it is about.
create table provider_test.callback (
    id text primary key check (id ~ '^tpe_[0-9a-f]{32}$'),
    subject text not null,
    url text not null,
    type text not null check (type in (
        'payment.attempt_failed', 'payment.succeeded', 'payment.failed', 'payment.cancelled', 'payment.disputed',
        'setup.attempt_failed', 'setup.succeeded', 'setup.failed', 'setup.cancelled', 'payment_method.updated',
        'dispute.opened', 'dispute.won', 'dispute.lost'
    )),
    body bytea not null,
    due_at timestamptz not null,
    leased_until timestamptz,
    attempts integer not null,
    delivered_at timestamptz,
    given_up_at timestamptz,
    created_at timestamptz not null,
    attempt integer not null default 0 check (attempt >= 0),
    constraint callback_once unique (subject, type, attempt)
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

-- A file that the merchant uploaded as evidence. Its bytes are not stored.
create table provider_test.file (
    id text primary key check (id ~ '^tpf_[0-9a-f]{32}$'),
    idempotency_key text not null unique,
    media_type text not null,
    size bigint not null check (size > 0),
    sha256 bytea not null check (length(sha256) = 32),
    created_at timestamptz not null
);
grant select, insert, update on provider_test.file to almoner_app;

-- A payment is disputed once; a scheduled dispute has a future opened_at. evidence: as submitted with evidence_key.
create table provider_test.dispute (
    id text primary key check (id ~ '^tpd_[0-9a-f]{32}$'),
    payment_id text not null unique references provider_test.payment (id),
    amount bigint not null check (amount >= 0),
    currency char(3) not null,
    status text not null check (status in ('open', 'won', 'lost')),
    reason text not null,
    opened_at timestamptz not null,
    decided_at timestamptz,
    evidence jsonb,
    evidence_key text,
    evidence_submitted_at timestamptz,
    check ((status = 'open') = (decided_at is null)),
    check (
        (evidence is null) = (evidence_key is null) and (evidence is null) = (evidence_submitted_at is null)
    )
);
grant select, insert, update on provider_test.dispute to almoner_app;
