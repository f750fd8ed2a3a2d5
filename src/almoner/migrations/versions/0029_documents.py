"""Documents that partners hand in.

Revision ID: 0029
Revises: 0028
"""

from alembic import op

revision = "0029"
down_revision = "0028"

UPGRADE = """
-- What was handed in. Its bytes lie sealed in the storage of the deployment, under a key that says nothing.
create table document (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    media_type text not null check (media_type in ('image/jpeg', 'image/png', 'application/pdf')),
    size_bytes integer not null check (size_bytes > 0),
    sha256 bytea not null check (length(sha256) = 32),
    storage_key text not null unique check (storage_key ~ '^[0-9a-z]{26}$'),
    flags text[] not null check (array_position(flags, null) is null),
    status text not null check (status in ('pending_scan', 'clean', 'rejected')),
    status_changed_at timestamptz not null,
    threat text check (length(threat) between 1 and 255),
    created_at timestamptz not null,
    deleted_at timestamptz,
    removed_at timestamptz,
    verified_at timestamptz,
    lost_at timestamptz,
    unique (partner_id, id),
    constraint document_threat check ((status = 'rejected') = (threat is not null)),
    constraint document_removed check (removed_at is null or deleted_at is not null or status = 'rejected')
);
comment on column document.size_bytes is 'of what is kept: an image is written anew';
comment on column document.sha256 is 'of what is kept, before it is sealed';
comment on column document.threat is 'what the scanner found';
comment on column document.removed_at is 'when its bytes were removed from the storage';
comment on column document.verified_at is 'when its bytes were last read and were those of sha256';
comment on column document.lost_at is 'when its bytes were first missing or others';
create index document_of_partner on document (partner_id, created_at);
create index document_pending on document (created_at) where status = 'pending_scan';
create index document_to_verify on document (verified_at nulls first) where removed_at is null;

insert into lifecycle_move (resource, from_status, to_status) values
    ('document', 'pending_scan', 'clean'),
    ('document', 'pending_scan', 'rejected');
create trigger document_status before update of status on document for each row
    when (old.status is distinct from new.status) execute function guard_status('document');
create trigger document_promise before update on document for each row
    when ((old.id, old.partner_id, old.media_type, old.size_bytes, old.sha256, old.storage_key, old.flags,
           old.created_at) is distinct from
              (new.id, new.partner_id, new.media_type, new.size_bytes, new.sha256, new.storage_key, new.flags,
               new.created_at)
          or (old.deleted_at is not null and old.deleted_at is distinct from new.deleted_at))
    execute function guard_promise();

grant select, insert, update on document to almoner_app;
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(UPGRADE)
