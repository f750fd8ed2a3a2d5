"""Drafts of the hosted form: what an applicant has answered so far, and to whom the form was handed over.

Revision ID: 0038
Revises: 0037
"""

from alembic import op

revision = "0038"
down_revision = "0037"

UPGRADE = """
create table application_draft (
    invite_id uuid primary key references validation_invite (id),
    partner_id uuid not null references partner (id),
    answers jsonb not null check (jsonb_typeof(answers) = 'object' and pg_column_size(answers) < 200000),
    created_at timestamptz not null,
    updated_at timestamptz not null,
    expires_at timestamptz not null
);
comment on column application_draft.answers is 'step by step; gone once the application is sent, or its invite expires';
create index application_draft_due on application_draft (expires_at);

create trigger application_draft_promise before update on application_draft for each row
    when ((old.invite_id, old.partner_id, old.created_at, old.expires_at) is distinct from
              (new.invite_id, new.partner_id, new.created_at, new.expires_at))
    execute function guard_promise();

create table application_handover (
    id uuid primary key,
    invite_id uuid not null references validation_invite (id),
    email text not null check (length(email) between 3 and 255),
    sent_at timestamptz not null,
    expires_at timestamptz not null
);
comment on column application_handover.sent_at is 'real time: limits go by it';
create index application_handover_of on application_handover (invite_id);
create index application_handover_to on application_handover (lower(email), sent_at);
create index application_handover_due on application_handover (expires_at);

grant select, insert, update, delete on application_draft to almoner_app;
grant select, insert, delete on application_handover to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
