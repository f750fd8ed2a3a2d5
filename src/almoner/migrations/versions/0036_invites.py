"""Validation invites: one-off links to the hosted form, open for seven days.

Revision ID: 0036
Revises: 0035
"""

from alembic import op

revision = "0036"
down_revision = "0035"

UPGRADE = """
create table validation_invite (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    configuration_id uuid,
    redirect_url text check (length(redirect_url) between 8 and 2048),
    language text not null check (length(language) between 2 and 35),
    metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    status text not null check (status in ('open', 'complete', 'expired')),
    created_at timestamptz not null,
    expires_at timestamptz not null,
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    foreign key (partner_id, configuration_id) references hosted_configuration (partner_id, id),
    constraint validation_invite_ends check (expires_at > created_at)
);
create index validation_invite_due on validation_invite (expires_at) where status = 'open';

insert into lifecycle_move (resource, from_status, to_status) values
    ('validation_invite', 'open', 'complete'),
    ('validation_invite', 'open', 'expired');

create trigger validation_invite_status before update of status on validation_invite for each row
    when (old.status is distinct from new.status) execute function guard_status('validation_invite');

-- What the applicant was promised stays.
create trigger validation_invite_promise before update on validation_invite for each row
    when ((old.id, old.partner_id, old.language, old.created_at, old.expires_at) is distinct from
              (new.id, new.partner_id, new.language, new.created_at, new.expires_at)
          or old.configuration_id is distinct from new.configuration_id
          or old.redirect_url is distinct from new.redirect_url)
    execute function guard_promise();

grant select, insert, update on validation_invite to almoner_app;
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(UPGRADE)
