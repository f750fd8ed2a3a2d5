"""A line of our bank confirms payouts of released files alone: statements are imported by one person.

Revision ID: 0072
Revises: 0071
"""

from alembic import op

revision = "0072"
down_revision = "0071"

UPGRADE = """
-- unconfirmed: it is the transfer of a payout that people have yet to confirm.
alter table bank_line
    drop constraint bank_line_reason_check,
    add constraint bank_line_reason_check check (reason in (
        'unknown', 'seen_before', 'other_amount', 'other_currency', 'other_state', 'ambiguous', 'matched_before',
        'refused', 'unconfirmed'
    ));

-- Nothing is PAID because one person says so, or imports a file that says so: it went in a file that was released, or
-- people confirmed this very amount.
create or replace function guard_payout_paid() returns trigger language plpgsql as $$
begin
    if not exists (
        select from bank_file_payment p join bank_file f on f.id = p.file_id
        where p.disbursement_id = new.id and p.live and f.status = 'released'
    ) and not exists (
        select from payout_confirmation where disbursement_id = new.id and amount_minor = new.amount_minor
    ) then
        raise exception 'nothing tells that payout % was paid', new.id
            using errcode = 'check_violation', constraint = 'disbursement_confirmed';
    end if;
    return new;
end $$;
"""


def upgrade() -> None:
    """Change the constraint and the function."""
    op.execute(UPGRADE)
