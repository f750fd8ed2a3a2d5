"""Groups of members; a group may stand for a role.

Revision ID: 0017
Revises: 0016
"""

from alembic import op

revision = "0017"
down_revision = "0016"

UPGRADE = """
-- profile: a Group of RFC 7643 without id, meta, members. role: what its members may do; null: nothing by itself.
create table member_group (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    profile jsonb not null check (jsonb_typeof(profile) = 'object'),
    display_name text collate "C" generated always as (folded(profile ->> 'displayName')) stored not null,
    external_id text collate "C" generated always as (normalize(profile ->> 'externalId')) stored,
    role text check (role in ('owner', 'developer', 'reviewer', 'finance', 'read_only')),
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint member_group_partner unique (partner_id, id)
);
create index member_group_name on member_group (partner_id, display_name);
create index member_group_external_id on member_group (partner_id, external_id) where external_id is not null;
create index member_group_created on member_group (partner_id, created_at, id);
create index member_group_updated on member_group (partner_id, updated_at, id);

-- The primary key makes adding a member twice the same as once.
create table member_group_member (
    partner_id uuid not null,
    group_id uuid not null,
    person_id uuid not null,
    added_at timestamptz not null,
    primary key (group_id, person_id),
    foreign key (partner_id, group_id) references member_group (partner_id, id) on delete cascade,
    foreign key (partner_id, person_id) references person (realm, id) on delete cascade
);
create index member_group_role on member_group (partner_id, role) where role is not null;
create index person_role_given on person_role (realm, role);
create index member_group_of_person on member_group_member (person_id, group_id);

grant select, insert, update, delete on member_group, member_group_member to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
