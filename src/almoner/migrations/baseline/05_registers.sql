-- Registers: what they publish, loads with their provenance, links between numbers, and files that are being read.

-- A mapping file may declare further registers; a known one is never renamed.
create table registry (
    id uuid primary key,
    code text not null unique check (code ~ '^[A-Z][A-Z0-9-]{1,19}$'),
    name text not null,
    english_name text not null,
    country_code char(3) not null check (country_code ~ '^[A-Z]{3}$'),
    data_as_of timestamptz,
    check (length(name) between 1 and 200 and length(english_name) between 1 and 200)
);
create index registry_country on registry (country_code);
comment on column registry.data_as_of is 'date of the newest loaded data; null: nothing loaded';
insert into registry (id, country_code, code, name, english_name) values
    ('019b76da-a800-7000-8000-000000000001', 'USA', 'IRS', 'IRS', 'Internal Revenue Service'),
    ('019b76da-a800-7000-8000-000000000002', 'GBR', 'CCEW', 'CCEW', 'Charity Commission for England and Wales'),
    ('019b76da-a800-7000-8000-000000000003', 'GBR', 'OSCR', 'OSCR', 'Office of the Scottish Charity Regulator'),
    ('019b76da-a800-7000-8000-000000000004', 'GBR', 'CCNI', 'CCNI', 'Charity Commission for Northern Ireland'),
    ('019b76da-a800-7000-8000-000000000005', 'GBR', 'HMRC', 'HMRC charity reference', 'HM Revenue and Customs'),
    ('019b76da-a800-7000-8000-000000000006', 'AUS', 'ACNC', 'ACNC',
        'Australian Charities and Not-for-profits Commission'),
    ('019b76da-a800-7000-8000-000000000007', 'CAN', 'CRA', 'CRA', 'Canada Revenue Agency'),
    ('019b76da-a800-7000-8000-000000000008', 'IRL', 'CRI', 'Charities Regulator', 'Charities Regulator of Ireland'),
    ('019b76da-a800-7000-8000-000000000009', 'NZL', 'NZCS', 'Charities Services', 'Charities Services of New Zealand'),
    ('019b76da-a800-7000-8000-00000000000a', 'NLD', 'ANBI', 'ANBI',
        'Public benefit organisations of the Dutch tax authority'),
    ('019b76da-a800-7000-8000-00000000000b', 'FRA', 'RNA', 'Répertoire national des associations',
        'National directory of associations'),
    ('019b76da-a800-7000-8000-00000000000c', 'BRA', 'CNPJ',
        'Cadastro Nacional da Pessoa Jurídica',
        'National register of legal entities'),
    ('019b76da-a800-7000-8000-00000000000d', 'MEX', 'RFC', 'Registro Federal de Contribuyentes',
        'Federal taxpayer register'),
    ('019b76da-a800-7000-8000-00000000000e', 'SGP', 'COC', 'Commissioner of Charities',
        'Commissioner of Charities of Singapore'),
    ('019b76da-a800-7000-8000-00000000000f', 'ZAF', 'NPO', 'NPO Directorate', 'Non-profit Organisations Directorate'),
    ('019b76da-a800-7000-8000-000000000010', 'IND', 'FCRA', 'FCRA', 'Foreign Contribution (Regulation) Act register'),
    ('019b76da-a800-7000-8000-000000000011', 'DEU', 'ZER', 'Zuwendungsempfängerregister',
        'Register of recipients of donations');
grant select, insert, update (data_as_of) on registry to almoner_app;

-- A published data set, created with its first load. lists_organisations: its entries are organisations. unverified:
-- its reader has never processed a real file, so nothing is decided by it alone.
create table register_source (
    code text primary key,
    registry_id uuid not null references registry (id),
    lists_organisations boolean not null,
    unverified boolean not null,
    data_as_of timestamptz,
    max_age interval,
    ignored_columns text[] not null default '{}'
);
comment on column register_source.max_age is
    'allowed age of the data in this deployment; the self-check reports older data';
comment on column register_source.ignored_columns is
    'facts that change without the organisation having changed, as its reader says';
grant select, insert, update on register_source to almoner_app;

-- For a quarantined load, loaded_at is when it failed. rolls_back: the load that this one undid.
create table register_load (
    id uuid primary key,
    registry_id uuid not null references registry (id),
    source text not null,
    data_as_of timestamptz not null,
    loaded_at timestamptz not null,
    rows integer not null check (rows >= 0),
    added integer not null check (added >= 0),
    changed integer not null check (changed >= 0),
    removed integer not null check (removed >= 0),
    quarantined integer not null check (quarantined >= 0),
    forced boolean not null,
    status text not null check (status in ('loaded', 'quarantined', 'rolled_back')),
    reasons text[] not null default '{}',
    ignored_changes integer not null default 0 check (ignored_changes >= 0),
    moved integer not null default 0 check (moved >= 0),
    unnumbered integer not null default 0 check (unnumbered >= 0),
    rolls_back uuid references register_load (id),
    ambiguous integer not null default 0 check (ambiguous >= 0),
    unreadable_values jsonb not null default '{}',
    notes text[] not null default '{}',
    carried_over integer not null default 0 check (carried_over >= 0),
    check ((status = 'quarantined') = (reasons <> '{}'))
);
create index register_load_source on register_load (source, id);
comment on column register_load.unnumbered is 'rows that the register deliberately publishes without a number';
comment on column register_load.ignored_changes is 'numbers of which only ignored columns changed';
comment on column register_load.ambiguous is 'links of its source that join nothing because others contradict them';
comment on column register_load.unreadable_values is
    'optional values that could not be read: row counts and examples, by column';
comment on column register_load.notes is 'remarks about its files that concern no row, such as a missing table';
comment on column register_load.carried_over is 'numbers left unchanged because their rows could not be read';
grant select, insert, update (status) on register_load to almoner_app;

-- What an operator decided about a quarantined load: its files are loaded as they are, or never.
create table register_load_decision (
    load_id uuid primary key references register_load (id),
    decision text not null check (decision in ('released', 'refused')),
    decided_by text not null,
    decided_at timestamptz not null,
    note text not null check (length(note) between 1 and 2000)
);
create function guard_load_decision() returns trigger language plpgsql as $$
begin
    if (select status from register_load where id = new.load_id) <> 'quarantined' then
        raise exception 'only a quarantined load is decided about'
            using errcode = 'check_violation', constraint = 'register_load_decision_quarantined';
    end if;
    return new;
end $$;
create trigger register_load_decision_quarantined before insert on register_load_decision
    for each row execute function guard_load_decision();
grant select, insert on register_load_decision to almoner_app;

-- What a load contained, by part: later loads are compared with it, and a rollback returns to it.
create table register_load_part (
    load_id uuid not null references register_load (id),
    part text not null,
    rows integer not null check (rows >= 0),
    filled_counts jsonb not null,
    primary key (load_id, part)
);
comment on column register_load_part.filled_counts is 'rows with a value, by column';
grant select, insert on register_load_part to almoner_app;

create table register_file (
    load_id uuid not null references register_load (id),
    position smallint not null,
    name text not null,
    sha256 bytea not null check (length(sha256) = 32),
    size_bytes bigint not null check (size_bytes >= 0),
    parts text[] not null,
    rows integer not null check (rows >= 0),
    quarantined integer not null check (quarantined >= 0),
    primary key (load_id, position)
);
create index register_file_sha256 on register_file (sha256);
grant select, insert on register_file to almoner_app;

-- Where a load's files were downloaded from, as reported by their servers.
create table register_fetch (
    load_id uuid not null references register_load (id) deferrable initially deferred,
    position smallint not null,
    url text not null,
    name text not null,
    etag text,
    last_modified timestamptz,
    retrieved_at timestamptz not null,
    sha256 bytea not null check (length(sha256) = 32),
    size_bytes bigint not null check (size_bytes > 0),
    primary key (load_id, position)
);
comment on column register_fetch.last_modified is 'the publisher''s date';
comment on column register_fetch.sha256 is 'of the bytes as transferred';
grant select, insert on register_fetch to almoner_app;

-- A register may come in several files: a part (for the IRS, a state) is what a load replaces.
create table register_part (
    part text not null,
    load_id uuid not null references register_load (id) deferrable initially deferred,
    data_as_of timestamptz not null,
    rows integer not null check (rows >= 0),
    source text not null,
    primary key (source, part)
);
grant select, insert, update, delete on register_part to almoner_app;

create table register_quarantine (
    id bigint generated always as identity primary key,
    load_id uuid not null references register_load (id),
    file_name text not null,
    line integer not null,
    reason text not null,
    content text not null
);
create index register_quarantine_load on register_quarantine (load_id, id);
grant select, insert on register_quarantine to almoner_app;

-- One version of a source's entry for a number, valid from the data of one date to that of another; never overwritten.
-- No foreign keys to sources and loads: they cannot be deleted, and millions of rows need not be checked.
create table register_entry (
    id bigint generated always as identity primary key,
    source text not null,
    number_key text collate "C" not null,
    part text not null,
    record jsonb not null,
    valid_from timestamptz not null,
    valid_to timestamptz,
    load_id uuid not null,
    ended_by_load_id uuid,
    check ((valid_to is null) = (ended_by_load_id is null)),
    check (valid_to >= valid_from)
);
create index register_entry_part on register_entry (source, part) where valid_to is null;
create unique index register_entry_current on register_entry (number_key, source) where valid_to is null;
create index register_entry_history on register_entry (number_key, source, id) where valid_to is not null;
comment on column register_entry.record is 'members of the entry and, under facts, the codes of the source';
comment on column register_entry.valid_from is 'date of the data that introduced it';
comment on column register_entry.valid_to is 'date of the data that ended it; null while current';
grant select, insert, update on register_entry to almoner_app;

-- How a source says two numbers are related, and since when; never overwritten. part: a file of a source that has
-- several ends only the links of its own part.
create table register_link (
    id bigint generated always as identity primary key,
    source text not null,
    kind text not null check (kind in ('same', 'merged', 'reregistered')),
    registry_id uuid not null references registry (id),
    number_key text collate "C" not null,
    to_registry_id uuid not null references registry (id),
    to_number_key text collate "C" not null,
    at timestamptz,
    valid_from timestamptz not null,
    valid_to timestamptz,
    load_id uuid not null references register_load (id) deferrable initially deferred,
    ended_by_load_id uuid references register_load (id) deferrable initially deferred,
    part text not null,
    check ((valid_to is null) = (ended_by_load_id is null)),
    check (registry_id <> to_registry_id or number_key <> to_number_key)
);
create index register_link_of_load on register_link (load_id);
create index register_link_ended_by on register_link (ended_by_load_id) where ended_by_load_id is not null;
create unique index register_link_current
    on register_link (source, part, kind, registry_id, number_key, to_registry_id, to_number_key)
    where valid_to is null;
-- Links that have ended are searched too: for the sources of a past date.
create index register_link_from on register_link (registry_id, number_key);
create index register_link_to on register_link (to_registry_id, to_number_key);
comment on column register_link.at is 'when it happened, where the source says so';
comment on column register_link.valid_from is 'date of the data that introduced it';
comment on column register_link.valid_to is 'date of the data that ended it; null while current';
comment on column register_link.part is 'part of the source that a file replaces';

-- Whether a number is linked as the same organisation to more than one number of another register.
create function is_one_of_several(of_registry uuid, of_key text, other_registry uuid) returns boolean
language plpgsql stable as $$
begin
    return count(*) > 1 from (
        select to_number_key from register_link
        where kind = 'same' and valid_to is null and registry_id = of_registry and number_key = of_key collate "C"
            and to_registry_id = other_registry
        union
        select number_key from register_link
        where kind = 'same' and valid_to is null and to_registry_id = of_registry and to_number_key = of_key collate "C"
            and registry_id = other_registry
    ) partner;
end $$;

-- Whether a link is no evidence that two numbers are one organisation, as one of them has other links into the same
-- register.
create function is_ambiguous(link register_link) returns boolean language sql stable as $$
    select link.registry_id = link.to_registry_id
        or is_one_of_several(link.registry_id, link.number_key, link.to_registry_id)
        or is_one_of_several(link.to_registry_id, link.to_number_key, link.registry_id)
$$;
grant select, insert, update on register_link to almoner_app;

-- Sources that refresh automatically, as scheduled by the deployment, and the outcome of the last attempt.
create table register_refresh (
    source text primary key,
    refresh_interval interval not null check (refresh_interval >= interval '1 hour'),
    due_at timestamptz not null,
    attempted_at timestamptz,
    status text check (status in ('loaded', 'unchanged', 'quarantined', 'failed')),
    failures integer not null default 0 check (failures >= 0),
    reason text,
    load_id uuid references register_load (id),
    check ((status = 'failed') = (failures > 0)),
    check ((attempted_at is null) = (status is null))
);
grant select, insert, update, delete on register_refresh to almoner_app;

-- Files being imported, each in its own transaction: what has been read survives a crash.
create table register_reading (
    id uuid primary key,
    source text not null unique,
    hashes bytea[] not null,
    started_at timestamptz not null
);
comment on column register_reading.hashes is 'of its files, then the day of their data';
grant select, insert, update, delete on register_reading to almoner_app;

create table register_reading_file (
    reading_id uuid not null references register_reading (id) on delete cascade,
    position smallint not null,
    rows integer not null,
    staged integer not null,
    unnumbered integer not null,
    filled_counts jsonb not null,
    refused text,
    unreadable_values jsonb not null default '{}',
    primary key (reading_id, position)
);
comment on column register_reading_file.staged is
    'rows in staging; fewer are there after a crash of the database server';
comment on column register_reading_file.unreadable_values is 'as in register_load, of one file';
grant select, insert, update, delete on register_reading_file to almoner_app;

-- Template for the staging tables, one for each import, written once and dropped after the load. A row without a
-- number_key is a rejected one (reason) or a link (record).
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
    secondary_name text,
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

-- The application's role owns no tables and cannot create any; these functions create, analyze and drop staging tables
-- only.
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

-- Classification rules change with a version of Almoner, not with data. Applying them to all organisations is recorded
-- as a load without a file, so that an organisation's history shows when and by which rules its activities changed.
create table activity_classification_run (
    id uuid primary key,
    version text not null,
    started_at timestamptz not null,
    completed_at timestamptz,
    organisations integer not null default 0 check (organisations >= 0),
    changed integer not null default 0 check (changed >= 0 and changed <= organisations)
);
comment on column activity_classification_run.version is 'of the tags and the rules';
comment on column activity_classification_run.completed_at is
    'when the last organisation was processed; null: running or interrupted';
grant select, insert, update on activity_classification_run to almoner_app;
