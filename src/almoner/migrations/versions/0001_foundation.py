"""Partners, keys, idempotency, list counters, and the guard of every lifecycle.

Revision ID: 0001
Revises:
"""

from alembic import op

revision = "0001"
down_revision = None

UPGRADE = """
create table partner (
    id uuid primary key,
    name text not null check (length(name) between 1 and 200),
    redirect_hosts text[],
    settlement_currencies text[] not null default '{GBP,USD,EUR}',
    created_at timestamptz not null
);
comment on column partner.redirect_hosts is 'hosts that successUrl and redirectUrl may name; null: any';

create table api_key (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    kind text not null check (kind in ('secret', 'publishable', 'scim')),
    hash bytea not null check (length(hash) = 32),
    name text not null check (length(name) between 1 and 100),
    hint text not null check (length(hint) = 4),
    scopes text[] not null check (cardinality(scopes) > 0),
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    replaced_by uuid references api_key (id),
    last_used_at timestamptz,
    last_used_address text,
    last_used_route text
);
create unique index api_key_hash on api_key (hash);
create index api_key_partner on api_key (partner_id, id);

create table idempotency_answer (
    partner_id uuid not null references partner (id),
    key_hash bytea not null check (length(key_hash) = 32),
    route text not null,
    fingerprint bytea not null check (length(fingerprint) = 32),
    answer bytea not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    constraint idempotency_answer_key primary key (partner_id, key_hash)
);
create index idempotency_answer_expiry on idempotency_answer (expires_at);

-- Totals of lists in 16 slots, so that writers of one partner do not queue on one row.
create table list_counter (
    partner_id uuid not null references partner (id),
    list text not null,
    slot smallint not null check (slot between 0 and 15),
    n bigint not null,
    primary key (partner_id, list, slot)
) with (fillfactor = 50);

-- Small public images (a category's, a nonprofit's logo), re-encoded by us; reached by their random key.
create table media (
    key text primary key check (key ~ '^[0-9a-z]{26}$'),
    media_type text not null check (media_type in ('image/jpeg', 'image/png')),
    content bytea not null check (octet_length(content) <= 1048576),
    created_at timestamptz not null
);

-- The allowed moves of every resource; a test compares them with the Lifecycle tables in the code.
create table lifecycle_move (
    resource text not null,
    from_status text not null,
    to_status text not null,
    primary key (resource, from_status, to_status)
);

create table state_change (
    id bigint generated always as identity primary key,
    resource text not null,
    resource_id uuid not null,
    from_status text not null,
    to_status text not null,
    changed_at timestamptz not null
);
create index state_change_resource on state_change (resource_id, id);

-- Second wall behind the code's own check: refuses a move that is not in lifecycle_move and keeps the history.
-- Tables that use it have id, status and status_changed_at; tg_argv[0] is the resource.
create function guard_status() returns trigger language plpgsql as $$
begin
    if not exists (
        select from lifecycle_move
        where resource = tg_argv[0] and from_status = old.status and to_status = new.status
    ) then
        raise exception '% may not move from % to %', tg_argv[0], old.status, new.status
            using errcode = 'check_violation', constraint = 'lifecycle_' || tg_argv[0];
    end if;
    insert into state_change (resource, resource_id, from_status, to_status, changed_at)
    values (tg_argv[0], new.id, old.status, new.status, new.status_changed_at);
    return new;
end $$;

grant select, insert, update on partner, api_key to almoner_app;
grant select, insert, delete on media to almoner_app;
grant select, insert, delete on idempotency_answer to almoner_app;
grant select, insert, update on list_counter to almoner_app;
grant select on lifecycle_move to almoner_app;
grant select, insert on state_change to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
