-- Screening: watch lists, who is compared with them, and what matched.

create table watchlist (
    code text primary key check (code ~ '^[a-z0-9][a-z0-9-]{0,59}$'),
    title text not null check (length(title) between 1 and 200),
    licence text not null check (length(licence) between 1 and 500),
    unverified boolean not null,
    current_load uuid
);
grant select, insert, update on watchlist to almoner_app;

-- bodies, persons: a list of persons alone clears no body, nor the other way round.
create table watchlist_load (
    id uuid primary key,
    list text not null references watchlist (code),
    status text not null check (status in ('loaded', 'refused')),
    published_at timestamptz,
    retrieved_at timestamptz not null,
    loaded_at timestamptz not null,
    sha256 bytea not null check (length(sha256) = 32),
    files jsonb not null check (jsonb_typeof(files) = 'array'),
    categories text[] not null check (categories <@ array[
        'warning', 'sanction', 'hateSpeech', 'commercial', 'adverseMedia', 'controversial'
    ]),
    entries integer not null check (entries >= 0),
    added integer not null check (added >= 0),
    removed integer not null check (removed >= 0),
    changed integer not null check (changed >= 0),
    bad integer not null check (bad >= 0),
    forced boolean not null,
    reasons text[] not null,
    bodies text[] not null,
    persons text[] not null,
    fetched_from text[] not null,
    unique (list, id),
    constraint watchlist_load_refused check ((status = 'refused') = (cardinality(reasons) > 0)),
    constraint watchlist_load_refused_changes check (status = 'loaded' or added + removed + changed = 0),
    constraint watchlist_load_bodies check (bodies <@ categories),
    constraint watchlist_load_persons check (persons <@ categories)
);
create index watchlist_load_of_list on watchlist_load (list, id);
comment on column watchlist_load.published_at is 'of which moment the list is, where its files or its importer say so';
comment on column watchlist_load.sha256 is 'of the hashes of its files, in their order';
comment on column watchlist_load.bodies is 'the categories in which it lists bodies';
comment on column watchlist_load.persons is 'the categories in which it lists persons';
comment on column watchlist_load.fetched_from is 'from which web addresses its files were fetched';
grant select, insert on watchlist_load to almoner_app;

-- What a list said of somebody from one load until another. Nothing is overwritten: a changed entry ends and begins.
create table watchlist_entry (
    id uuid primary key,
    list text not null references watchlist (code),
    entry_key text not null check (length(entry_key) between 1 and 200),
    content bytea not null check (length(content) = 32),
    kind text not null check (kind in ('person', 'organisation', 'vessel', 'aircraft', 'unknown')),
    category text not null check (category in (
        'warning', 'sanction', 'hateSpeech', 'commercial', 'adverseMedia', 'controversial'
    )),
    names jsonb not null check (jsonb_typeof(names) = 'array' and jsonb_array_length(names) > 0),
    countries text[] not null,
    addresses jsonb not null check (jsonb_typeof(addresses) = 'array'),
    identifiers text[] not null,
    birth_years integer[] not null,
    programmes text[] not null,
    listed_on date,
    note text check (length(note) between 1 and 2000),
    told_at text check (length(told_at) between 1 and 2000),
    since_load uuid not null,
    until_load uuid,
    foreign key (list, since_load) references watchlist_load (list, id),
    foreign key (list, until_load) references watchlist_load (list, id),
    constraint watchlist_entry_ends_later check (until_load <> since_load)
);
create unique index watchlist_entry_current on watchlist_entry (list, entry_key) where until_load is null;
create index watchlist_entry_since on watchlist_entry (since_load);
create index watchlist_entry_until on watchlist_entry (until_load) where until_load is not null;
comment on column watchlist_entry.content is 'hash of all that it says';
comment on column watchlist_entry.told_at is 'address at which what it says can be read';
create trigger watchlist_entry_immutable before update on watchlist_entry for each row
    when (old.until_load is not null
          or (old.id, old.list, old.entry_key, old.content, old.kind, old.category, old.names, old.countries,
              old.addresses, old.identifiers, old.birth_years, old.programmes, old.since_load) is distinct from
             (new.id, new.list, new.entry_key, new.content, new.kind, new.category, new.names, new.countries,
              new.addresses, new.identifiers, new.birth_years, new.programmes, new.since_load)
          or (old.listed_on, old.note, old.told_at) is distinct from (new.listed_on, new.note, new.told_at))
    execute function guard_immutable();
grant select, insert, update on watchlist_entry to almoner_app;

-- Lists that refresh themselves, as the schedule of the deployment says, and how the last try went.
create table watchlist_refresh (
    list text primary key,
    every interval not null check (every >= interval '1 hour'),
    due_at timestamptz not null,
    tried_at timestamptz,
    status text check (status in ('loaded', 'unchanged', 'refused', 'failed')),
    failures integer not null default 0 check (failures >= 0),
    reason text,
    check ((status = 'failed') = (failures > 0)),
    check ((tried_at is null) = (status is null))
);
grant select, insert, update, delete on watchlist_refresh to almoner_app;

-- Who is compared with the lists: as they looked when it was done last. Those that are watched are compared again
-- when a list changes: of applicants, those who may speak for a nonprofit or still ask to.
create table screening_subject (
    id uuid primary key,
    type text not null check (type in ('organisation', 'agent_verification')),
    subject_id uuid not null,
    partner_id uuid not null references partner (id),
    kind text not null check (kind in ('organisation', 'person')),
    names text[] not null,
    countries text[] not null,
    identifiers text[] not null,
    address jsonb check (jsonb_typeof(address) = 'object'),
    watched boolean not null,
    forgotten boolean not null default false,
    screened_at timestamptz not null,
    engine integer not null default 0 check (engine >= 0),
    unique (type, subject_id),
    constraint screening_subject_named check (forgotten = (cardinality(names) = 0)),
    constraint screening_subject_watched check (not (watched and forgotten))
);
create index screening_subject_watched on screening_subject (id) where watched;
create index screening_subject_outdated on screening_subject (engine) where watched;
comment on column screening_subject.partner_id is 'who had it compared first';
comment on column screening_subject.engine is 'which version of the engine compared it last';
grant select, insert, update on screening_subject to almoner_app;

-- One subject and one entry of a list that may be the same. What a person decided holds until one of the two changes
-- in something that mattered.
-- A person who decided a match decided about two sides (decided_subject, decided_entry). While they differ from what is
-- known now, somebody is asked again: a cleared match is open until then, a confirmed one stays confirmed.
create table screening_match (
    id uuid primary key,
    subject uuid not null references screening_subject (id),
    list text not null references watchlist (code),
    entry_key text not null,
    category text not null,
    load_id uuid not null,
    score double precision not null check (score between 0 and 1),
    parts jsonb not null check (jsonb_typeof(parts) = 'array'),
    subject_side jsonb not null check (jsonb_typeof(subject_side) = 'object'),
    entry_side jsonb not null check (jsonb_typeof(entry_side) = 'object'),
    decision text not null check (decision in ('open', 'confirmed', 'cleared')),
    current boolean not null,
    found_at timestamptz not null,
    changed_at timestamptz not null,
    waits boolean not null,
    decided_as text check (decided_as in ('confirmed', 'cleared')),
    decided_subject jsonb check (jsonb_typeof(decided_subject) = 'object'),
    decided_entry jsonb check (jsonb_typeof(decided_entry) = 'object'),
    foreign key (list, load_id) references watchlist_load (list, id),
    constraint screening_match_once unique (subject, list, entry_key),
    constraint screening_match_waits check (current or not waits),
    constraint screening_match_open check (decision <> 'open' or waits = current),
    constraint screening_match_decided check (decision = 'open' or decided_as = decision)
);
create index screening_match_of_entry on screening_match (list, entry_key) where current;
comment on column screening_match.load_id is 'the version of the list in which it was found as it is';
comment on column screening_match.current is 'whether the two still agree; what was decided is kept if not';
comment on column screening_match.waits is 'whether a person is asked about it';
comment on column screening_match.decided_as is 'what a person decided last, of the two sides as they were then';
grant select, insert, update on screening_match to almoner_app;

-- The load that counts is one of its own list: the two tables name each other.
alter table watchlist add foreign key (code, current_load) references watchlist_load (list, id);
