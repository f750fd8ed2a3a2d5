"""Events, jobs, schedules, live processes and the business clock.

Revision ID: 0001a
Revises: 0001
"""

from alembic import op

revision = "0001a"
down_revision = "0001"

UPGRADE = """
-- What partners are told (spec 6). n is the order of writing; sequence is given right after commit, without gaps per
-- partner. There is no foreign key to partner, whose row every writer of that partner would have to lock and dirty;
-- partners are never deleted. There is no index on n alone: with one, the planner may look for what waits in the order
-- of writing, through all of the history.
create table event (
    n bigint generated always as identity,
    id uuid not null,
    partner_id uuid not null,
    type text not null,
    payload bytea not null,
    created_at timestamptz not null,
    sequence bigint check (sequence > 0),
    primary key (partner_id, id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- type and created_at ride along: a filtered list counts without reading payloads (100,000 events in 9 ms, not 190).
create unique index event_sequence on event (partner_id, sequence) include (type, created_at)
    where sequence is not null;
create index event_unnumbered on event (partner_id, n) where sequence is null;

create table event_counter (
    partner_id uuid primary key,
    last_sequence bigint not null check (last_sequence >= 0)
) with (fillfactor = 50);

-- What slices tell each other: removed as soon as the reactions have run.
create table internal_event (
    n bigint generated always as identity primary key,
    id uuid not null,
    partner_id uuid,
    type text not null,
    payload bytea not null,
    created_at timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Work to do. due_at is business time, leased_until real time; a finished job is deleted, a dead one is kept.
-- ready: the job of a lane is due (others need no such mark, since nothing holds them back once they are).
-- attempt counts every claim; failures those in a row that ended in an exception or with their worker.
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
-- One job that has not begun for each kind and key.
create unique index job_unique on job (kind, unique_key) where unique_key is not null and attempt = 0;

-- A lane is a set of jobs of which at most cap run at once, in any number of workers.
create table queue_lane (
    lane text primary key,
    cap integer not null default 4 check (cap between 1 and 1000)
);

-- Sweeps: one runner at a time holds the row.
create table schedule (
    name text primary key,
    ran_at timestamptz
);

create table process (
    id uuid primary key,
    role text not null check (role in ('server', 'worker', 'server and worker')),
    started_at timestamptz not null,
    seen_at timestamptz not null,
    clock_version bigint not null
);

-- How far business time is ahead of real time; moved in the sandbox only, forwards only.
create table business_clock (
    id boolean primary key default true check (id),
    ahead interval not null check (ahead >= interval '0'),
    version bigint not null
);
insert into business_clock (ahead, version) values (interval '0', 0);

grant select, insert, update (sequence), delete on event to almoner_app;
grant select, insert, update on event_counter, queue_lane, schedule to almoner_app;
grant select, insert, update, delete on internal_event, job, process to almoner_app;
grant select, update on business_clock to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
