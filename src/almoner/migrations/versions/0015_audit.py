"""The audit log: append-only, chained per partner.

Revision ID: 0015
Revises: 0014
"""

from alembic import op

revision = "0015"
down_revision = "0014"

UPGRADE = """
-- Who did what, when, from where (V8). scope: the partner whose affair it is, or zeros for the deployment. Written in
-- the transaction of what it tells of, and right after the commit given its place in the chain of its scope: hash
-- covers the hash before it, the sequence and all that was written. n is the order of writing. seal: keyed, so that
-- nobody who only has the database can write an entry. address_digest: keyed and bound to the id, so that the chain
-- still holds when the address is forgotten after a year. No foreign key to partner: its writers would lock its row.
create table audit_entry (
    n bigint generated always as identity,
    id uuid not null,
    scope uuid not null,
    at timestamptz not null,
    actor_kind text not null check (actor_kind in ('key', 'member', 'operator', 'machine', 'system')),
    actor_id text not null check (length(actor_id) between 1 and 255),
    action text not null check (length(action) between 1 and 100),
    subject text not null check (length(subject) between 1 and 255),
    address text,
    address_digest bytea check (length(address_digest) = 32),
    request_id text,
    details jsonb check (jsonb_typeof(details) = 'object'),
    seal bytea not null check (length(seal) = 32),
    sequence bigint check (sequence > 0),
    hash bytea check (length(hash) = 32),
    primary key (scope, id),
    constraint audit_entry_linked check ((sequence is null) = (hash is null)),
    constraint audit_entry_address check (address is null or address_digest is not null)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create unique index audit_entry_sequence on audit_entry (scope, sequence) where sequence is not null;
create index audit_entry_unlinked on audit_entry (scope, n) where sequence is null;
create index audit_entry_of_actor on audit_entry (scope, actor_id, id);
create index audit_entry_of_action on audit_entry (scope, action, id);
create index audit_entry_about_person on audit_entry (scope, subject, id)
    where subject ~ '(^|_)(member|operator)_';

create function guard_audit() returns trigger language plpgsql as $$
begin
    raise exception 'the audit log is only added to'
        using errcode = 'check_violation', constraint = 'audit_append_only';
end $$;
-- An entry takes its place once, and its address is forgotten; nothing else about it ever changes.
create trigger audit_entry_stays before update on audit_entry for each row
    when ((old.n, old.id, old.scope, old.at, old.actor_kind, old.actor_id, old.action, old.subject, old.address_digest,
           old.request_id, old.details, old.seal) is distinct from
              (new.n, new.id, new.scope, new.at, new.actor_kind, new.actor_id, new.action, new.subject,
               new.address_digest, new.request_id, new.details, new.seal)
          or (old.sequence is not null and (old.sequence, old.hash) is distinct from (new.sequence, new.hash))
          or (new.address is not null and new.address is distinct from old.address))
    execute function guard_audit();
create trigger audit_entry_deleted before delete on audit_entry for each row execute function guard_audit();
create trigger audit_entry_emptied before truncate on audit_entry for each statement execute function guard_audit();

-- The end of each scope's chain, held by the one who adds to it. seal: keyed; it tells that nothing is missing there.
-- forgotten: up to here the addresses are gone.
create table audit_chain (
    scope uuid primary key,
    last_sequence bigint not null check (last_sequence >= 0),
    last_hash bytea not null check (length(last_hash) = 32),
    seal bytea not null check (length(seal) = 32),
    forgotten bigint not null default 0 check (forgotten >= 0)
) with (fillfactor = 50);

-- Heads signed with Ed25519 every five minutes, the first at once. exported_at: when the line was outside the database.
create table audit_head (
    scope uuid not null,
    sequence bigint not null check (sequence > 0),
    hash bytea not null check (length(hash) = 32),
    signed_at timestamptz not null,
    signature bytea not null check (length(signature) = 64),
    exported_at timestamptz,
    primary key (scope, sequence)
);
create index audit_head_unexported on audit_head (signed_at) where exported_at is null;
create trigger audit_head_stays before update on audit_head for each row
    when ((old.scope, old.sequence, old.hash, old.signed_at, old.signature) is distinct from
              (new.scope, new.sequence, new.hash, new.signed_at, new.signature))
    execute function guard_audit();
create trigger audit_head_deleted before delete on audit_head for each row execute function guard_audit();
create trigger audit_head_emptied before truncate on audit_head for each statement execute function guard_audit();

grant select, update (sequence, hash, address) on audit_entry to almoner_app;
grant insert (id, scope, at, actor_kind, actor_id, action, subject, address, address_digest, request_id, details, seal)
    on audit_entry to almoner_app;
grant select, insert, update on audit_chain to almoner_app;
grant select, insert, update (exported_at) on audit_head to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
