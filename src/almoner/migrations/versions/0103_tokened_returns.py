"""Payments whose donors come back by a token.

Revision ID: 0103
Revises: 0101
"""

from alembic import op

revision = "0103"
down_revision = "0101"

UPGRADE = """
alter table payment add column tokened boolean not null default false;
comment on column payment.tokened is
    'whether the return addresses that the provider was given name the payment by a token; false for those that a '
    'version before began, so that asking the provider again asks for the same';
"""


def upgrade() -> None:
    """One column more."""
    op.execute(UPGRADE)
