"""The ledger, and what becomes of money after it was received.

Revision ID: 0008
Revises: 0007
"""

from alembic import op

revision = "0008"
down_revision = "0007"

UPGRADE = """
-- What becomes of a gift after it was received. cover_minor: the part of the amount that the donor added for the fee.
alter table donation
    add column settled_at timestamptz,
    add column settled_minor bigint check (settled_minor between 0 and 9007199254740991),
    add column settled_currency char(3) check (settled_currency ~ '^[A-Z]{3}$'),
    add column disbursement_id uuid,
    add column disbursed_at timestamptz,
    add column reassigned_at timestamptz,
    add column reassigned_from uuid references organisation (id),
    add column cover_minor bigint not null default 0,
    add column message text check (length(message) between 1 and 500),
    add constraint donation_cover check (cover_minor >= 0 and cover_minor < amount_minor),
    add constraint donation_settled check (
        (settled_at is null) = (settled_minor is null) and (settled_at is null) = (settled_currency is null)
        and (settled_at is null or status in ('RECEIVED_PAYMENT', 'DISBURSED'))
    ),
    add constraint donation_disbursed check (
        (status = 'DISBURSED') = (disbursed_at is not null)
        and (status <> 'DISBURSED' or (settled_at is not null and disbursement_id is not null))
        and (disbursement_id is null or settled_at is not null)
    ),
    add constraint donation_reassigned check ((reassigned_at is null) = (reassigned_from is null));

-- What was settled stays as it is; a gift changes hands only while its money is here and in no payout.
create trigger donation_settlement before update on donation for each row
    when ((old.settled_at is not null and (old.settled_at, old.settled_minor, old.settled_currency) is distinct from
              (new.settled_at, new.settled_minor, new.settled_currency))
          or (old.organisation_id is distinct from new.organisation_id
              and (new.status <> 'RECEIVED_PAYMENT' or old.disbursement_id is not null))
          or (old.status not in ('ACTIVE', 'REQUESTED_PAYMENT')
              and (old.cover_minor, old.message) is distinct from (new.cover_minor, new.message)))
    execute function guard_promise();

-- Double entry (M1-M3). key names an account in a text, so that it is found by one index; its balances are written by
-- the trigger below alone. What we owe and what is on its way can never fall below nothing.
create table ledger_account (
    id bigint generated always as identity primary key,
    kind text not null check (kind in (
        'provider_clearing', 'donation_liability', 'fees', 'payout_in_transit', 'bank', 'suspense', 'refunds'
    )),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    provider text check (provider ~ '^[a-z0-9_]{1,40}$'),
    organisation_id uuid references organisation (id),
    key text not null generated always as (
        kind || ':' || currency::text || coalesce(':' || provider, '') || coalesce(':' || organisation_id::text, '')
    ) stored unique,
    debits_minor bigint not null default 0 check (debits_minor >= 0),
    credits_minor bigint not null default 0 check (credits_minor >= 0),
    unique (id, currency),
    constraint ledger_account_owner check (
        (kind in ('provider_clearing', 'fees', 'suspense', 'refunds')) = (provider is not null)
        and (kind in ('donation_liability', 'payout_in_transit')) = (organisation_id is not null)
    ),
    constraint ledger_account_covered check (
        kind in ('provider_clearing', 'bank', 'fees') or credits_minor >= debits_minor
    )
) with (fillfactor = 50);

-- owner_id is the row that moved (which table, the kind says); each of its moves is posted once.
create table ledger_transfer (
    id bigint generated always as identity primary key,
    kind text not null check (kind in (
        'payment_received', 'payment_held', 'settled', 'provider_fee', 'fee_charged', 'payout_sent', 'payout_paid',
        'payout_returned', 'payout_undone', 'reassigned', 'refund_begun', 'refund_paid', 'refund_settled',
        'held_dismissed'
    )),
    owner_id uuid not null,
    debit_account bigint not null,
    credit_account bigint not null,
    currency char(3) not null,
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    posted_at timestamptz not null,
    constraint ledger_transfer_once unique (owner_id, kind),
    constraint ledger_transfer_two_accounts check (debit_account <> credit_account),
    foreign key (debit_account, currency) references ledger_account (id, currency),
    foreign key (credit_account, currency) references ledger_account (id, currency)
);
create index ledger_transfer_debit on ledger_transfer (debit_account, id);
create index ledger_transfer_credit on ledger_transfer (credit_account, id);

-- The lower id first, so that two postings between the same accounts wait for each other and never deadlock.
create function post_balances() returns trigger language plpgsql security definer set search_path = public as $$
begin
    if new.debit_account < new.credit_account then
        update ledger_account set debits_minor = debits_minor + new.amount_minor where id = new.debit_account;
        update ledger_account set credits_minor = credits_minor + new.amount_minor where id = new.credit_account;
    else
        update ledger_account set credits_minor = credits_minor + new.amount_minor where id = new.credit_account;
        update ledger_account set debits_minor = debits_minor + new.amount_minor where id = new.debit_account;
    end if;
    return null;
end $$;
create trigger ledger_transfer_balances after insert on ledger_transfer for each row execute function post_balances();

-- A mistake is put right by another transfer.
create function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name
        using errcode = 'check_violation', constraint = tg_table_name || '_append_only';
end $$;
create trigger ledger_transfer_append_only before update or delete or truncate on ledger_transfer
    for each statement execute function refuse_change();
create trigger ledger_account_kept before delete or truncate on ledger_account
    for each statement execute function refuse_change();

grant select, insert on ledger_transfer to almoner_app;
-- key is generated and cannot be written: the grant only lets the service lock accounts in order.
grant select, insert (kind, currency, provider, organisation_id), update (key) on ledger_account to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
