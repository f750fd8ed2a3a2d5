"""The form of version 0.1.0, one file for each subject.

Revision ID: r0001
Revises:
"""

from pathlib import Path

from alembic import op

revision = "r0001"
down_revision = None

BASELINE = Path(__file__).parents[1] / "baseline"


def upgrade() -> None:
    """Run the files of ``baseline`` in the order of their numbers, in one transaction."""
    for file in sorted(BASELINE.glob("*.sql")):
        op.execute(file.read_text(encoding="utf-8"))


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
