"""Registers fetched on a schedule.

Revision ID: 0024
Revises: 0023
"""

from alembic import op

revision = "0024"
down_revision = "0023"

UPGRADE = """
-- Where the files of a load were fetched from, as their servers said.
create table register_fetch (
    load_id uuid not null references register_load (id) deferrable initially deferred,
    position smallint not null,
    url text not null,
    name text not null,
    etag text,
    last_modified timestamptz,
    retrieved_at timestamptz not null,
    sha256 bytea not null check (length(sha256) = 32),
    bytes bigint not null check (bytes > 0),
    primary key (load_id, position)
);
comment on column register_fetch.last_modified is 'the publisher''s date';
comment on column register_fetch.sha256 is 'of the bytes as sent';

-- Sources that refresh themselves, as the schedule of the deployment says, and how the last try went.
create table register_refresh (
    source text primary key,
    every interval not null check (every >= interval '1 hour'),
    due_at timestamptz not null,
    tried_at timestamptz,
    status text check (status in ('loaded', 'unchanged', 'quarantined', 'failed')),
    failures integer not null default 0 check (failures >= 0),
    reason text,
    load_id uuid references register_load (id),
    check ((status = 'failed') = (failures > 0)),
    check ((tried_at is null) = (status is null))
);

alter table register_source add column greatest_age interval;
comment on column register_source.greatest_age is 'what the deployment allows; older data is told of by the self-check';

-- Refreshes share one place: two large loads at once would only slow each other down.
insert into queue_lane (lane, cap) values ('registers', 1);

alter table organisation_branding
    add check (length(display_name) between 1 and 200),
    add check (length(description) between 1 and 5000),
    add check (cardinality(images) <= 10);
comment on column organisation_branding.logo is 'key of media, as are images';

-- A mapping may declare a register that is not known here; what one is called is never changed.
alter table registry
    add check (code ~ '^[A-Z][A-Z0-9-]{1,19}$'),
    add check (length(name) between 1 and 200 and length(english_name) between 1 and 200);
revoke update on registry from almoner_app;
grant insert, update (data_as_of) on registry to almoner_app;

grant select, insert on register_fetch to almoner_app;
grant select, insert, update, delete on register_refresh to almoner_app;
"""


def upgrade() -> None:
    """Change the tables."""
    op.execute(UPGRADE)
