"""Categories: a partner's collections of organisations.

Revision ID: 0002
Revises: 0001a
"""

from alembic import op

revision = "0002"
down_revision = "0001a"

UPGRADE = """
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

-- organisation_id gets its foreign key with the table organisation.
create table category_member (
    partner_id uuid not null,
    category_id uuid not null,
    organisation_id uuid not null,
    added_at timestamptz not null,
    primary key (category_id, organisation_id),
    foreign key (partner_id, category_id) references category (partner_id, id) on delete cascade
);
create index category_member_organisation on category_member (organisation_id, partner_id);

grant select, insert, update, delete on category, category_member to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
