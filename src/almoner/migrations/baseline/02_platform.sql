-- The platform: idempotency, events, jobs, processes, business time, the audit log, and which deployment this is.

-- No foreign key to partner, as for event: each write of a partner would lock and dirty the partner's row.
create table idempotency_response (
    partner_id uuid not null,
    key_hash bytea not null check (length(key_hash) = 32),
    route text not null,
    fingerprint bytea not null check (length(fingerprint) = 32),
    response bytea not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    constraint idempotency_response_key primary key (partner_id, key_hash)
);
create index idempotency_response_expiry on idempotency_response (expires_at);
grant select, insert, delete on idempotency_response to almoner_app;

-- List totals in 64 slots, one for each connection, so that one partner's writers do not queue on one row.
create table list_counter (
    partner_id uuid not null references partner (id),
    list text not null,
    slot smallint not null check (slot between 0 and 63),
    records bigint not null,
    primary key (partner_id, list, slot)
) with (fillfactor = 50);
grant select, insert, update on list_counter to almoner_app;

-- Events for partners (spec 6). position is the insertion order; sequence is assigned right after commit, without gaps
-- per partner. No foreign key to partner: every writer of that partner would lock and dirty its row, and partners are
-- never deleted. No index on position alone: the planner might look for unnumbered events through the whole history.
create table event (
    position bigint generated always as identity,
    id uuid not null,
    partner_id uuid not null,
    type text not null,
    payload bytea not null,
    created_at timestamptz not null,
    sequence bigint check (sequence > 0),
    primary key (partner_id, id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- Including type and created_at lets a filtered list count without reading payloads (100,000 events in 9 ms instead of
-- 190 ms).
create unique index event_sequence on event (partner_id, sequence) include (type, created_at)
    where sequence is not null;
create index event_unnumbered on event (partner_id, position) where sequence is null;
grant select, insert, update (sequence), delete on event to almoner_app;

-- summarised_sequence: event_block covers the events up to here; a sweep continues from here, and readers count later
-- events themselves.
create table event_counter (
    partner_id uuid primary key,
    last_sequence bigint not null check (last_sequence >= 0),
    summarised_sequence bigint not null default 0
        constraint event_counter_summarised check (
            summarised_sequence between 0 and last_sequence and summarised_sequence % 5000 = 0
        )
) with (fillfactor = 50);
grant select, insert, update on event_counter to almoner_app;

-- Per 5,000 consecutive events: how many there are of each type, and when the first and last were created. block covers
-- the sequences from block * 5000 + 1. Once retention removes events of a block, readers count what is left of it
-- themselves.
create table event_block (
    partner_id uuid not null,
    block bigint not null check (block >= 0),
    type text not null,
    events integer not null check (events between 1 and 5000),
    first_at timestamptz not null,
    last_at timestamptz not null,
    primary key (partner_id, block, type)
);
grant select, insert, delete on event_block to almoner_app;

-- Messages between the service's own modules, deleted once all handlers have run.
create table internal_event (
    position bigint generated always as identity primary key,
    id uuid not null,
    partner_id uuid,
    type text not null,
    payload bytea not null,
    created_at timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
grant select, insert, update, delete on internal_event to almoner_app;

-- Background jobs. due_at is business time, leased_until real time; finished jobs are deleted, dead ones kept.
-- ready: a job in a lane is due (jobs without a lane need no such mark, as nothing holds them back once due).
-- attempt counts every claim; failures counts consecutive claims that ended in an exception or a crash of the worker.
create table job (
    id bigint generated always as identity primary key,
    kind text not null,
    payload jsonb not null,
    lane text,
    unique_key text,
    due_at timestamptz not null,
    ready boolean not null,
    attempt integer not null default 0 check (attempt >= 0),
    failures integer not null default 0 check (failures >= 0),
    leased_until timestamptz,
    created_at timestamptz not null,
    last_error text,
    dead_at timestamptz,
    check (dead_at is null or leased_until is null)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index job_due on job (due_at, id) where lane is null and leased_until is null and dead_at is null;
create index job_ready on job (lane, due_at, id)
    where lane is not null and ready and leased_until is null and dead_at is null;
create index job_later on job (due_at, id)
    where lane is not null and not ready and leased_until is null and dead_at is null;
create index job_leased on job (leased_until) where leased_until is not null;
create index job_in_flight on job (lane, leased_until) where lane is not null and leased_until is not null;
create index job_dead on job (id) where dead_at is not null;
-- At most one job per kind and key that has not started.
create unique index job_unique on job (kind, unique_key) where unique_key is not null and attempt = 0;
grant select, insert, update, delete on job to almoner_app;

-- A lane limits how many of its jobs run at once, across all workers: cap, or burst_cap while no other lane has work.
create table queue_lane (
    lane text primary key,
    cap integer not null default 4 check (cap between 1 and 1000),
    burst_cap integer check (burst_cap between cap and 1000),
    paused_until timestamptz
);
comment on column queue_lane.paused_until is 'business time before which no job of the lane begins';
-- Refreshes share one slot: two large loads at once would only slow each other down.
insert into queue_lane (lane, cap) values
    ('registers', 1),
    ('watchlists', 1),
    ('screening', 1);
grant select, insert, update, delete on queue_lane to almoner_app;

-- Periodic jobs; the row is locked while one runs.
create table schedule (
    name text primary key,
    last_run_at timestamptz
);
grant select, insert, update on schedule to almoner_app;

-- What servers have used of rate limits: how far a key is ahead, all servers together. Lost with a crash, as it may be.
create unlogged table rate_limit_use (
    key_hash bytea primary key check (octet_length(key_hash) = 16),
    arrival timestamptz not null
);
create index rate_limit_use_arrival on rate_limit_use (arrival);
comment on column rate_limit_use.key_hash is 'of the limit and of what it counts';
grant select, insert, update, delete on rate_limit_use to almoner_app;

create table process (
    id uuid primary key,
    role text not null check (role in ('server', 'worker', 'server and worker')),
    version text not null check (length(version) between 1 and 100),
    started_at timestamptz not null,
    last_seen_at timestamptz not null,
    clock_version bigint not null,
    checks jsonb check (jsonb_typeof(checks) = 'array'),
    checked_at timestamptz,
    check ((checks is null) = (checked_at is null))
);
comment on column process.checks is 'what a worker last saw of the mail server, the document storage and others';
grant select, insert, update, delete on process to almoner_app;

-- What the last self-check found: one row for each check.
create table selfcheck_result (
    name text primary key,
    invariant text not null,
    advice text not null,
    found bigint not null check (found >= 0),
    examples text[] not null check (cardinality(examples) <= 10 and (found = 0) = (cardinality(examples) = 0)),
    checked_at timestamptz not null
);
grant select, insert, update, delete on selfcheck_result to almoner_app;

-- When each part of a backup last succeeded, as the script reports that makes it. Real time.
create table backup_report (
    part text primary key check (part in ('database', 'documents', 'settings')),
    finished_at timestamptz not null,
    note text not null check (length(note) <= 200)
);
grant select, insert, update on backup_report to almoner_app;

-- What operators tell partners of faults on the public status page. An update is never changed: a later one corrects it.
create table incident (
    id uuid primary key,
    title text not null check (length(title) between 1 and 120),
    affected text not null constraint incident_affected check (affected in (
        'everything', 'api', 'webhooks', 'emails', 'payments', 'disbursements', 'validation', 'registers'
    )),
    started_at timestamptz not null,
    resolved_at timestamptz check (resolved_at >= started_at)
);
comment on column incident.affected is 'a part of the service that the status page names, or everything';
create index incident_open on incident (id) where resolved_at is null;
-- It is resolved once; nothing else ever changes.
create trigger incident_immutable before update on incident for each row
    when ((old.id, old.title, old.affected, old.started_at) is distinct from
              (new.id, new.title, new.affected, new.started_at)
          or old.resolved_at is not null)
    execute function guard_immutable();
grant select, insert, update (resolved_at) on incident to almoner_app;

create table incident_update (
    incident_id uuid not null references incident,
    number integer not null check (number >= 1),
    status text not null check (status in ('investigating', 'identified', 'monitoring', 'resolved')),
    text text not null check (length(text) between 1 and 2000),
    written_by text not null check (length(written_by) between 1 and 255),
    created_at timestamptz not null,
    primary key (incident_id, number)
);
grant select, insert on incident_update to almoner_app;

-- How far business time is ahead of real time; changed in the sandbox only, and forwards only.
create table business_clock (
    id boolean primary key default true check (id),
    clock_offset interval not null check (clock_offset >= interval '0'),
    version bigint not null
);
insert into business_clock (clock_offset, version) values (interval '0', 0);
grant select, update on business_clock to almoner_app;

-- Who did what, when and from where (V8). scope: the partner concerned, or zeros for the deployment. An entry is
-- written in the transaction of what it records, and linked into its scope's hash chain right after commit: hash covers
-- the previous hash, the sequence and the whole entry. position is the insertion order. mac: keyed, so that nobody with
-- access to the database alone can forge an entry. address_hash: keyed and bound to the id, so that the chain still
-- verifies once the address is erased after a year. No foreign key to partner, whose row every writer would lock.
create table audit_entry (
    position bigint generated always as identity,
    id uuid not null,
    scope uuid not null,
    at timestamptz not null,
    actor_kind text not null check (actor_kind in ('key', 'member', 'operator', 'machine', 'system')),
    actor_id text not null check (length(actor_id) between 1 and 255),
    action text not null check (length(action) between 1 and 100),
    subject text not null check (length(subject) between 1 and 255),
    address text,
    address_hash bytea check (length(address_hash) = 32),
    request_id text,
    details jsonb check (jsonb_typeof(details) = 'object'),
    mac bytea not null check (length(mac) = 32),
    sequence bigint check (sequence > 0),
    hash bytea check (length(hash) = 32),
    primary key (scope, id),
    constraint audit_entry_chained check ((sequence is null) = (hash is null)),
    constraint audit_entry_address check (address is null or address_hash is not null)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create unique index audit_entry_sequence on audit_entry (scope, sequence) where sequence is not null;
create index audit_entry_unchained on audit_entry (scope, position) where sequence is null;
create index audit_entry_of_actor on audit_entry (scope, actor_id, id);
create index audit_entry_of_action on audit_entry (scope, action, id);
create index audit_entry_about_person on audit_entry (scope, subject, id)
    where subject ~ '(^|_)(member|operator)_';

create function guard_audit() returns trigger language plpgsql as $$
begin
    raise exception 'the audit log is append-only'
        using errcode = 'check_violation', constraint = 'audit_append_only';
end $$;
-- An entry is linked once and its address is erased once; nothing else ever changes.
create trigger audit_entry_immutable before update on audit_entry for each row
    when ((old.position, old.id, old.scope, old.at, old.actor_kind, old.actor_id, old.action, old.subject,
           old.address_hash, old.request_id, old.details, old.mac) is distinct from
              (new.position, new.id, new.scope, new.at, new.actor_kind, new.actor_id, new.action, new.subject,
               new.address_hash, new.request_id, new.details, new.mac)
          or (old.sequence is not null and (old.sequence, old.hash) is distinct from (new.sequence, new.hash))
          or (new.address is not null and new.address is distinct from old.address))
    execute function guard_audit();
create trigger audit_entry_no_delete before delete on audit_entry for each row execute function guard_audit();
create trigger audit_entry_no_truncate before truncate on audit_entry for each statement execute function guard_audit();
grant select, insert (id, scope, at, actor_kind, actor_id, action, subject, address, address_hash, request_id,
    details, mac), update (sequence, hash, address)
    on audit_entry to almoner_app;

-- The end of each scope's chain, locked while entries are appended. mac: keyed; shows that no entry is missing at the
-- end. redacted_sequence: addresses are erased up to here.
create table audit_chain (
    scope uuid primary key,
    last_sequence bigint not null check (last_sequence >= 0),
    last_hash bytea not null check (length(last_hash) = 32),
    mac bytea not null check (length(mac) = 32),
    redacted_sequence bigint not null default 0 check (redacted_sequence >= 0)
) with (fillfactor = 50);
grant select, insert, update on audit_chain to almoner_app;

-- Chain heads signed with Ed25519 every five minutes, the first at once. exported_at: when the line had been written
-- outside the database.
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
create trigger audit_head_immutable before update on audit_head for each row
    when ((old.scope, old.sequence, old.hash, old.signed_at, old.signature) is distinct from
              (new.scope, new.sequence, new.hash, new.signed_at, new.signature))
    execute function guard_audit();
create trigger audit_head_no_delete before delete on audit_head for each row execute function guard_audit();
create trigger audit_head_no_truncate before truncate on audit_head for each statement execute function guard_audit();
grant select, insert, update (exported_at) on audit_head to almoner_app;

-- What the last proof of a scope's chain found. Real time.
create table audit_proof (
    scope uuid primary key,
    entries bigint not null check (entries >= 0),
    heads bigint not null check (heads >= 0),
    broken text,
    proved_at timestamptz not null
);
comment on column audit_proof.broken is 'the first fault; null where the chain is whole';
grant select, insert, update on audit_proof to almoner_app;

-- What the master key gives for a known text, so that a process with another key does not start. The first process
-- that starts creates the row.
create table master_key_check (
    one boolean primary key default true check (one),
    value bytea not null check (length(value) = 32)
);
grant select, insert on master_key_check to almoner_app;

-- Identifies this deployment, so that a restored or copied database does not act as the original. The first process
-- that starts creates the row.
create table deployment (
    one boolean primary key default true check (one),
    id uuid not null,
    storage_marks text[] not null,
    generation bigint not null,
    recent_tokens uuid[] not null check (cardinality(recent_tokens) between 1 and 64),
    generation_at timestamptz not null,
    written_by bigint not null,
    system_identifier bigint not null,
    database_oid bigint not null,
    server_started_at timestamptz not null,
    timeline bigint not null,
    server_addresses text[] not null check (cardinality(server_addresses) between 1 and 64),
    claimed_at timestamptz not null,
    copy_detected_at timestamptz,
    copy_reason text,
    check (num_nonnulls(copy_detected_at, copy_reason) in (0, 2))
);
comment on column deployment.storage_marks is 'suffixes of the storage keys of its blobs';
comment on column deployment.generation is 'incremented every few seconds, first here and then in the document storage';
comment on column deployment.recent_tokens is 'random values of the latest generations, newest last';
-- Whatever writes the row anew must set it: an ALTER TABLE that rewrites the table would make every database a copy.
comment on column deployment.written_by is
    'the transaction that wrote the row; differs from xmin after a dump and restore';
comment on column deployment.server_addresses is
    'where the server was reached: address, or data folder of an embedded one';
comment on column deployment.copy_reason is 'why it is taken for a copy; it does nothing outside until it is released';
grant select, insert, update, delete on deployment to almoner_app;

-- Files of registers and watch lists that operators have uploaded. The file itself is in the document storage until a job
-- has imported it.
create table import_upload (
    id uuid primary key,
    kind text not null check (kind in ('register', 'watchlist')),
    source text not null check (length(source) between 1 and 100),
    file_name text not null check (length(file_name) between 1 and 255),
    size_bytes bigint not null check (size_bytes >= 1),
    data_as_of timestamptz,
    forced boolean not null,
    storage_key text not null unique check (storage_key ~ '^[0-9a-z]{34}$'),
    uploaded_by text not null check (length(uploaded_by) between 1 and 255),
    uploaded_at timestamptz not null,
    status text not null default 'waiting'
        check (status in ('waiting', 'importing', 'loaded', 'unchanged', 'quarantined', 'refused')),
    reason text check (length(reason) between 1 and 2000),
    load_id uuid,
    finished_at timestamptz,
    check ((finished_at is null) = (status in ('waiting', 'importing'))),
    check (reason is null or status in ('quarantined', 'refused'))
);
comment on column import_upload.load_id is 'of register_load or watchlist_load, by kind';
grant select, insert, update (status, reason, load_id, finished_at) on import_upload to almoner_app;
