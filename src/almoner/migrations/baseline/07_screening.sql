-- Screening: watch lists, who is compared with them, and what matched.

create table watchlist (
    code text primary key check (code ~ '^[a-z0-9][a-z0-9-]{0,59}$'),
    title text not null check (length(title) between 1 and 200),
    licence text not null check (length(licence) between 1 and 500),
    unverified boolean not null,
    current_load_id uuid
);
grant select, insert, update on watchlist to almoner_app;

-- organisation_categories, person_categories: a list of persons alone clears no organisation, and vice versa.
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
    rejected integer not null check (rejected >= 0),
    forced boolean not null,
    reasons text[] not null,
    organisation_categories text[] not null,
    person_categories text[] not null,
    fetched_from text[] not null,
    unique (list, id),
    constraint watchlist_load_refused check ((status = 'refused') = (cardinality(reasons) > 0)),
    constraint watchlist_load_refused_changes check (status = 'loaded' or added + removed + changed = 0),
    constraint watchlist_load_organisations check (organisation_categories <@ categories),
    constraint watchlist_load_persons check (person_categories <@ categories)
);
comment on column watchlist_load.published_at is 'publication time of the list, where its files or its importer say so';
comment on column watchlist_load.sha256 is 'of the hashes of its files, in their order';
comment on column watchlist_load.organisation_categories is 'categories in which it lists organisations';
comment on column watchlist_load.person_categories is 'categories in which it lists persons';
comment on column watchlist_load.fetched_from is 'URLs that its files were downloaded from';
grant select, insert on watchlist_load to almoner_app;

-- A list's entry from one load until another. Never overwritten: a changed entry ends and a new row begins.
create table watchlist_entry (
    id uuid primary key,
    list text not null references watchlist (code),
    entry_key text not null check (length(entry_key) between 1 and 200),
    content_hash bytea not null check (length(content_hash) = 32),
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
    source_url text check (length(source_url) between 1 and 2000),
    since_load_id uuid not null,
    until_load_id uuid,
    foreign key (list, since_load_id) references watchlist_load (list, id),
    foreign key (list, until_load_id) references watchlist_load (list, id),
    constraint watchlist_entry_ends_later check (until_load_id <> since_load_id)
);
create unique index watchlist_entry_current on watchlist_entry (list, entry_key) where until_load_id is null;
create index watchlist_entry_since on watchlist_entry (since_load_id);
create index watchlist_entry_until on watchlist_entry (until_load_id) where until_load_id is not null;
comment on column watchlist_entry.content_hash is 'of the whole entry';
comment on column watchlist_entry.source_url is 'URL of the published entry';
create trigger watchlist_entry_immutable before update on watchlist_entry for each row
    when (old.until_load_id is not null
          or (old.id, old.list, old.entry_key, old.content_hash, old.kind, old.category, old.names, old.countries,
              old.addresses, old.identifiers, old.birth_years, old.programmes, old.since_load_id) is distinct from
             (new.id, new.list, new.entry_key, new.content_hash, new.kind, new.category, new.names, new.countries,
              new.addresses, new.identifiers, new.birth_years, new.programmes, new.since_load_id)
          or (old.listed_on, old.note, old.source_url) is distinct from (new.listed_on, new.note, new.source_url))
    execute function guard_immutable();
grant select, insert, update on watchlist_entry to almoner_app;

-- Lists that refresh automatically, as scheduled by the deployment, and the outcome of the last attempt.
create table watchlist_refresh (
    list text primary key,
    refresh_interval interval not null check (refresh_interval >= interval '1 hour'),
    due_at timestamptz not null,
    attempted_at timestamptz,
    status text check (status in ('loaded', 'unchanged', 'refused', 'failed')),
    failures integer not null default 0 check (failures >= 0),
    reason text,
    check ((status = 'failed') = (failures > 0)),
    check ((attempted_at is null) = (status is null))
);
grant select, insert, update, delete on watchlist_refresh to almoner_app;

-- Who is screened against the lists, as last screened. Monitored subjects are screened again when a list changes: of
-- applicants, those who may represent a nonprofit or have a pending application.
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
    monitored boolean not null,
    erased boolean not null default false,
    screened_at timestamptz not null,
    engine_version integer not null check (engine_version >= 0),
    obstacle text check (obstacle in ('script_uncertain', 'script_not_supported', 'no_words')),
    manual_result text check (manual_result in (
        'clear', 'warning', 'sanction', 'hateSpeech', 'commercial', 'adverseMedia', 'controversial'
    )),
    unique (type, subject_id),
    constraint screening_subject_named check (erased = (cardinality(names) = 0)),
    constraint screening_subject_manual_result check (manual_result is null or obstacle is not null),
    constraint screening_subject_monitored check (not (monitored and erased))
);
create index screening_subject_monitored on screening_subject (id) where monitored;
create index screening_subject_outdated on screening_subject (engine_version) where monitored;
comment on column screening_subject.partner_id is 'who had it screened first';
comment on column screening_subject.engine_version is 'version of the matching engine that last screened it';
comment on column screening_subject.obstacle is
    'why some of its names cannot be compared with the lists; null: all were compared';
comment on column screening_subject.manual_result is
    'result of a person who looked up the names that cannot be compared: clear, or the category of a list that has one';
grant select, insert, update on screening_subject to almoner_app;

-- A subject and a list entry that may be the same. A person's decision holds for the two sides it was made about
-- (decided_subject, decided_entry). When either changes in something relevant, a person is asked again: a cleared match
-- is reopened, a confirmed one stays confirmed meanwhile.
create table screening_match (
    id uuid primary key,
    screening_subject_id uuid not null references screening_subject (id),
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
    awaiting_review boolean not null,
    last_decision text check (last_decision in ('confirmed', 'cleared')),
    decided_subject jsonb check (jsonb_typeof(decided_subject) = 'object'),
    decided_entry jsonb check (jsonb_typeof(decided_entry) = 'object'),
    foreign key (list, load_id) references watchlist_load (list, id),
    constraint screening_match_once unique (screening_subject_id, list, entry_key),
    constraint screening_match_awaiting_review check (current or not awaiting_review),
    constraint screening_match_open check (decision <> 'open' or awaiting_review = current),
    constraint screening_match_decided check (decision = 'open' or last_decision = decision)
);
create index screening_match_of_entry on screening_match (list, entry_key) where current;
comment on column screening_match.load_id is 'version of the list that contains the entry as matched';
comment on column screening_match.current is 'whether the two still match; decisions are kept if not';
comment on column screening_match.awaiting_review is 'whether a person has to decide it';
comment on column screening_match.last_decision is 'a person''s last decision, about the two sides as they were then';
grant select, insert, update on screening_match to almoner_app;

-- The current load is one of the list's own: the two tables refer to each other.
alter table watchlist add foreign key (code, current_load_id) references watchlist_load (list, id);
