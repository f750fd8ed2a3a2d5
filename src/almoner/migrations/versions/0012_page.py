"""Branding of the hosted page.

Revision ID: 0012
Revises: 0011
"""

from alembic import op

revision = "0012"
down_revision = "0011"

UPGRADE = """
-- How the hosted page shows whose donors come: one colour, and a logo in media.
alter table partner
    add column brand_colour text check (brand_colour ~ '^#[0-9a-f]{6}$'),
    add column brand_logo text references media (key);
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
