"""${message}.

Revision ID: ${up_revision}
Revises: ${down_revision | comma,n}
"""

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}

# Locks are waited for at most 5 seconds and statements run at most 10 minutes (env.py). Build indexes of large tables
# CONCURRENTLY in a revision of their own; add columns without a rewrite; grant what the service needs.
UPGRADE = """
set local lock_timeout = '5s';
set local statement_timeout = '10min';
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
