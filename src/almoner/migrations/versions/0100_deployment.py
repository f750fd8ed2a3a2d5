"""Which deployment a database is, and the mark of it on what it keeps outside.

Revision ID: 0100
Revises: 0099
"""

from alembic import op

revision = "0100"
down_revision = "0099"

UPGRADE = """
-- The first process that starts writes the row: what is copied before that is nobody's copy.
create table deployment (
    one boolean primary key default true check (one),
    id uuid not null,
    owns text[] not null,
    generation bigint not null,
    recent uuid[] not null check (cardinality(recent) between 1 and 64),
    raised_at timestamptz not null,
    written_by bigint not null,
    system_identifier bigint not null,
    database_oid bigint not null,
    server_started_at timestamptz not null,
    timeline bigint not null,
    places text[] not null check (cardinality(places) between 1 and 64),
    claimed_at timestamptz not null,
    copied_at timestamptz,
    copied text,
    check (num_nonnulls(copied_at, copied) in (0, 2))
);
comment on column deployment.owns is 'marks of the blobs that are its own; empty: those that bear none';
comment on column deployment.generation is 'raised every few seconds, here first and then in the storage of documents';
comment on column deployment.recent is 'the random values of the last generations, the newest last';
-- Whatever writes the row anew must set it: an ALTER TABLE that rewrites the table would make every database a copy.
comment on column deployment.written_by is 'the transaction that wrote the row: after a dump it is not its xmin';
comment on column deployment.places is 'where the server was reached: address, or folder of an embedded one';
comment on column deployment.copied is 'why it is taken for a copy; it does nothing outside until it is released';
grant select, insert, update, delete on deployment to almoner_app;

create table document_trash (storage_key text primary key, trashed_on date not null);
comment on table document_trash is 'what the sweep found without a document, and put into the trash of the storage';
grant select, insert, delete on document_trash to almoner_app;

-- A key ends with the mark of the deployment that stored the blob; those of before have none.
alter table document drop constraint document_storage_key_check,
    add constraint document_storage_key_check check (storage_key ~ '^[0-9a-z]{26}([0-9a-z]{8})?$') not valid;
alter table document validate constraint document_storage_key_check;
"""


def upgrade() -> None:
    """Two tables more, and a wider form of keys."""
    op.execute(UPGRADE)
