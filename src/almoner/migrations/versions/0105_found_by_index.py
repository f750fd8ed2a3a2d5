"""What ends, moves or was booked is found by an index, however large its table is.

Revision ID: 0105
Revises: 0104
"""

from alembic import op

revision = "0105"
down_revision = "0104"

INDEXES = {
    "sign_in_provided": "sign_in (realm) where method = 'provider' and ended_at is null",
    "organisation_succeeded": "organisation (id) where succeeded_by is not null",
    "settlement_line_drawn": """settlement_line (provider, provider_payment, kind)
        where status = 'matched' and (refund_id is not null or dispute_id is not null)""",
}


def upgrade() -> None:
    """Three indexes of few rows each, built while their tables are written."""
    with op.get_context().autocommit_block():
        for name, of in INDEXES.items():
            op.execute(f"drop index concurrently if exists {name}")  # of a build that was broken off
            op.execute(f"create index concurrently {name} on {of}")
