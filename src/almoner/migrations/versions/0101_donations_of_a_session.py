"""The donations of a session are found by it, also those that were cancelled.

Revision ID: 0101
Revises: 0100
"""

from alembic import op

revision = "0101"
down_revision = "0100"


def upgrade() -> None:
    """One index more, built while donations are made."""
    with op.get_context().autocommit_block():
        op.execute("drop index concurrently if exists donation_of_session")  # of a build that was broken off
        op.execute(
            "create index concurrently donation_of_session on donation (session_id, id) where session_id is not null"
        )
