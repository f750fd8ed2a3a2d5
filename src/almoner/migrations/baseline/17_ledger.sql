-- The ledger.

-- Double entry (M1-M3). key identifies an account by a single index lookup; balances are written only by the trigger
-- below. Liabilities and amounts in transit never become negative.
-- request_clearing: paid by partners and not yet allocated to a whole donation.
-- disputed: debited by banks and possibly returned; an asset, never negative.
create table ledger_account (
    id bigint generated always as identity primary key,
    kind text not null check (kind in (
        'provider_clearing', 'donation_liability', 'fees', 'disbursement_in_transit', 'bank', 'suspense', 'refunds',
        'request_clearing', 'disputed'
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
        (kind in ('provider_clearing', 'fees', 'suspense', 'refunds', 'disputed')) = (provider is not null)
        and (kind in ('donation_liability', 'disbursement_in_transit')) = (organisation_id is not null)
    ),
    constraint ledger_account_not_negative check (case
        when kind in ('provider_clearing', 'bank', 'fees') then true
        when kind = 'disputed' then debits_minor >= credits_minor
        else credits_minor >= debits_minor end
    )
) with (fillfactor = 50);
create trigger ledger_account_no_delete before delete or truncate on ledger_account
    for each statement execute function guard_append_only();
-- key is generated and cannot be written: the grant only allows locking accounts in order.
grant select, insert (kind, currency, provider, organisation_id), update (key) on ledger_account to almoner_app;

-- owner_id is the record that caused the transfer (its table follows from kind); each is posted once.
create table ledger_transfer (
    id bigint generated always as identity primary key,
    kind text not null check (kind in (
        'payment_received', 'payment_unallocated', 'settled', 'provider_fee', 'fee_charged', 'disbursement_sent',
        'disbursement_paid', 'disbursement_returned', 'disbursement_reversed', 'reassigned',
        'unallocated_refund_started', 'unallocated_refund_sent', 'refund_settled', 'unallocated_written_off',
        'unallocated_applied', 'request_paid', 'request_overpaid', 'request_allocated', 'overpayment_returned',
        'overpayment_applied', 'donation_refund_started', 'donation_refund_fee_covered', 'donation_refund_sent',
        'donation_refund_reversed', 'donation_refund_fee_restored', 'dispute_debited', 'dispute_returned',
        'dispute_lost', 'dispute_absorbed', 'dispute_recovered', 'dispute_settled', 'dispute_won_settled'
    )),
    owner_id uuid not null,
    debit_account_id bigint not null,
    credit_account_id bigint not null,
    currency char(3) not null,
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    posted_at timestamptz not null,
    constraint ledger_transfer_once unique (owner_id, kind),
    constraint ledger_transfer_two_accounts check (debit_account_id <> credit_account_id),
    foreign key (debit_account_id, currency) references ledger_account (id, currency),
    foreign key (credit_account_id, currency) references ledger_account (id, currency)
);
create index ledger_transfer_debit on ledger_transfer (debit_account_id, id);
create index ledger_transfer_credit on ledger_transfer (credit_account_id, id);
-- Transfers are stored in the order in which they are posted, or nearly.
create index ledger_transfer_month on ledger_transfer using brin (posted_at);

-- Updates the lower id first, so that concurrent postings between the same accounts cannot deadlock.
create function post_balances() returns trigger language plpgsql security definer set search_path = public as $$
begin
    if new.debit_account_id < new.credit_account_id then
        update ledger_account set debits_minor = debits_minor + new.amount_minor where id = new.debit_account_id;
        update ledger_account set credits_minor = credits_minor + new.amount_minor where id = new.credit_account_id;
    else
        update ledger_account set credits_minor = credits_minor + new.amount_minor where id = new.credit_account_id;
        update ledger_account set debits_minor = debits_minor + new.amount_minor where id = new.debit_account_id;
    end if;
    return null;
end $$;
create trigger ledger_transfer_balances after insert on ledger_transfer for each row execute function post_balances();
-- Errors are corrected by a reversing transfer.
create trigger ledger_transfer_append_only before update or delete or truncate on ledger_transfer
    for each statement execute function guard_append_only();
grant select, insert on ledger_transfer to almoner_app;
