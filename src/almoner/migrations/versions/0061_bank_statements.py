"""Statements of our bank accounts, line by line.

Revision ID: 0061
Revises: 0060
"""

from alembic import op

revision = "0061"
down_revision = "0060"

UPGRADE = """
create table bank_statement (
    id uuid primary key,
    account text not null check (length(account) between 1 and 60),
    reference text not null check (length(reference) between 1 and 60),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    opening_minor bigint,
    closing_minor bigint,
    sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
    lines integer not null check (lines >= 0),
    imported_by text not null check (length(imported_by) between 1 and 255),
    imported_at timestamptz not null,
    unique (account, reference),
    check ((opening_minor is null) = (closing_minor is null))
);

-- One movement of an account; below zero it left. A matched line names exactly what it is the movement of.
create table bank_line (
    id uuid primary key,
    statement_id uuid not null references bank_statement (id),
    position integer not null check (position >= 1),
    account text not null check (length(account) between 1 and 60),
    booked_on date not null,
    amount_minor bigint not null check (amount_minor <> 0 and abs(amount_minor) <= 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    bank_reference text not null check (length(bank_reference) between 1 and 140),
    end_to_end_id text check (length(end_to_end_id) between 1 and 35),
    counterparty text check (length(counterparty) between 1 and 140),
    words text check (length(words) between 1 and 1000),
    return_reason text check (length(return_reason) between 1 and 400),
    status text not null check (status in ('open', 'matched', 'dismissed')),
    reason text check (reason in (
        'unknown', 'seen_before', 'other_amount', 'other_currency', 'other_state', 'ambiguous', 'matched_before'
    )),
    matched_as text check (matched_as in ('request', 'settlement', 'payout', 'payout_return')),
    request_payment_id uuid references request_payment (id),
    settlement_id uuid references settlement (id),
    disbursement_id uuid references disbursement (id),
    decided_by text check (length(decided_by) between 1 and 255),
    note text check (length(note) between 1 and 2000),
    created_at timestamptz not null,
    status_changed_at timestamptz not null,
    unique (statement_id, position),
    constraint bank_line_states check (
        (status = 'open') = (reason is not null) and (status = 'matched') = (matched_as is not null)
        and (status = 'open') = (decided_by is null) and (status <> 'dismissed' or note is not null)
    ),
    constraint bank_line_matched check (
        (matched_as is not distinct from 'request') = (request_payment_id is not null)
        and (matched_as is not distinct from 'settlement') = (settlement_id is not null)
        and coalesce(matched_as in ('payout', 'payout_return'), false) = (disbursement_id is not null)
    )
);
create index bank_line_open on bank_line (id) where status = 'open';
create index bank_line_of_account on bank_line (account, bank_reference);
-- One movement of the bank for each of ours.
create unique index bank_line_of_settlement on bank_line (settlement_id) where settlement_id is not null;
create unique index bank_line_of_payment on bank_line (request_payment_id) where request_payment_id is not null;
create unique index bank_line_of_payout on bank_line (disbursement_id, matched_as) where disbursement_id is not null;

insert into lifecycle_move (resource, from_status, to_status) values
    ('bank_line', 'open', 'matched'),
    ('bank_line', 'open', 'dismissed');
create trigger bank_line_status before update of status on bank_line for each row
    when (old.status is distinct from new.status) execute function guard_status('bank_line');
-- What the bank said stays as it was said.
create trigger bank_line_promise before update on bank_line for each row
    when (old.status <> 'open'
          or (old.id, old.statement_id, old.position, old.account, old.booked_on, old.amount_minor, old.currency,
              old.bank_reference, old.end_to_end_id, old.return_reason, old.created_at)
          is distinct from
          (new.id, new.statement_id, new.position, new.account, new.booked_on, new.amount_minor, new.currency,
           new.bank_reference, new.end_to_end_id, new.return_reason, new.created_at))
    execute function guard_promise();

grant select, insert on bank_statement to almoner_app;
grant select, insert, update on bank_line to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
