-- Card testing: what is tried from where. Moments are real time; addresses and devices are keyed hashes of 16 bytes.

-- A payment started by a browser. max_attempts - declined cards may still be tried until it ends.
create table card_attempt (
    payment_id uuid primary key references payment (id),
    partner_id uuid not null,
    address_hash bytea not null check (length(address_hash) = 16),
    device_hash bytea check (length(device_hash) = 16),
    max_attempts smallint not null check (max_attempts between 1 and 5),
    declined smallint not null default 0 check (declined >= 0),
    paid boolean not null default false,
    started_at timestamptz not null,
    ended_at timestamptz,
    check (ended_at is not null or not paid)
);
create index card_attempt_address on card_attempt (address_hash, started_at);
create index card_attempt_device on card_attempt (device_hash, started_at);
create index card_attempt_started on card_attempt (started_at);
create index card_attempt_paid on card_attempt (partner_id, ended_at) where paid;
grant select, insert, update, delete on card_attempt to almoner_app;

create table card_decline (
    payment_id uuid not null references card_attempt (payment_id) on delete cascade,
    number smallint not null check (number > 0),
    partner_id uuid not null,
    address_hash bytea not null check (length(address_hash) = 16),
    device_hash bytea check (length(device_hash) = 16),
    declined_at timestamptz not null,
    primary key (payment_id, number)
);
create index card_decline_address on card_decline (address_hash, declined_at);
create index card_decline_device on card_decline (device_hash, declined_at);
create index card_decline_partner on card_decline (partner_id, declined_at);
grant select, insert, update, delete on card_decline to almoner_app;

create table card_source_block (
    source_hash bytea primary key check (length(source_hash) = 16),
    blocked_until timestamptz not null
);
create index card_source_block_until on card_source_block (blocked_until);
comment on column card_source_block.source_hash is 'of an IP address or a device';
grant select, insert, update, delete on card_source_block to almoner_app;

-- Donors of this partner have to enter an emailed code until the attack is over (H7).
create table card_testing_alert (
    partner_id uuid primary key references partner (id),
    raised_at timestamptz not null,
    code_required_until timestamptz not null,
    declines integer not null check (declines > 0),
    attempts integer not null check (attempts >= declines),
    check (code_required_until > raised_at)
);
grant select, insert, update, delete on card_testing_alert to almoner_app;
