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

-- The organisation that legally receives a partner's donations and acknowledges them for US taxes. One operator proposes
-- it and another approves it; what it is called never changes.
create table receipt_donee (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    legal_name text not null check (length(legal_name) between 1 and 255),
    ein text not null check (ein ~ '^[0-9]{9}$'),
    address text not null check (length(address) between 1 and 500),
    proposed_by text not null check (length(proposed_by) between 1 and 255),
    proposed_note text not null check (length(proposed_note) between 1 and 2000),
    proposed_at timestamptz not null,
    approved_by text check (length(approved_by) between 1 and 255),
    approved_note text check (length(approved_note) between 1 and 2000),
    approved_at timestamptz,
    ended_by text check (length(ended_by) between 1 and 255),
    ended_at timestamptz,
    unique (partner_id, id),
    constraint receipt_donee_separation check (approved_by <> proposed_by),
    constraint receipt_donee_approved check (num_nonnulls(approved_by, approved_note, approved_at) in (0, 3)),
    constraint receipt_donee_ended check ((ended_by is null) = (ended_at is null))
);
create unique index receipt_donee_current on receipt_donee (partner_id) where approved_at is not null and ended_at is null;
create unique index receipt_donee_proposed on receipt_donee (partner_id) where approved_at is null and ended_at is null;
-- An approval does not change, and nothing changes once it has ended.
create trigger receipt_donee_immutable before update on receipt_donee for each row
    when (old.ended_at is not null
          or old.approved_at is not null and (old.approved_by, old.approved_note, old.approved_at) is distinct from
              (new.approved_by, new.approved_note, new.approved_at))
    execute function guard_immutable();
create trigger receipt_donee_independent before update on receipt_donee for each row
    when (old.approved_at is null and new.approved_at is not null) execute function guard_independent_approvers();
grant select, insert, update (approved_by, approved_note, approved_at, ended_by, ended_at)
    on receipt_donee to almoner_app;

-- A receipt names a donee that two operators have set up and that has not ended.
create function guard_receipt_donee() returns trigger language plpgsql as $$
begin
    if not exists (
        select from receipt_donee where id = new.donee_id and approved_at is not null and ended_at is null for key share
    ) then
        raise exception 'the donee % of a receipt is not approved', new.donee_id
            using errcode = 'check_violation', constraint = 'receipt_donee_approved';
    end if;
    return new;
end $$;

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
    donee_id uuid,
    benefits text check (length(benefits) between 1 and 250),
    benefits_minor bigint check (benefits_minor > 0),
    received_at timestamptz not null,
    issued_at timestamptz not null,
    constraint receipt_number unique (partner_id, number),
    constraint receipt_benefits check ((benefits is null) = (benefits_minor is null)),
    foreign key (partner_id, donee_id) references receipt_donee (partner_id, id),
    -- Each number requires the previous one, and receipts are never deleted: no gaps.
    constraint receipt_without_gaps foreign key (partner_id, previous) references receipt (partner_id, number),
    -- A receipt is for a payment received, in its exact amount.
    foreign key (payment_id, donation_id, amount_minor, currency)
        references payment (id, donation_id, amount_minor, currency),
    foreign key (partner_id, donation_id) references donation (partner_id, id)
);
create trigger receipt_donee_approved before insert on receipt for each row
    when (new.donee_id is not null) execute function guard_receipt_donee();
grant select, insert on receipt to almoner_app;
