"""When the provider says that a payment succeeded.

Revision ID: r0012
Revises: r0011
"""

from alembic import op

revision = "r0012"
down_revision = "r0011"

# An interruption leaves some of it, so all are repeated.
STATEMENTS = (
    "alter table payment add column if not exists succeeded_at timestamptz",
    """
comment on column payment.succeeded_at is
    'when the provider says that it succeeded; null: unknown or not plausible, and our own time counts'
""",
    "alter table payment drop constraint if exists payment_success",
    "alter table payment add constraint payment_success check (succeeded_at >= created_at) not valid",
    "alter table payment validate constraint payment_success",
    # Version 0.1.0 leaves it null.
    "drop trigger if exists payment_success_immutable on payment",
    """
create trigger payment_success_immutable before update on payment for each row
    when (old.succeeded_at is distinct from new.succeeded_at
          and (old.status = 'succeeded' or new.status <> 'succeeded' or new.succeeded_at > new.status_changed_at))
    execute function guard_immutable()
""",
)


def upgrade() -> None:
    with op.get_context().autocommit_block():
        for statement in STATEMENTS:
            op.execute(statement)


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
