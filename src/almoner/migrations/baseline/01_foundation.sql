-- What everything else rests on: guards of lifecycles and of what is only added to, images, and partners.

-- Trigram similarity, for search that tolerates spelling mistakes.
create extension if not exists pg_trgm;

-- The newest revisions of the code that works over this form: replaced whenever the database is migrated.
create table compatible_revision (revision text primary key);
grant select on compatible_revision to almoner_app;

-- The allowed status transitions of every resource; a test compares them with the Lifecycle tables in the code.
create table lifecycle_transition (
    resource text not null,
    from_status text not null,
    to_status text not null,
    primary key (resource, from_status, to_status)
);
grant select on lifecycle_transition to almoner_app;

create table state_change (
    id bigint generated always as identity primary key,
    resource text not null,
    resource_id uuid not null,
    from_status text not null,
    to_status text not null,
    changed_at timestamptz not null
);
create index state_change_resource on state_change (resource_id, id);

-- Enforces in the database what the code already checks: refuses a transition that is not in lifecycle_transition, and
-- records the allowed ones. Tables that use it have id, status and status_changed_at; tg_argv[0] is the resource.
create function guard_status() returns trigger language plpgsql as $$
begin
    if not exists (
        select from lifecycle_transition
        where resource = tg_argv[0] and from_status = old.status and to_status = new.status
    ) then
        raise exception '% may not move from % to %', tg_argv[0], old.status, new.status
            using errcode = 'check_violation', constraint = 'lifecycle_' || tg_argv[0];
    end if;
    insert into state_change (resource, resource_id, from_status, to_status, changed_at)
    values (tg_argv[0], new.id, old.status, new.status, new.status_changed_at);
    return new;
end $$;

-- Refuses the change that the trigger's condition describes.
create function guard_immutable() returns trigger language plpgsql as $$
begin
    raise exception '% may not change this now', tg_table_name
        using errcode = 'check_violation', constraint = tg_table_name || '_immutable';
end $$;

-- For append-only tables.
create function guard_append_only() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name
        using errcode = 'check_violation', constraint = tg_table_name || '_append_only';
end $$;
grant select, insert on state_change to almoner_app;

-- Small public images (logos of categories and nonprofits), re-encoded on upload and served under their random key.
create table media (
    key text primary key check (key ~ '^[0-9a-z]{26}$'),
    media_type text not null check (media_type in ('image/jpeg', 'image/png')),
    content bytea not null check (octet_length(content) <= 1048576),
    created_at timestamptz not null
);
grant select, insert, delete on media to almoner_app;

-- brand_colour and brand_logo (a key of media) style the hosted page.
create table partner (
    id uuid primary key,
    name text not null check (length(name) between 1 and 200),
    redirect_hosts text[],
    settlement_currencies text[] not null default '{GBP,USD,EUR}',
    created_at timestamptz not null,
    brand_colour text check (brand_colour ~ '^#[0-9a-f]{6}$'),
    brand_logo text references media (key),
    shares_donor_details boolean not null default true,
    requires_gift_aid boolean not null default false,
    scim_enabled boolean not null default false,
    request_interval text not null default 'month' check (request_interval in ('day', 'week', 'month')),
    request_minimum_multiple integer not null default 0 check (request_minimum_multiple between 0 and 1000000),
    request_due_days integer not null default 30 check (request_due_days between 1 and 365),
    website_url text check (website_url ~ '^https://' and length(website_url) <= 2000),
    privacy_url text check (privacy_url ~ '^https://' and length(privacy_url) <= 2000),
    terms_url text check (terms_url ~ '^https://' and length(terms_url) <= 2000),
    contact_email text check (length(contact_email) between 3 and 255),
    paused_at timestamptz,
    pause_reason text check (length(pause_reason) between 10 and 500),
    constraint partner_pause check ((paused_at is null) = (pause_reason is null)),
    constraint partner_settles check (cardinality(settlement_currencies) between 1 and 200)
);
comment on column partner.redirect_hosts is 'hosts that successUrl and redirectUrl may name; null: any';
comment on column partner.shares_donor_details is 'whether responses and events to the partner name donors';
comment on column partner.requires_gift_aid is 'whether GBP donations to UK charities need a declaration';
comment on column partner.scim_enabled is 'whether its SCIM keys work';
comment on column partner.paused_at is 'since when no donation can be started for the partner; null: not paused';
comment on column partner.request_minimum_multiple is
    'smallest payment request, as a multiple of the currency''s minimum donation';
create index partner_brand_logo on partner (brand_logo) where brand_logo is not null;
grant select, insert, update on partner to almoner_app;

-- How much of one donation the partner's support may refund; in a currency without a row, nothing.
create table support_refund_limit (
    partner_id uuid not null references partner (id),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    amount_minor bigint not null check (amount_minor > 0),
    primary key (partner_id, currency)
);
grant select, insert, update, delete on support_refund_limit to almoner_app;
