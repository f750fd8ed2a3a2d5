"""What a line of our bank may be the payout of is found among the providers' reports, not among all donors' transfers.

Revision ID: 0083
Revises: 0081
"""

from alembic import op

revision = "0083"
down_revision = "0081"

UPGRADE = """
create index settlement_of_providers on settlement (settled_on) where provider <> 'bank_transfer';
"""


def upgrade() -> None:
    """Create the index."""
    op.execute(UPGRADE)
