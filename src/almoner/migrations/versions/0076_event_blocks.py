"""Numbered events are counted by the block, so that lists by type or time add up instead of reading all.

Revision ID: 0076
Revises: 0075
"""

from alembic import op

revision = "0076"
down_revision = "0075"

UPGRADE = """
-- How many events of a type are among 5,000 in a row, and when the first and the last of all of these were made.
-- block: of sequence block * 5000 + 1 and those after it. What is left of a block as events are removed is not in it.
create table event_block (
    partner_id uuid not null,
    block bigint not null check (block >= 0),
    type text not null,
    n integer not null check (n between 1 and 5000),
    first_at timestamptz not null,
    last_at timestamptz not null,
    primary key (partner_id, block, type)
);
-- Up to which sequence events are in blocks; a sweep goes on from there, and readers count what comes after.
alter table event_counter add column blocked bigint not null default 0
    constraint event_counter_blocked check (blocked between 0 and last_sequence and blocked % 5000 = 0);
grant select, insert, delete on event_block to almoner_app;

-- Counted from its index alone, which answers for vacuumed pages.
alter table webhook_delivery
    set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(UPGRADE)
