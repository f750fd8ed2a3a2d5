-- Settlements: providers' reports of what they paid out to us.

-- A provider's report of a payout to our bank account.
create table settlement (
    id uuid primary key,
    provider text not null check (provider ~ '^[a-z0-9_]{1,40}$'),
    reference text not null check (length(reference) between 1 and 100),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    settled_on date not null,
    sha256 bytea not null check (length(sha256) = 32),
    lines integer not null check (lines > 0),
    imported_at timestamptz not null,
    constraint settlement_once unique (provider, reference),
    unique (id, provider, currency)
);
create index settlement_of_providers on settlement (settled_on) where provider <> 'bank_transfer';
grant select, insert on settlement to almoner_app;

-- gross and net are signed as in the report: refunds are negative.
-- dispute, dispute_won: lines that debit a disputed payment, and that return it.
-- provider_refund: tells several refunds of one payment apart; '' where the line names none.
-- waived_fee_minor: the part of the fee that the donation does not bear because it was refunded.
create table settlement_line (
    id uuid primary key,
    settlement_id uuid not null,
    provider text not null,
    currency char(3) not null,
    kind text not null check (kind in ('payment', 'refund', 'dispute', 'dispute_won')),
    provider_payment text not null check (length(provider_payment) between 1 and 255),
    gross_minor bigint not null check (gross_minor between -9007199254740991 and 9007199254740991),
    fee_minor bigint not null check (fee_minor between 0 and 9007199254740991),
    net_minor bigint not null,
    status text not null check (status in ('exception', 'matched', 'cleared')),
    reason text check (reason in (
        'unknown_payment', 'not_paid', 'not_refunded', 'other_amount', 'other_currency', 'dismissed', 'settled_before',
        'not_disputed', 'not_won'
    )),
    payment_id uuid references payment (id),
    unallocated_payment_id uuid references unallocated_payment (id),
    created_at timestamptz not null,
    checked_at timestamptz not null,
    cleared_by text check (length(cleared_by) between 1 and 255),
    note text check (length(note) between 1 and 2000),
    status_changed_at timestamptz not null,
    provider_refund text not null default '' check (length(provider_refund) <= 255),
    refund_id uuid references refund (id),
    waived_fee_minor bigint not null default 0,
    dispute_id uuid references dispute (id),
    foreign key (settlement_id, provider, currency) references settlement (id, provider, currency),
    constraint settlement_line_net check (net_minor = gross_minor - fee_minor),
    constraint settlement_line_cleared check (
        (status = 'cleared') = (cleared_by is not null) and (status = 'cleared') = (note is not null)
    ),
    constraint settlement_line_waived_fee check (
        waived_fee_minor between 0 and fee_minor and (waived_fee_minor = 0 or payment_id is not null)
    ),
    constraint settlement_line_once unique (settlement_id, provider_payment, kind, provider_refund),
    constraint settlement_line_signs check (
        case kind when 'payment' then gross_minor > 0 and net_minor >= 0
                  when 'dispute_won' then gross_minor > 0 else gross_minor < 0 end
    ),
    constraint settlement_line_refund check (kind <> 'payment' or provider_refund = ''),
    constraint settlement_line_matched check (
        (status = 'matched') = (reason is null)
        and (status = 'matched') = (num_nonnulls(payment_id, unallocated_payment_id, refund_id, dispute_id) = 1)
        and (kind = 'payment' or payment_id is null) and (kind = 'refund' or refund_id is null)
        and (kind in ('dispute', 'dispute_won') or dispute_id is null)
    )
);
create unique index settlement_line_payment on settlement_line (payment_id) where payment_id is not null;
create unique index settlement_line_of_unallocated on settlement_line (unallocated_payment_id, kind)
    where unallocated_payment_id is not null;
create index settlement_line_exceptions on settlement_line (checked_at) where status = 'exception';
-- Whatever reports say, a payment is settled once and a refund debited once.
create unique index settlement_line_of_refund on settlement_line (refund_id) where refund_id is not null;
create unique index settlement_line_counted on settlement_line (provider, provider_payment, kind)
    where status = 'matched' and refund_id is null and dispute_id is null;
create unique index settlement_line_of_dispute on settlement_line (dispute_id, kind) where dispute_id is not null;
create index settlement_line_debited on settlement_line (provider, provider_payment, kind)
    where status = 'matched' and (refund_id is not null or dispute_id is not null);
insert into lifecycle_transition (resource, from_status, to_status) values
    ('settlement_line', 'exception', 'matched'),
    ('settlement_line', 'exception', 'cleared');
create trigger settlement_line_status before update of status on settlement_line for each row
    when (old.status is distinct from new.status) execute function guard_status('settlement_line');
-- Reported values do not change.
create trigger settlement_line_immutable before update on settlement_line for each row
    when (old.status <> 'exception'
          or (old.id, old.settlement_id, old.kind, old.provider_payment, old.gross_minor, old.fee_minor,
              old.provider_refund)
              is distinct from
             (new.id, new.settlement_id, new.kind, new.provider_payment, new.gross_minor, new.fee_minor,
              new.provider_refund))
    execute function guard_immutable();
grant select, insert, update on settlement_line to almoner_app;

create table settlement_report_check (
    provider text primary key,
    checked_at timestamptz not null
);
comment on table settlement_report_check is 'when a provider with payout reports was last polled';
grant select, insert, update on settlement_report_check to almoner_app;

-- An officer's explanation why a provider payout never arrived as reported, such as a reversal or a bank fee.
create table settlement_explanation (
    settlement_id uuid primary key references settlement (id),
    note text not null check (length(note) between 1 and 2000),
    explained_by text not null check (length(explained_by) between 1 and 255),
    explained_at timestamptz not null
);
create trigger settlement_explanation_append_only before update or delete or truncate on settlement_explanation
    for each statement execute function guard_append_only();
grant select, insert on settlement_explanation to almoner_app;
