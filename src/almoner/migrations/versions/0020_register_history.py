"""What every source says of every number, with the time it said so; loads that can wait, fail and be taken back.

Revision ID: 0020
Revises: 0019
"""

from alembic import op

revision = "0020"
down_revision = "0019"

UPGRADE = """
-- A published format, known here from its first load on. lists: its entries are bodies. unverified: never run on a real
-- file, so that nothing is decided by it alone.
create table register_source (
    code text primary key,
    registry_id uuid not null references registry (id),
    lists boolean not null,
    unverified boolean not null,
    data_as_of timestamptz
);
insert into register_source (code, registry_id, lists, unverified, data_as_of)
select source, registry_id, true, false, max(data_as_of) from register_load group by source, registry_id;

-- One version of what a source says of a number: true from the data of one day to that of another, never overwritten.
-- Its source and loads are there: nobody may delete them, and millions of rows are not asked twice.
create table register_entry (
    id bigint generated always as identity primary key,
    source text not null,
    number_key text collate "C" not null,
    part text not null,
    record jsonb not null,
    valid_from timestamptz not null,
    valid_to timestamptz,
    load_id uuid not null,
    ended_by uuid,
    check ((valid_to is null) = (ended_by is null)),
    check (valid_to >= valid_from)
);
create unique index register_entry_standing on register_entry (number_key, source) where valid_to is null;
create index register_entry_history on register_entry (number_key, source, id) where valid_to is not null;
comment on column register_entry.record is 'members of the entry and, under facts, the codes of the source';
comment on column register_entry.valid_from is 'day of the data that brought it';
comment on column register_entry.valid_to is 'day of the data that ended it; null while it stands';

-- loaded_at of a quarantined load is when it failed. undoes: the load that this one took back.
alter table register_load drop constraint register_load_rows_check;
alter table register_load
    add check (rows >= 0),
    add column status text not null default 'loaded' check (status in ('loaded', 'quarantined', 'rolled_back')),
    add column reasons text[] not null default '{}',
    add column quiet integer not null default 0 check (quiet >= 0),
    add column moved integer not null default 0 check (moved >= 0),
    add column unnumbered integer not null default 0 check (unnumbered >= 0),
    add column undoes uuid references register_load (id),
    add check ((status = 'quarantined') = (reasons <> '{}'));
alter table register_load alter column status drop default;
create index register_load_source on register_load (source, id);
comment on column register_load.unnumbered is 'rows that the register publishes without a number on purpose';
comment on column register_load.quiet is 'numbers of which nothing moved but facts that tell nobody anything';

-- What a load brought of each part: what a later load is compared with, and what a rollback returns to.
create table register_load_part (
    load_id uuid not null references register_load (id),
    part text not null,
    rows integer not null check (rows >= 0),
    fills jsonb,
    primary key (load_id, part)
);
comment on column register_load_part.fills is 'rows in which a column holds something, by column';
insert into register_load_part (load_id, part, rows) select load_id, part, rows from register_part;

alter table register_part add column source text;
update register_part p set source = l.source from register_load l where l.id = p.load_id;
alter table register_part alter column source set not null, drop constraint register_part_pkey,
    add primary key (source, part);
alter table register_part drop column registry_id;
alter table register_part alter constraint register_part_load_id_fkey deferrable initially deferred;

-- Files being read, each in a transaction of its own: what was read stays when the reader is killed.
create table register_reading (
    id uuid primary key,
    source text not null unique,
    hashes bytea[] not null,
    begun_at timestamptz not null
);
create table register_reading_file (
    reading_id uuid not null references register_reading (id) on delete cascade,
    position smallint not null,
    rows integer not null,
    staged integer not null,
    unnumbered integer not null,
    fills jsonb not null,
    refused text,
    primary key (reading_id, position)
);
comment on column register_reading_file.staged is 'rows in staging: fewer are there after a crash of the server';

-- The form of the tables that files are read into, one for each reading: written once, and dropped when it is loaded.
-- A row without a number_key is a bad one (reason) or a link (record).
create unlogged table register_staged (
    id uuid,
    file_position smallint not null,
    line integer not null,
    number_key text collate "C",
    part text,
    record text,
    reason text,
    registry_number text,
    name text,
    display_name text,
    other_names text[],
    description text,
    types text[],
    active boolean,
    websites text[],
    address_line_1 text,
    address_line_2 text,
    city text,
    state text,
    postcode text,
    registration_date timestamptz,
    group_key text,
    is_branch_parent boolean,
    usa_group_exempt boolean,
    parent_key text collate "C",
    prominence smallint,
    tag_ids uuid[],
    activities text,
    search_name text collate "C",
    search_other text collate "C",
    search_description text collate "C",
    search_place text collate "C"
);

create function staging_of(reading uuid) returns text language sql immutable as $$
    select 'register_staged_' || replace(reading::text, '-', '')
$$;

-- The application's role owns no tables and may make none: these make, gather statistics of and drop the staging alone.
create function open_staging(reading uuid) returns void language plpgsql security definer
set search_path = public, pg_temp as $$
begin
    execute format('create unlogged table %I (like register_staged)', staging_of(reading));
    execute format('grant select, insert, update, delete on %I to almoner_app', staging_of(reading));
end $$;
create function analyze_staging(reading uuid) returns void language plpgsql security definer
set search_path = public, pg_temp as $$
begin
    execute format('analyze %I (number_key, part, group_key)', staging_of(reading));
end $$;
create function drop_staging(reading uuid) returns void language plpgsql security definer
set search_path = public, pg_temp as $$
begin
    execute format('drop table if exists %I', staging_of(reading));
end $$;
revoke execute on function open_staging(uuid), analyze_staging(uuid), drop_staging(uuid) from public;
grant execute on function open_staging(uuid), analyze_staging(uuid), drop_staging(uuid) to almoner_app;

alter table organisation
    add column other_names text[] not null default '{}',
    add column parent_key text collate "C",
    add column source text,
    add column activities jsonb,
    add column search_place text collate "C" not null default '';
update organisation set other_names = array[other_name] where other_name is not null;
update organisation o set source = l.source from register_part p join register_load l on l.id = p.load_id
where l.registry_id = o.registry_id and p.part = o.part and o.partner_id is null;
alter table organisation drop column other_name;
create index organisation_parent on organisation (registry_id, parent_key) where parent_key is not null;
comment on column organisation.parent_key is 'number_key of the body that it is a branch of, as its register says';
comment on column organisation.source is 'the format that lists it; null: entered by hand';
comment on column organisation.activities is 'for each tag the rule that gave it';
comment on column organisation.search_place is 'words of the place: ASCII, lower case, one blank between';

grant select, insert, update on register_source, register_entry to almoner_app;
grant select, insert on register_load_part to almoner_app;
grant update (status) on register_load to almoner_app;
grant delete on register_part to almoner_app;
grant select, insert, update, delete on register_reading, register_reading_file to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
