"""What a quarantined register load would change, and indexes for lists of the console.

Revision ID: r0010
Revises: r0009
"""

from alembic import op

revision = "r0010"
down_revision = "r0009"

# An interruption leaves an index invalid, so all are repeated.
STATEMENTS = (
    "alter table register_load add column if not exists differences jsonb",
    "alter table register_load drop constraint if exists register_load_differences_check",
    """
alter table register_load add constraint register_load_differences_check
    check (differences is null or status = 'quarantined') not valid
""",
    "alter table register_load validate constraint register_load_differences_check",
    """
comment on column register_load.differences is
    'what a quarantined load would change: counts, and the first numbers of each kind with their old and new values'
""",
    "drop index concurrently if exists donation_request_with_status",
    "create index concurrently donation_request_with_status on donation_request (status, id)",
    "drop index concurrently if exists receipt_donee_to_approve",
    """
create index concurrently receipt_donee_to_approve on receipt_donee (id)
    where approved_at is null and ended_at is null
""",
)


def upgrade() -> None:
    with op.get_context().autocommit_block():
        for statement in STATEMENTS:
            op.execute(statement)


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
