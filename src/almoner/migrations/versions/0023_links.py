"""Bodies in several registers, mergers, re-registrations, and who is told of changes.

Revision ID: 0023
Revises: 0022
"""

from alembic import op

revision = "0023"
down_revision = "0022"

UPGRADE = """
-- What a source says that two numbers have to do with each other, and since when it says so; never overwritten.
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
    ended_by uuid references register_load (id) deferrable initially deferred,
    check ((valid_to is null) = (ended_by is null)),
    check (registry_id <> to_registry_id or number_key <> to_number_key)
);
create unique index register_link_standing
    on register_link (source, kind, registry_id, number_key, to_registry_id, to_number_key) where valid_to is null;
create index register_link_same on register_link (registry_id, number_key) where kind = 'same' and valid_to is null;
create index register_link_same_to on register_link (to_registry_id, to_number_key)
    where kind = 'same' and valid_to is null;
create index register_link_of_load on register_link (load_id);
create index register_link_ended_by on register_link (ended_by) where ended_by is not null;
comment on column register_link.at is 'when it happened, where the source says so';
comment on column register_link.valid_from is 'day of the data that brought it';
comment on column register_link.valid_to is 'day of the data that ended it; null while it stands';

-- Whether a number is said to be one body with more than one number of another register.
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
-- Whether a link is no evidence that two numbers are one body: one of them has other partners in the same register.
create function is_ambiguous(link register_link) returns boolean language sql stable as $$
    select link.registry_id = link.to_registry_id
        or is_one_of_several(link.registry_id, link.number_key, link.to_registry_id)
        or is_one_of_several(link.to_registry_id, link.to_number_key, link.registry_id)
$$;

alter table register_load add column ambiguous integer not null default 0 check (ambiguous >= 0);
comment on column register_load.ambiguous is 'links of its source that join nothing, since others contradict them';

alter table organisation
    add column same_as uuid references organisation (id),
    add column succeeded_by uuid references organisation (id),
    add column overruled text check (overruled in ('revoked', 'terminated', 'merged', 'reregistered')),
    add constraint organisation_is_not_its_own check (same_as <> id and succeeded_by <> id and branch_of <> id),
    add constraint organisation_overruled_is_inactive check (overruled is null or not active),
    add constraint organisation_succeeded_is_overruled check (succeeded_by is null or overruled is not null),
    add constraint organisation_linked_is_published
        check (partner_id is null or (same_as is null and succeeded_by is null)),
    -- Two numbers of one register are two bodies. Held at the end, since principals change places.
    add constraint organisation_same exclude using btree (same_as with =, registry_id with =)
        where (same_as is not null) deferrable initially deferred;
create index organisation_overruled on organisation (registry_id) where overruled is not null;
comment on column organisation.same_as is
    'the same body in another register, whose record answers for both; null: its own';
comment on column organisation.succeeded_by is
    'what it became by a merger or a new registration, at the end of the chain';
comment on column organisation.overruled is 'why it is inactive though its register may list it';

-- The record that answers for others answers for itself.
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

alter table organisation_change add column kind text check (kind in (
    'joined', 'parted', 'merged', 'reregistered', 'revoked', 'reinstated', 'terminated', 'branch'
));
create index organisation_change_load on organisation_change (load_id, organisation_id);
comment on column organisation_change.kind is 'what happened where field and values alone do not tell; null: they do';

-- How far partners were told of what a load changed. The row and the events of a batch are one commit.
create table organisation_telling (
    load_id uuid primary key references register_load (id) deferrable initially deferred,
    told_to uuid,
    done_at timestamptz
);
comment on column organisation_telling.told_to is 'the last organisation whose followers were told';

-- Who gave to an organisation, of all partners.
create index donation_to_organisation on donation (organisation_id, partner_id);

grant select, insert, update on register_link, organisation_telling to almoner_app;
"""


def upgrade() -> None:
    """Change the tables."""
    op.execute(UPGRADE)
