"""What it rests on that a payout was paid: the bank's word, or people's, two of them above what one may say alone.

Revision ID: 0068
Revises: 0067
"""

from alembic import op

revision = "0068"
down_revision = "0067"

UPGRADE = """
-- Somebody says that our bank has paid a payout that no file of ours and no line of the bank tells of. alone_minor: up
-- to this one person says so. In the sandbox the run itself does. Only ever added to.
create table payout_confirmation (
    disbursement_id uuid primary key references disbursement (id),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    alone_minor bigint not null check (alone_minor >= 0),
    confirmed_by text not null check (length(confirmed_by) between 1 and 255),
    note text check (length(note) between 1 and 2000),
    second_by text check (length(second_by) between 1 and 255),
    second_note text check (length(second_note) between 1 and 2000),
    confirmed_at timestamptz not null,
    constraint payout_confirmation_seconded check (num_nonnulls(second_by, second_note) in (0, 2)),
    constraint payout_confirmation_two_people check (
        second_by <> confirmed_by
        and (second_by is not null or confirmed_by !~ '^(sandbox_)?operator_' or amount_minor <= alone_minor)
    )
);
create trigger payout_confirmation_append_only before update or delete or truncate on payout_confirmation
    for each statement execute function refuse_change();

-- Nothing is PAID because one statement says so: it went in a file that was released, the bank's own line tells of it,
-- or people confirmed this very amount.
create function guard_payout_paid() returns trigger language plpgsql as $$
begin
    if not exists (
        select from bank_file_payment p join bank_file f on f.id = p.file_id
        where p.disbursement_id = new.id and p.live and f.status = 'released'
    ) and not exists (
        select from bank_line where disbursement_id = new.id and matched_as = 'payout'
    ) and not exists (
        select from payout_confirmation where disbursement_id = new.id and amount_minor = new.amount_minor
    ) then
        raise exception 'nothing tells that payout % was paid', new.id
            using errcode = 'check_violation', constraint = 'disbursement_confirmed';
    end if;
    return new;
end $$;
create trigger disbursement_confirmed before update of status on disbursement for each row
    when (old.status = 'SENT' and new.status = 'PAID') execute function guard_payout_paid();

grant select, insert on payout_confirmation to almoner_app;
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(UPGRADE)
