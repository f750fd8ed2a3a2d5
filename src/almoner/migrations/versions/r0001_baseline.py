"""The schema of version 0.1.0, one file for each subject.

Revision ID: r0001 and a hash of these files
Revises:
"""

from alembic import op

from almoner.migrations import BASELINE, BASELINE_REVISION

revision = BASELINE_REVISION
down_revision = None


def upgrade() -> None:
    """Run the files of ``baseline`` in the order of their numbers, in one transaction."""
    for file in BASELINE:
        op.execute(file.read_text(encoding="utf-8"))


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
