"""What a load could not read, and whom it kept because of that.

Revision ID: 0104
Revises: 0103
"""

from alembic import op

revision = "0104"
down_revision = "0103"

UPGRADE = """
alter table register_load
    add column unread jsonb not null default '{}',
    add column notes text[] not null default '{}',
    add column kept integer not null default 0 check (kept >= 0);
comment on column register_load.unread is 'optional values that could not be read: rows and examples, by column';
comment on column register_load.notes is 'what the load says of its files that is no row: a table that is missing';
comment on column register_load.kept is 'numbers that stay as they were known, since their rows could not be read';
alter table register_reading_file add column unread jsonb not null default '{}';
comment on column register_reading_file.unread is 'as in register_load, of one file';
"""


def upgrade() -> None:
    """Three columns of loads, and one of readings."""
    op.execute(UPGRADE)
