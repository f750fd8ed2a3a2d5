"""A file is released with payouts that stay SENT meanwhile.

Revision ID: 0081
Revises: 0079
"""

from alembic import op

revision = "0081"
down_revision = "0079"

UPGRADE = """
-- Whoever returns a payout of the file, or confirms it by hand, comes before the release or after it. Triggers go by
-- their names: this one comes before those that look at the payouts.
create function hold_bank_file_payouts() returns trigger language plpgsql as $$
begin
    perform from disbursement d join bank_file_payment p on p.disbursement_id = d.id
    where p.file_id = new.id and p.live order by d.id for share of d;
    return new;
end $$;
create trigger bank_file_held before update of status on bank_file for each row
    when (old.status = 'made' and new.status = 'released') execute function hold_bank_file_payouts();
"""


def upgrade() -> None:
    """Create the trigger."""
    op.execute(UPGRADE)
