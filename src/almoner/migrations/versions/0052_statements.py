"""Reassignments say on what ground; links to statements are mailed; the gifts of one donor are found.

Revision ID: 0052
Revises: 0051
"""

from alembic import op

revision = "0052"
down_revision = "0051"

UPGRADE = """
alter table reassignment add column ground text
    check (ground in ('failed_compliance', 'payment_impossible', 'merged'));
comment on column reassignment.ground is 'what the donor is told of the reason; none: before it was asked for';

-- A link to a statement was mailed to the donor of a gift. Only ever added to.
create table statement_link (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    donation_id uuid not null references donation (id),
    mailed_at timestamptz not null
);
comment on column statement_link.mailed_at is 'real time: limits go by it';
create index statement_link_of_gift on statement_link (donation_id, mailed_at);
grant select, insert on statement_link to almoner_app;

create index donation_of_donor on donation (partner_id, lower(email), id)
    where email is not null and payment_id is not null;
"""


def upgrade() -> None:
    """Create the column, the table and the indexes."""
    op.execute(UPGRADE)
