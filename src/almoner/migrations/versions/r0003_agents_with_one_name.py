"""Agents who have a single name.

Revision ID: r0003
Revises: r0002
"""

from alembic import op

revision = "r0003"
down_revision = "r0002"

UPGRADE = """
-- One of the two names may be empty. Version 0.1.0 stores none that is empty, and shows it as it is.
alter table agent_verification
    drop constraint agent_verification_first_name_check,
    drop constraint agent_verification_last_name_check,
    add constraint agent_verification_first_name_check check (length(first_name) <= 255),
    add constraint agent_verification_last_name_check check (length(last_name) <= 255),
    add constraint agent_verification_has_name check (first_name <> '' or last_name <> '');
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
