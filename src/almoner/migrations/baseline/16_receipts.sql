-- Receipts.

-- Issuers of receipts: the partner through which donations are made. Locked while a receipt is numbered.
create table receipt_issuer (
    partner_id uuid primary key references partner (id),
    name text check (length(name) between 1 and 255),
    prefix text not null default '' check (prefix ~ '^([A-Z0-9]([A-Z0-9-]{0,10}[A-Z0-9])?)?$'),
    last_number bigint not null default 0 check (last_number >= 0)
);
comment on column receipt_issuer.name is 'null: the partner''s own name';
grant select, insert, update on receipt_issuer to almoner_app;

-- The content of a receipt is frozen, so that it can be reproduced at any time.
create table receipt (
    donation_id uuid primary key,
    partner_id uuid not null references receipt_issuer (partner_id),
    number bigint not null check (number > 0),
    previous bigint generated always as (nullif(number - 1, 0)) stored,
    prefix text not null,
    issuer text not null,
    language text not null,
    organisation text not null,
    register text not null,
    register_number text not null,
    first_name text not null,
    last_name text not null,
    anonymous boolean not null,
    payment_id uuid not null,
    amount_minor bigint not null,
    currency char(3) not null,
    cover_minor bigint not null check (cover_minor >= 0 and cover_minor < amount_minor),
    received_at timestamptz not null,
    issued_at timestamptz not null,
    constraint receipt_number unique (partner_id, number),
    -- Each number requires the previous one, and receipts are never deleted: no gaps.
    constraint receipt_without_gaps foreign key (partner_id, previous) references receipt (partner_id, number),
    -- A receipt is for a payment received, in its exact amount.
    foreign key (payment_id, donation_id, amount_minor, currency)
        references payment (id, donation_id, amount_minor, currency),
    foreign key (partner_id, donation_id) references donation (partner_id, id)
);
grant select, insert on receipt to almoner_app;
