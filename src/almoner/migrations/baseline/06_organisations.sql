-- Organisations: their records, history and branding, search, and the categories of partners.

create table organisation (
    id uuid primary key,
    partner_id uuid references partner (id),
    registry_id uuid not null references registry (id),
    registry_number text not null check (registry_number <> ''),
    number_key text collate "C" not null check (number_key <> ''),
    part text,
    name text not null check (name <> ''),
    display_name text,
    secondary_name text check (secondary_name <> ''),
    description text not null default '',
    country_code char(3) not null check (country_code ~ '^[A-Z]{3}$'),
    types text[] not null check (types <@ '{nonprofit,social_impact,education}'),
    active boolean not null,
    websites text[] not null default '{}',
    address_line_1 text,
    address_line_2 text,
    city text,
    state text,
    postcode text,
    registration_date timestamptz,
    claimed_at timestamptz,
    group_key text,
    is_branch_parent boolean not null default false,
    branch_of uuid references organisation (id),
    usa_group_exempt boolean,
    prominence smallint not null default 0,
    tag_ids uuid[] not null default '{}',
    first_seen timestamptz,
    last_seen timestamptz,
    search_name text collate "C" not null,
    search_other text collate "C" not null default '',
    search_description text collate "C" not null default '',
    search_former text collate "C" not null default '',
    search_shown text collate "C" not null default '',
    search_shown_description text collate "C" not null default '',
    created_at timestamptz not null,
    updated_at timestamptz not null,
    other_names text[] not null default '{}',
    parent_key text collate "C",
    source text,
    activities jsonb,
    search_place text collate "C" not null default '',
    same_as uuid references organisation (id),
    succeeded_by uuid references organisation (id),
    status_override text check (status_override in ('revoked', 'terminated', 'merged', 'reregistered')),
    constraint organisation_not_self_referencing check (same_as <> id and succeeded_by <> id and branch_of <> id),
    constraint organisation_overridden_is_inactive check (status_override is null or not active),
    constraint organisation_succeeded_is_overridden check (succeeded_by is null or status_override is not null),
    constraint organisation_linked_is_published
        check (partner_id is null or (same_as is null and succeeded_by is null)),
    -- Two numbers of one register are two organisations. Deferred, since principals may be swapped.
    constraint organisation_same exclude using btree (same_as with =, registry_id with =)
        where (same_as is not null) deferrable initially deferred
);
create unique index organisation_number on organisation (number_key, registry_id) where partner_id is null;
create unique index organisation_own_number on organisation (partner_id, registry_id, number_key)
    where partner_id is not null;
create index organisation_unpublished on organisation (id) where partner_id is not null;
create index organisation_branches on organisation (branch_of) where branch_of is not null;
create index organisation_parent on organisation (registry_id, parent_key) where parent_key is not null;
create index organisation_status_override on organisation (registry_id) where status_override is not null;
create index organisation_succeeded on organisation (id) where succeeded_by is not null;
create index organisation_group on organisation (registry_id, group_key, is_branch_parent) where group_key is not null;
comment on column organisation.partner_id is 'visible to this partner only; null: published';
comment on column organisation.secondary_name is 'second line of the name, as the register writes it';
comment on column organisation.registry_number is 'as the register writes it';
comment on column organisation.number_key is 'the number without differences of spelling';
comment on column organisation.group_key is 'joins a central organisation and its subordinates';
comment on column organisation.prominence is 'size band; orders results that match equally well';
comment on column organisation.first_seen is 'date of the data in which the register first listed it';
comment on column organisation.last_seen is 'date of the data in which it was last listed; null while it is';
comment on column organisation.search_name is 'words of the name: ASCII, lower case, separated by single spaces';
comment on column organisation.search_former is 'words of names that its register gave it before, the newest first';
comment on column organisation.search_shown is 'words of the name that it chose to be shown by';
comment on column organisation.search_shown_description is 'words of its own description';
comment on column organisation.parent_key is
    'number_key of the organisation that it is a branch of, as its register says';
comment on column organisation.source is 'data set that lists it; null: entered by hand';
comment on column organisation.activities is 'by tag, the rule that assigned it';
comment on column organisation.search_place is 'words of the place: ASCII, lower case, separated by single spaces';
comment on column organisation.same_as is
    'the same organisation in another register, whose record represents both; null: none';
comment on column organisation.succeeded_by is 'its final successor after mergers and new registrations';
comment on column organisation.status_override is 'why it is inactive although its register may list it';

-- The record that represents others does not point to another one itself.
create function check_same_organisation() returns trigger language plpgsql as $$
declare
    one organisation;
    principal organisation;
begin
    select * into one from organisation where id = new.id;
    if one.same_as is null then
        return null;
    end if;
    select * into principal from organisation where id = one.same_as;
    if principal.same_as is not null or exists (select from organisation where same_as = new.id) then
        raise exception 'organisation % is the same as one that is itself the same as another', new.id
            using errcode = 'check_violation', constraint = 'organisation_same_is_principal';
    end if;
    if principal.registry_id = one.registry_id or not exists (
        select from register_link l
        where l.kind = 'same' and l.valid_to is null and l.registry_id = one.registry_id
            and l.number_key = one.number_key and not is_ambiguous(l)
    ) and not exists (
        select from register_link l
        where l.kind = 'same' and l.valid_to is null and l.to_registry_id = one.registry_id
            and l.to_number_key = one.number_key and not is_ambiguous(l)
    ) then
        raise exception 'organisation % is the same as another on no or ambiguous evidence', new.id
            using errcode = 'check_violation', constraint = 'organisation_same_is_certain';
    end if;
    return null;
end $$;
create constraint trigger organisation_same_is_principal after insert or update of same_as on organisation
    deferrable initially deferred for each row when (new.same_as is not null)
    execute function check_same_organisation();
grant select, insert, update on organisation to almoner_app;

-- What a load changed in a known organisation, so that its record on any date can be reconstructed. Append-only.
create table organisation_change (
    id bigint generated always as identity primary key,
    organisation_id uuid not null references organisation (id),
    load_id uuid not null references register_load (id) deferrable initially deferred,
    at timestamptz not null,
    field text not null,
    before jsonb,
    after jsonb,
    kind text check (kind in (
        'joined', 'parted', 'merged', 'reregistered', 'revoked', 'reinstated', 'terminated', 'branch'
    ))
);
create index organisation_change_organisation on organisation_change (organisation_id, id);
create index organisation_change_load on organisation_change (load_id, organisation_id);
-- Finds organisations that used to be branches of another.
create index organisation_change_left_branch on organisation_change (before) where field = 'branch_of';
comment on column organisation_change.at is 'date of the data that brought the change';
comment on column organisation_change.kind is 'what happened, where field and values alone do not say; null: they do';
grant select, insert on organisation_change to almoner_app;

-- How far partners have been notified of a load's changes. The row and the events of a batch are committed together.
create table organisation_change_notification (
    load_id uuid primary key references register_load (id) deferrable initially deferred,
    last_notified_id uuid,
    completed_at timestamptz
);
comment on column organisation_change_notification.last_notified_id is
    'last organisation whose followers were notified';
grant select, insert, update on organisation_change_notification to almoner_app;

create table organisation_branding (
    organisation_id uuid primary key references organisation (id),
    display_name text check (length(display_name) between 1 and 200),
    description text check (length(description) between 1 and 5000),
    logo text,
    images text[] not null default '{}' check (cardinality(images) <= 10),
    primary_color text check (primary_color ~ '^#[0-9a-f]{6}$')
);
comment on column organisation_branding.logo is 'key of media, as are images';
grant select, insert, update, delete on organisation_branding to almoner_app;

-- How an organisation wanted to be presented, and since when; never overwritten.
create table organisation_branding_change (
    id bigint generated always as identity primary key,
    organisation_id uuid not null references organisation (id),
    at timestamptz not null,
    display_name text,
    description text,
    logo text,
    images text[] not null
);
create index organisation_branding_change_organisation on organisation_branding_change (organisation_id, id);
comment on column organisation_branding_change.logo is 'key of media, which is deleted once it is no longer displayed';
grant select, insert on organisation_branding_change to almoner_app;

create table organisation_milestone (
    id uuid primary key,
    organisation_id uuid not null references organisation (id),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    reward text not null check (length(reward) between 1 and 500)
);
create index organisation_milestone_organisation on organisation_milestone (organisation_id, id);
grant select, insert, update, delete on organisation_milestone to almoner_app;

-- An organisation's distinct search terms: names as they are, places after @, description after #, initials of the name
-- after ~. The cost keeps the planner from evaluating it for every row when a word is common, and being parallel unsafe
-- keeps it from splitting the scan: results come from the index, always in the same order.
create function search_lexemes(name text, other text, place text, described text) returns tsvector
language plpgsql immutable strict cost 1000 as $$
declare
    words text[] := string_to_array(btrim(name), ' ');
    initials text := '';
    word text;
begin
    foreach word in array words loop
        if word <> all ('{a,and,at,for,in,inc,of,the,to}') then
            initials := initials || left(word, 1);
        end if;
    end loop;
    if other <> '' then
        words := words || string_to_array(btrim(other), ' ');
    end if;
    if place <> '' then
        words := words || string_to_array('@' || replace(place, ' ', ' @'), ' ');
    end if;
    if described <> '' then
        words := words || string_to_array('#' || replace(described, ' ', ' #'), ' ');
    end if;
    return array_to_tsvector(case when length(initials) < 3 then words else words || ('~' || initials) end);
end $$;

-- Search columns of an organisation, sixty rows to a page, so that thousands of results are counted and sorted in
-- milliseconds, which the wide table does not allow. Maintained by triggers only.
create table organisation_search (
    id uuid primary key,
    partner_id uuid,
    registry_id uuid not null,
    country_code char(3) not null,
    listed boolean not null,
    active boolean not null,
    usa_group_exempt boolean,
    kinds smallint not null,
    rank smallint not null,
    tag_ids uuid[] not null,
    name text collate "C" not null,
    other text collate "C" not null,
    place text collate "C" not null,
    described text collate "C" not null
);
create index organisation_search_name on organisation_search (name, rank, id);
create index organisation_search_words on organisation_search
    using gin (search_lexemes(name, other, place, described)) with (fastupdate = off);
create index organisation_search_foremost on organisation_search
    using gin (search_lexemes(name, other, place, described)) with (fastupdate = off)
    where rank <= 102;
create index organisation_search_registry on organisation_search (registry_id, id);
create index organisation_search_country on organisation_search (country_code, id);
create index organisation_search_inactive on organisation_search (id) where not active;
create index organisation_search_group_exempt on organisation_search (id) where usa_group_exempt;
create index organisation_search_kinds on organisation_search (kinds, id) where kinds <> 1;
create index organisation_search_tags on organisation_search using gin (tag_ids) where tag_ids <> '{}';
comment on column organisation_search.listed is
    'not represented by the record of the same organisation in another register';
comment on column organisation_search.kinds is 'types as bits: 1 nonprofit, 2 social_impact, 4 education';
comment on column organisation_search.rank is 'tie-breaker: active first, then central organisations, then larger ones';
grant select, insert, update on organisation_search to almoner_app;

-- A word and its variants with one letter deleted: words one edit apart share a variant. Numbers and short words have
-- none.
create function deletion_variants(word text) returns text[] language plpgsql immutable strict cost 1000 as $$
begin
    if length(word) not between 3 and 40 or word ~ '[0-9]' then
        return '{}';
    end if;
    return word || array(
        select left(word, place - 1) || substr(word, place + 1) from generate_series(1, length(word)) place
    );
end $$;

-- Distinct words of all names and places, in which misspelt query words are looked up.
create table organisation_search_term (
    word text collate "C" primary key,
    occurrences bigint not null
);
create index organisation_search_term_variants on organisation_search_term
    using gin (deletion_variants(word)) with (fastupdate = off);
create index organisation_search_term_trigrams on organisation_search_term
    using gin (word gin_trgm_ops) with (fastupdate = off);
comment on column organisation_search_term.occurrences is 'orders equally similar words';

-- Does right after a load what autovacuum would do a minute later, so that the first searches are fast: cleans up
-- pending index entries, and gathers statistics where a fiftieth of the rows changed; what less makes of it in the
-- course of time is left to autovacuum. The application's role does not own the tables and may do neither itself.
create function analyze_organisations(changed bigint) returns void language plpgsql security definer
set search_path = public, pg_temp as $$
begin
    perform gin_clean_pending_list('organisation_search_tags');
    if changed * 50 > (select greatest(reltuples, 0) from pg_class where oid = 'organisation'::regclass) then
        analyze organisation;
        analyze organisation_search;
        analyze organisation_search_term;
    end if;
end $$;

-- Loads the search tables and indexes into shared buffers if they fit, else into the operating system's cache; then
-- what result pages need, if everything fits into effective_cache_size. Returns the bytes read; 0 without the extension
-- pg_prewarm, which only an administrator can install. Runs as the owner, since not every version lets others read
-- indexes.
create function prewarm_search() returns bigint language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    parts regclass[] := array[
        'organisation_search_words', 'organisation_search_foremost', 'organisation_search_term',
        'organisation_search_term_pkey', 'organisation_search_term_variants', 'organisation_search_term_trigrams',
        'organisation_search', 'organisation_search_name'
    ];
    shown regclass[] := array[
        'organisation_pkey', 'organisation_same', 'organisation_branches', 'register_entry_current', 'organisation'
    ];
    part regclass;
    total bigint;
    further bigint;
    room bigint := pg_size_bytes(current_setting('shared_buffers')) / 4 * 3;
begin
    if to_regprocedure('pg_prewarm(regclass, text, text, bigint, bigint)') is null then
        return 0;
    end if;
    select sum(pg_relation_size(one)) into total from unnest(parts) one;
    foreach part in array parts loop
        execute 'select pg_prewarm($1, $2)' using part, case when total <= room then 'buffer' else 'read' end;
    end loop;
    select sum(pg_relation_size(one)) into further from unnest(shown) one;
    if total + further > pg_size_bytes(current_setting('effective_cache_size')) then
        return total;
    end if;
    foreach part in array shown loop
        execute 'select pg_prewarm($1, $2)' using part, 'read';
    end loop;
    return total + further;
end $$;
revoke all on function prewarm_search() from public;
grant execute on function prewarm_search() to almoner_app;

create function update_search_index() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into organisation_search
        select
            o.id, o.partner_id, o.registry_id, o.country_code, o.same_as is null, o.active, o.usa_group_exempt,
            (case when 'nonprofit' = any(o.types) then 1 else 0 end
                + case when 'social_impact' = any(o.types) then 2 else 0 end
                + case when 'education' = any(o.types) then 4 else 0 end)::smallint,
            (case when o.active then 0 else 200 end + case when o.is_branch_parent then 0 else 100 end
                + 9 - least(o.prominence, 9))::smallint,
            o.tag_ids, o.search_name,
            concat_ws(' ', nullif(o.search_other, ''), nullif(o.search_former, ''), nullif(o.search_shown, '')), o.search_place,
            concat_ws(' ', nullif(o.search_description, ''), nullif(o.search_shown_description, ''))
        from new_rows o;
        insert into organisation_search_term as known (word, occurrences)
        select word, count(*) from new_rows o
        cross join unnest(string_to_array(
            concat_ws(
                ' ', o.search_name, o.search_other, o.search_former, o.search_shown, o.search_place,
                o.search_description, o.search_shown_description
            ), ' '
        )) word
        where word <> '' group by word order by word
        on conflict (word) do update set occurrences = known.occurrences + excluded.occurrences;
        return null;
    end if;
    -- Planned anew each time: a plan kept from a change of one row would take hours for one of a million.
    execute $statement$
    update organisation_search s
    set (
        id, partner_id, registry_id, country_code, listed, active, usa_group_exempt, kinds, rank, tag_ids,
        name, other, place, described
    ) = (
        select
            o.id, o.partner_id, o.registry_id, o.country_code, o.same_as is null, o.active, o.usa_group_exempt,
            (case when 'nonprofit' = any(o.types) then 1 else 0 end
                + case when 'social_impact' = any(o.types) then 2 else 0 end
                + case when 'education' = any(o.types) then 4 else 0 end)::smallint,
            (case when o.active then 0 else 200 end + case when o.is_branch_parent then 0 else 100 end
                + 9 - least(o.prominence, 9))::smallint,
            o.tag_ids, o.search_name,
            concat_ws(' ', nullif(o.search_other, ''), nullif(o.search_former, ''), nullif(o.search_shown, '')), o.search_place,
            concat_ws(' ', nullif(o.search_description, ''), nullif(o.search_shown_description, ''))
    )
    from new_rows o join old_rows b on b.id = o.id
    where s.id = o.id and (
        o.same_as, o.active, o.usa_group_exempt, o.types, o.is_branch_parent, o.prominence, o.tag_ids,
        o.search_name, o.search_other, o.search_former, o.search_shown, o.search_place,
        o.search_description, o.search_shown_description
    ) is distinct from (
        b.same_as, b.active, b.usa_group_exempt, b.types, b.is_branch_parent, b.prominence, b.tag_ids,
        b.search_name, b.search_other, b.search_former, b.search_shown, b.search_place,
        b.search_description, b.search_shown_description
    )
    $statement$;
    execute $statement$
    insert into organisation_search_term as known (word, occurrences)
    select word, sum(change) from (
        select
            concat_ws(
                ' ', o.search_name, o.search_other, o.search_former, o.search_shown, o.search_place,
                o.search_description, o.search_shown_description
            ) as after,
            concat_ws(
                ' ', b.search_name, b.search_other, b.search_former, b.search_shown, b.search_place,
                b.search_description, b.search_shown_description
            ) as before
        from new_rows o join old_rows b on b.id = o.id
    ) moved
    cross join lateral (
        select unnest(string_to_array(after, ' ')), 1 union all select unnest(string_to_array(before, ' ')), -1
    ) counted (word, change)
    where after <> before and word <> '' group by word having sum(change) <> 0 order by word
    on conflict (word) do update set occurrences = greatest(known.occurrences + excluded.occurrences, 0)
    $statement$;
    return null;
end $$;
create trigger organisation_search_insert after insert on organisation
    referencing new table as new_rows for each statement execute function update_search_index();
create trigger organisation_search_update after update on organisation
    referencing new table as new_rows old table as old_rows for each statement execute function update_search_index();
grant select, insert, update on organisation_search_term to almoner_app;

create table category (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    name text not null check (length(name) between 1 and 255),
    attributes jsonb check (jsonb_typeof(attributes) = 'object'),
    image_key text,
    created_at timestamptz not null,
    constraint category_name unique (partner_id, name),
    unique (partner_id, id)
);
grant select, insert, update, delete on category to almoner_app;

create table category_member (
    partner_id uuid not null,
    category_id uuid not null,
    organisation_id uuid not null references organisation (id),
    added_at timestamptz not null,
    primary key (category_id, organisation_id),
    foreign key (partner_id, category_id) references category (partner_id, id) on delete cascade
);
create index category_member_organisation on category_member (organisation_id, partner_id);
grant select, insert, update, delete on category_member to almoner_app;
