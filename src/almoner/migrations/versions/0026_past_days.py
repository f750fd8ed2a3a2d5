"""Links by part, what a source calls quiet, and brandings and branches of past days.

Revision ID: 0026
Revises: 0024
"""

from alembic import op

revision = "0026"
down_revision = "0024"

UPGRADE = """
-- What one file of several says of links ends nothing that another says.
alter table register_link add column part text not null default 'all';
alter table register_link alter column part drop default;
drop index register_link_standing;
create unique index register_link_standing
    on register_link (source, part, kind, registry_id, number_key, to_registry_id, to_number_key)
    where valid_to is null;
comment on column register_link.part is 'what a file of the source replaces';

-- Which records were ever said to be one body is asked too: for the sources of a day that is past.
drop index register_link_same, register_link_same_to;
create index register_link_same on register_link (registry_id, number_key) where kind = 'same';
create index register_link_same_to on register_link (to_registry_id, to_number_key) where kind = 'same';

alter table register_source add column quiet text[] not null default '{}';
comment on column register_source.quiet is 'facts that move without the body having changed, as its reader says';

-- How an organisation wished to be shown, and since when; never overwritten. What was set before is dated by the last
-- change of its record.
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
comment on column organisation_branding_change.logo is 'key of media, which is kept only while it is shown';
insert into organisation_branding_change (organisation_id, at, display_name, description, logo, images)
select b.organisation_id, o.updated_at, b.display_name, b.description, b.logo, b.images
from organisation_branding b join organisation o on o.id = b.organisation_id;

-- Which bodies were branches of another and are no more.
create index organisation_change_left_branch on organisation_change (before) where field = 'branch_of';

grant select, insert on organisation_branding_change to almoner_app;
"""


def upgrade() -> None:
    """Change the tables."""
    op.execute(UPGRADE)
