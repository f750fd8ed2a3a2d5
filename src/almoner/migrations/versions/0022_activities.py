"""Activity tags of organisations, and the rule that gave each.

Revision ID: 0022
Revises: 0021
"""

from alembic import op

revision = "0022"
down_revision = "0021"

UPGRADE = """
-- Rules change with a version of Almoner, not with data: going through all bodies by them is written down as a load
-- that no file came with, so that the history of a body says when and by which rules its activities changed.
create table activity_application (
    id uuid primary key,
    version text not null,
    begun_at timestamptz not null,
    done_at timestamptz,
    bodies integer not null default 0 check (bodies >= 0),
    changed integer not null default 0 check (changed >= 0 and changed <= bodies)
);
comment on column activity_application.version is 'of the tags and of the rules';
comment on column activity_application.done_at is 'when the last body was gone through; null: interrupted or going on';

grant select, insert, update on activity_application to almoner_app;
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(UPGRADE)
