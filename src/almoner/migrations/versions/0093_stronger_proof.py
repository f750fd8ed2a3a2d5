"""No payout comes back against our bank's own statement, and no file is released after its day.

Revision ID: 0093
Revises: 0092
"""

from alembic import op

revision = "0093"
down_revision = "0092"

UP = """
create function guard_payout_left() returns trigger language plpgsql as $$
begin
    if exists (select from bank_line where disbursement_id = new.id and matched_as = 'payout')
       and not exists (select from bank_line where disbursement_id = new.id and matched_as = 'payout_return') then
        raise exception 'payout % has left by a line of our bank, and no line tells of its return', new.id
            using errcode = 'check_violation', constraint = 'disbursement_left';
    end if;
    return new;
end $$;
create trigger disbursement_left before update of status on disbursement for each row
    when (old.status <> 'RETURNED' and new.status = 'RETURNED') execute function guard_payout_left();

-- A bank pays it on another day, or not at all. Of before: as they were.
alter table bank_file add constraint bank_file_in_time check (
    released_at is null or (released_at at time zone 'UTC')::date <= execute_on
) not valid;
"""


def upgrade() -> None:
    """Files and payouts of before stay as they are."""
    op.execute(UP)
