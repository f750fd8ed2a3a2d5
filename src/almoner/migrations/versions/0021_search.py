"""What search at millions of bodies needs: a narrow table with one index of words, and slips of known words.

Revision ID: 0021
Revises: 0020
"""

from alembic import op

revision = "0021"
down_revision = "0020"

PROJECTED = """
    o.id, o.partner_id, o.registry_id, o.country_code, {listed}, o.active, o.usa_group_exempt,
    (case when 'nonprofit' = any(o.types) then 1 else 0 end
        + case when 'social_impact' = any(o.types) then 2 else 0 end
        + case when 'education' = any(o.types) then 4 else 0 end)::smallint,
    (case when o.active then 0 else 200 end + case when o.is_branch_parent then 0 else 100 end
        + 9 - least(o.prominence, 9))::smallint,
    o.tag_ids, o.search_name, o.search_other, o.search_place, o.search_description
"""
TOLD = "concat_ws(' ', {0}.search_name, {0}.search_other, {0}.search_place, {0}.search_description)"
BEFORE_LINKS = PROJECTED.format(listed="true")
NOW = PROJECTED.format(listed="o.same_as is null")

UPGRADE = f"""
-- What search reads of an organisation, sixty to a page: thousands of results are counted and ordered in milliseconds,
-- which the wide table cannot. Triggers keep it; nothing else writes it.
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
comment on column organisation_search.listed is 'not the same body as another, whose record answers for it';
comment on column organisation_search.kinds is 'types as bits: 1 nonprofit, 2 social_impact, 4 education';
comment on column organisation_search.rank is 'orders equals: active before not, central before not, the larger first';

-- The words of a body, each once: of its names bare, of its place after @, of its description after #, the initials of
-- its name after ~. Its price keeps the planner from working it out for every row where a word is common, and being
-- unsafe in parallel keeps it from sharing them out: results are found by index, always in the same order.
create function search_lexemes(name text, other text, place text, described text) returns tsvector
language plpgsql immutable strict cost 1000 as $$
declare
    words text[] := string_to_array(btrim(name), ' ');
    initials text := '';
    word text;
begin
    foreach word in array words loop
        if word <> all ('{{a,and,at,for,in,inc,of,the,to}}') then
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

-- A word and what is left when any one letter is left out: two words one slip apart have one of these in common.
-- Numbers and short words are taken as they stand.
create function word_slips(word text) returns text[] language plpgsql immutable strict cost 1000 as $$
begin
    if length(word) not between 3 and 40 or word ~ '[0-9]' then
        return '{{}}';
    end if;
    return word || array(
        select left(word, place - 1) || substr(word, place + 1) from generate_series(1, length(word)) place
    );
end $$;

insert into organisation_search select {BEFORE_LINKS} from organisation o;

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
create index organisation_search_tags on organisation_search using gin (tag_ids) where tag_ids <> '{{}}';

drop index
    organisation_name, organisation_name_trigrams, organisation_words, organisation_description_words,
    organisation_country, organisation_inactive, organisation_group_exempt, organisation_types, organisation_tags;

truncate organisation_word;
alter table organisation_word alter column n type bigint;
comment on column organisation_word.n is 'how often names and places have the word; orders equally similar words';
drop index organisation_word_trigrams;

create function search_learned() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into organisation_search select {NOW} from new_rows o;
        insert into organisation_word as known (word, n)
        select word, count(*) from new_rows o
        cross join unnest(string_to_array({TOLD.format("o")}, ' ')) word
        where word <> '' group by word order by word
        on conflict (word) do update set n = known.n + excluded.n;
        return null;
    end if;
    -- Planned anew each time: a plan kept from a change of one row would take hours for one of a million.
    execute $statement$
    update organisation_search s
    set (
        id, partner_id, registry_id, country_code, listed, active, usa_group_exempt, kinds, rank, tag_ids,
        name, other, place, described
    ) = (select {NOW})
    from new_rows o join old_rows b on b.id = o.id
    where s.id = o.id and (
        o.same_as, o.active, o.usa_group_exempt, o.types, o.is_branch_parent, o.prominence, o.tag_ids,
        o.search_name, o.search_other, o.search_place, o.search_description
    ) is distinct from (
        b.same_as, b.active, b.usa_group_exempt, b.types, b.is_branch_parent, b.prominence, b.tag_ids,
        b.search_name, b.search_other, b.search_place, b.search_description
    )
    $statement$;
    execute $statement$
    insert into organisation_word as known (word, n)
    select word, sum(change) from (
        select {TOLD.format("o")} as after, {TOLD.format("b")} as before
        from new_rows o join old_rows b on b.id = o.id
    ) moved
    cross join lateral (
        select unnest(string_to_array(after, ' ')), 1 union all select unnest(string_to_array(before, ' ')), -1
    ) counted (word, change)
    where after <> before and word <> '' group by word having sum(change) <> 0 order by word
    on conflict (word) do update set n = greatest(known.n + excluded.n, 0)
    $statement$;
    return null;
end $$;
create trigger search_learns_new after insert on organisation
    referencing new table as new_rows for each statement execute function search_learned();
create trigger search_learns_changed after update on organisation
    referencing new table as new_rows old table as old_rows for each statement execute function search_learned();

insert into organisation_word (word, n)
select word, count(*) from organisation_search
cross join unnest(string_to_array(concat_ws(' ', name, other, place, described), ' ')) word
where word <> '' group by word;
create index organisation_word_slips on organisation_word using gin (word_slips(word)) with (fastupdate = off);
create index organisation_word_trigrams on organisation_word using gin (word gin_trgm_ops) with (fastupdate = off);

drop function word_vector(text);
create or replace function settle_organisations() returns void language plpgsql security definer
set search_path = public, pg_temp as $$
begin
    perform gin_clean_pending_list('organisation_search_tags');
    analyze organisation;
    analyze organisation_search;
    analyze organisation_word;
end $$;

grant select, insert, update on organisation_search to almoner_app;
"""


def upgrade() -> None:
    """Create the table, fill it, and keep it by triggers."""
    op.execute(UPGRADE)
