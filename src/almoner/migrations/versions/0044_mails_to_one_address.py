"""How many confirmation mails went to one address is counted over all verifications.

Revision ID: 0044
Revises: 0043
"""

from alembic import op

revision = "0044"
down_revision = "0043"

UPGRADE = """
create index agent_verification_address on agent_verification (lower(email)) where email is not null;
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    op.execute("drop index agent_verification_address;")
