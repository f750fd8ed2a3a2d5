"""What a check rested on may count no more: a flag, which goes when there is evidence again.

Revision ID: 0094
Revises: 0093
"""

from alembic import op

revision = "0094"
down_revision = "0093"

UP = """
alter table monetary_donation_flag drop constraint monetary_donation_flag_kind_check,
    add constraint monetary_donation_flag_kind_check check (
        kind in (
            'register_removed', 'register_renamed', 'new_match', 'payee_changed', 'holder_differs', 'evidence_expired'
        )
    );
"""


def upgrade() -> None:
    """One kind more."""
    op.execute(UP)
