"""The sandbox's mailbox.

Revision ID: 0007
Revises: 0006
"""

from alembic import op

revision = "0007"
down_revision = "0006"

UPGRADE = """
create table sandbox_mail (
    id uuid primary key,
    partner_id uuid references partner (id),
    sender text not null,
    recipient text not null,
    subject text not null,
    text text not null,
    html text not null,
    links text[] not null,
    created_at timestamptz not null
);
create index sandbox_mail_partner on sandbox_mail (partner_id, id);

grant select, insert, delete on sandbox_mail to almoner_app;
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(UPGRADE)
