"""Nonprofit data: registries, organisations, register loads with their provenance, and what search needs.

Revision ID: 0003
Revises: 0002
"""

from alembic import op

revision = "0003"
down_revision = "0002"

UPGRADE = """
create extension if not exists pg_trgm;

create table registry (
    id uuid primary key,
    code text not null unique,
    name text not null,
    english_name text not null,
    country_code char(3) not null check (country_code ~ '^[A-Z]{3}$'),
    data_as_of timestamptz
);
create index registry_country on registry (country_code);
comment on column registry.data_as_of is 'day of the newest data loaded; null: not loaded';

create table register_load (
    id uuid primary key,
    registry_id uuid not null references registry (id),
    source text not null,
    data_as_of timestamptz not null,
    loaded_at timestamptz not null,
    rows integer not null check (rows > 0),
    added integer not null check (added >= 0),
    changed integer not null check (changed >= 0),
    gone integer not null check (gone >= 0),
    quarantined integer not null check (quarantined >= 0),
    forced boolean not null
);
create index register_load_registry on register_load (registry_id, id);

create table register_file (
    load_id uuid not null references register_load (id),
    position smallint not null,
    name text not null,
    sha256 bytea not null check (length(sha256) = 32),
    bytes bigint not null,
    parts text[] not null,
    rows integer not null check (rows >= 0),
    quarantined integer not null check (quarantined >= 0),
    primary key (load_id, position)
);
create index register_file_sha256 on register_file (sha256);

-- A register may come in several files: a part (for the IRS, a state) is the unit that a load replaces.
create table register_part (
    registry_id uuid not null references registry (id),
    part text not null,
    load_id uuid not null references register_load (id),
    data_as_of timestamptz not null,
    rows integer not null check (rows >= 0),
    primary key (registry_id, part)
);

create table register_quarantine (
    id bigint generated always as identity primary key,
    load_id uuid not null references register_load (id),
    file_name text not null,
    line integer not null,
    reason text not null,
    content text not null
);
create index register_quarantine_load on register_quarantine (load_id, id);

-- The words of a text as stored (ASCII, one blank between). Its price keeps the planner from working it out for every
-- row where a word is common, and being unsafe in parallel keeps it from sharing them out: results are found by index,
-- always in the same order.
create function word_vector(words text) returns tsvector language plpgsql immutable strict cost 1000 as $$
begin
    return array_to_tsvector(string_to_array(btrim(words), ' '));
end $$;

create table organisation (
    id uuid primary key,
    partner_id uuid references partner (id),
    registry_id uuid not null references registry (id),
    registry_number text not null check (registry_number <> ''),
    number_key text collate "C" not null check (number_key <> ''),
    part text,
    name text not null check (name <> ''),
    display_name text,
    other_name text,
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
    created_at timestamptz not null,
    updated_at timestamptz not null
);
comment on column organisation.partner_id is 'seen by this partner alone; null: published';
comment on column organisation.registry_number is 'as the register writes it';
comment on column organisation.number_key is 'what all spellings of the number have in common';
comment on column organisation.group_key is 'joins a central body and its subordinates';
comment on column organisation.prominence is 'size band; orders results that match equally well';
comment on column organisation.first_seen is 'day of the data in which the register first had it here';
comment on column organisation.last_seen is 'day of the data in which it was last listed; null while it is';
comment on column organisation.search_name is 'words of the name: ASCII, lower case, one blank between';

create unique index organisation_number on organisation (number_key, registry_id) where partner_id is null;
create unique index organisation_own_number on organisation (partner_id, registry_id, number_key)
    where partner_id is not null;
create index organisation_name on organisation (search_name, id);
create index organisation_name_trigrams on organisation using gin (search_name gin_trgm_ops);
create index organisation_words on organisation
    using gin (word_vector(search_name || ' ' || search_other));
create index organisation_description_words on organisation
    using gin (word_vector(search_description)) where search_description <> '';
create index organisation_country on organisation (country_code, id);
create index organisation_inactive on organisation (id) where not active;
create index organisation_group_exempt on organisation (id) where usa_group_exempt;
create index organisation_types on organisation using gin (types);
create index organisation_tags on organisation using gin (tag_ids) where tag_ids <> '{}';
create index organisation_central on organisation (registry_id, group_key) where is_branch_parent;
create index organisation_branches on organisation (branch_of) where branch_of is not null;

-- What a load changed in a body that was known: the record as it stood on a day follows from it. Only ever added to.
create table organisation_change (
    id bigint generated always as identity primary key,
    organisation_id uuid not null references organisation (id),
    load_id uuid not null references register_load (id) deferrable initially deferred,
    at timestamptz not null,
    field text not null,
    before jsonb,
    after jsonb
);
create index organisation_change_organisation on organisation_change (organisation_id, id);
comment on column organisation_change.at is 'day of the data that brought the change';

-- The distinct words of all names: a query's misspelt word is looked up here, not in the names.
create table organisation_word (
    word text collate "C" primary key,
    n integer not null
);
create index organisation_word_trigrams on organisation_word using gin (word gin_trgm_ops);
comment on column organisation_word.n is 'names with the word in the largest load so far; orders equally similar words';

create table organisation_branding (
    organisation_id uuid primary key references organisation (id),
    display_name text,
    description text,
    logo text,
    images text[] not null default '{}',
    primary_color text check (primary_color ~ '^#[0-9a-f]{6}$')
);

create table organisation_milestone (
    id uuid primary key,
    organisation_id uuid not null references organisation (id),
    amount bigint not null check (amount between 1 and 9007199254740991),
    currency_code char(3) not null check (currency_code ~ '^[A-Z]{3}$'),
    reward text not null check (length(reward) between 1 and 500)
);
create index organisation_milestone_organisation on organisation_milestone (organisation_id, id);

-- What autovacuum would do a minute after a load, so that the first searches are fast too: empty the indexes' lists of
-- pending entries, and gather statistics. The application's role does not own the tables and may do neither itself.
create function settle_organisations() returns void language plpgsql security definer
set search_path = public, pg_temp as $$
begin
    perform gin_clean_pending_list(gin::regclass) from unnest(array[
        'organisation_name_trigrams', 'organisation_words', 'organisation_description_words', 'organisation_types',
        'organisation_tags', 'organisation_word_trigrams'
    ]) gin;
    analyze organisation;
    analyze organisation_word;
end $$;

alter table category_member add foreign key (organisation_id) references organisation (id);

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

grant select, update on registry to almoner_app;
grant select, insert on register_load, register_file, register_quarantine, organisation_change to almoner_app;
grant select, insert, update on register_part, organisation, organisation_word to almoner_app;
grant select, insert, update, delete on organisation_branding, organisation_milestone to almoner_app;
"""


def upgrade() -> None:
    """Create the tables and enter the registries."""
    op.execute(UPGRADE)
