-- Webhooks: subscriptions, deliveries and attempts.

create table webhook_subscription (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    url text not null check (length(url) between 1 and 2048),
    events text[] not null check (cardinality(events) between 1 and 100),
    secrets bytea[] not null check (cardinality(secrets) between 1 and 3),
    secrets_until timestamptz[] not null,
    status text not null check (status in ('active', 'suspended')),
    status_changed_at timestamptz not null,
    created_at timestamptz not null,
    updated_at timestamptz,
    deleted_at timestamptz,
    unique (partner_id, id),
    check (cardinality(secrets_until) = cardinality(secrets) - 1)
);
comment on column webhook_subscription.secrets is 'encrypted; the newest first, then the previous ones';
comment on column webhook_subscription.secrets_until is 'until when the previous ones are valid, in the same order';
insert into lifecycle_transition (resource, from_status, to_status) values
    ('webhook_subscription', 'active', 'suspended'),
    ('webhook_subscription', 'suspended', 'active');
create trigger webhook_subscription_status before update of status on webhook_subscription
    for each row when (old.status is distinct from new.status) execute function guard_status('webhook_subscription');
grant select, insert, update on webhook_subscription to almoner_app;

-- How the receiver of a subscription does. Apart from the subscription, since every batch of deliveries writes it.
create table webhook_health (
    subscription_id uuid primary key,
    partner_id uuid not null,
    failures integer not null default 0 check (failures >= 0),
    pauses integer not null default 0 check (pauses >= 0),
    paused_until timestamptz,
    failing_since timestamptz,
    failing_since_real timestamptz,
    failing_days integer not null default 0 check (failing_days >= 0),
    last_failing_day date,
    warned_at timestamptz,
    last_success_at timestamptz,
    fast boolean not null default false,
    foreign key (partner_id, subscription_id) references webhook_subscription (partner_id, id),
    check ((failures = 0) = (failing_since is null)),
    check ((failing_since is null) = (failing_since_real is null)),
    check ((failing_since is null) = (last_failing_day is null)),
    check ((failing_days = 0) = (failing_since is null)),
    check ((paused_until is null) = (pauses = 0)),
    check (not (fast and failures > 0))
) with (fillfactor = 50);
comment on column webhook_health.failures is 'attempts in a row that failed';
comment on column webhook_health.pauses is 'pauses in a row, each twice as long as the one before';
comment on column webhook_health.failing_days is 'days of real time with a failed attempt, since the last success';
comment on column webhook_health.fast is 'answers with 2xx within a second';
grant select, insert, update on webhook_health to almoner_app;

-- No guard_status here: the attempts are the history, and only pending deliveries are updated. Vacuumed early: lists
-- are counted by index-only scans.
create table webhook_delivery (
    id uuid primary key,
    partner_id uuid not null,
    subscription_id uuid not null,
    event_id uuid not null,
    event_type text not null,
    sequence bigint check (sequence > 0),
    reason text not null check (reason in ('event', 'resend', 'replay', 'test')),
    payload bytea,
    status text not null check (status in ('pending', 'succeeded', 'failed', 'cancelled')),
    attempts smallint not null check (attempts between 0 and 5),
    first_attempt_at timestamptz,
    next_attempt_at timestamptz,
    created_at timestamptz not null,
    finished_at timestamptz,
    foreign key (partner_id, subscription_id) references webhook_subscription (partner_id, id),
    check ((status = 'pending') = (next_attempt_at is not null)),
    check ((status = 'pending') = (finished_at is null)),
    check ((attempts = 0) = (first_attempt_at is null)),
    check ((payload is not null) = (reason = 'test')),
    check ((sequence is null) = (reason = 'test'))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
create index webhook_delivery_subscription on webhook_delivery (subscription_id, id);
-- An event is delivered to a subscription once, however often its fan-out runs.
create unique index webhook_delivery_fan_out on webhook_delivery (event_id, subscription_id) where reason = 'event';
comment on column webhook_delivery.payload is 'body of a test; other bodies are the event''s payload';
grant select, insert, update, delete on webhook_delivery to almoner_app;

create table webhook_attempt (
    delivery_id uuid not null references webhook_delivery (id) on delete cascade,
    number smallint not null check (number between 1 and 5),
    started_at timestamptz not null,
    duration_ms integer not null check (duration_ms >= 0),
    status_code smallint,
    error text check (octet_length(error) <= 1000),
    response_body text check (octet_length(response_body) <= 1000),
    primary key (delivery_id, number),
    constraint webhook_attempt_outcome check (num_nonnulls(status_code, error) > 0)
);
grant select, insert, delete on webhook_attempt to almoner_app;
