"""Disputes: what a donor's bank wants back of a paid gift, and the test provider's side of it.

Revision ID: 0050
Revises: 0049
"""

from alembic import op

revision = "0050"
down_revision = "0049"

UPGRADE = """
-- The test provider: a payment is disputed once; what is still to open has its moment in the future.
create table provider_test.dispute (
    id text primary key check (id ~ '^tpd_[0-9a-f]{32}$'),
    payment_id text not null unique references provider_test.payment (id),
    amount bigint not null check (amount >= 0),
    currency char(3) not null,
    status text not null check (status in ('open', 'won', 'lost')),
    reason text not null,
    opened_at timestamptz not null,
    decided_at timestamptz,
    check ((status = 'open') = (decided_at is null))
);
grant select, insert, update on provider_test.dispute to almoner_app;
alter table provider_test.callback drop constraint callback_type_check;
alter table provider_test.callback add constraint callback_type_check check (type in (
    'payment.attempt_failed', 'payment.succeeded', 'payment.failed', 'payment.cancelled', 'payment.disputed',
    'dispute.opened', 'dispute.won', 'dispute.lost'
));

-- A dispute of a payment that paid a donation, or of held money. opened_at, reason: its provider's. decided_by null:
-- its provider told how it ended. borne_minor: what of a lost one no gift bore.
create table dispute (
    id uuid primary key,
    provider text not null check (provider ~ '^[a-z0-9_]{1,40}$'),
    provider_payment text not null check (length(provider_payment) between 1 and 255),
    provider_dispute text not null check (length(provider_dispute) between 1 and 255),
    donation_id uuid references donation (id),
    held_payment_id uuid references held_payment (id),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    status text not null check (status in ('open', 'won', 'lost')),
    reason text not null check (length(reason) between 1 and 255),
    opened_at timestamptz not null,
    learnt_at timestamptz not null,
    looked_at timestamptz not null,
    decided_at timestamptz,
    decided_by text check (length(decided_by) between 1 and 255),
    note text check (length(note) between 1 and 2000),
    borne_minor bigint,
    paid_out boolean not null default false,
    recovered_minor bigint,
    status_changed_at timestamptz not null,
    constraint dispute_once unique (provider, provider_dispute),
    constraint dispute_of_one check (num_nonnulls(donation_id, held_payment_id) = 1),
    constraint dispute_decided check (
        (status = 'open') = (decided_at is null) and (decided_by is null) = (note is null)
        and (decided_by is null or decided_at is not null)
        and (status = 'lost') = (borne_minor is not null) and borne_minor between 0 and amount_minor
        and (not paid_out or (status = 'lost' and donation_id is not null))
        and (recovered_minor is null or (paid_out and recovered_minor between 0 and borne_minor))
    )
);
comment on column dispute.paid_out is 'a payout had been sent with the gift when it was lost';
comment on column dispute.recovered_minor is 'what a payout that came back has brought back to us';
create index dispute_of_payment on dispute (provider, provider_payment, id);
create index dispute_of_donation on dispute (donation_id, id) where donation_id is not null;
create index dispute_with_status on dispute (status, id);
create index dispute_unlooked on dispute (looked_at) where status = 'open';

insert into lifecycle_move (resource, from_status, to_status) values
    ('dispute', 'open', 'won'),
    ('dispute', 'open', 'lost');
create trigger dispute_status before update of status on dispute for each row
    when (old.status is distinct from new.status) execute function guard_status('dispute');
create trigger dispute_promise before update on dispute for each row
    when ((old.id, old.provider, old.provider_payment, old.provider_dispute, old.amount_minor, old.currency,
           old.opened_at, old.learnt_at) is distinct from
          (new.id, new.provider, new.provider_payment, new.provider_dispute, new.amount_minor, new.currency,
           new.opened_at, new.learnt_at)
          or (old.donation_id, old.held_payment_id) is distinct from (new.donation_id, new.held_payment_id)
          or (old.status <> 'open' and (old.decided_at, old.decided_by, old.note, old.borne_minor, old.paid_out)
              is distinct from (new.decided_at, new.decided_by, new.note, new.borne_minor, new.paid_out))
          or (old.recovered_minor is not null and old.recovered_minor is distinct from new.recovered_minor))
    execute function guard_promise();

-- A gift is disputed while a dispute of it is open. A lost one counts as refunded, and is withdrawn from what is owed
-- unless a payout was sent with the gift: then it is once that came back.
create function count_dispute() returns trigger language plpgsql as $$
begin
    update donation set
        disputed_at = case when new.status = 'open' then coalesce(disputed_at, new.learnt_at)
            when exists (select from dispute d where d.donation_id = new.donation_id and d.status = 'open')
            then disputed_at end,
        refunded_minor = refunded_minor + case new.status when 'lost' then new.amount_minor else 0 end,
        refunded_at = case new.status when 'lost' then new.decided_at else refunded_at end,
        withdrawn_minor = withdrawn_minor
            + case when new.status = 'lost' and not new.paid_out then new.amount_minor else 0 end
    where id = new.donation_id and currency = new.currency and status in ('RECEIVED_PAYMENT', 'DISBURSED');
    if not found then
        raise exception 'dispute % does not go with donation %', new.id, new.donation_id
            using errcode = 'check_violation', constraint = 'dispute_of_gift';
    end if;
    return null;
end $$;
create trigger dispute_counts after insert on dispute for each row
    when (new.donation_id is not null) execute function count_dispute();
create trigger dispute_counts_end after update of status on dispute for each row
    when (new.donation_id is not null and old.status is distinct from new.status) execute function count_dispute();
create function recover_dispute() returns trigger language plpgsql as $$
begin
    update donation set withdrawn_minor = withdrawn_minor + new.amount_minor where id = new.donation_id;
    return null;
end $$;
create trigger dispute_recovers after update of recovered_minor on dispute for each row
    when (new.donation_id is not null and old.recovered_minor is null and new.recovered_minor is not null)
    execute function recover_dispute();

-- While its donor's bank wants it back, a gift goes to no other nonprofit; nor is a refund of it begun (count_refund).
create function guard_disputed() returns trigger language plpgsql as $$
begin
    raise exception 'donation % is disputed and stays where it is', new.id
        using errcode = 'check_violation', constraint = 'donation_disputed';
end $$;
create trigger donation_disputed before update on donation for each row
    when (old.disputed_at is not null and new.disputed_at is not null
          and old.organisation_id is distinct from new.organisation_id)
    execute function guard_disputed();

-- The lines of reports that draw a disputed payment, and that give it back.
alter table settlement_line
    add column dispute_id uuid references dispute (id),
    drop constraint settlement_line_kind_check,
    add constraint settlement_line_kind_check check (kind in ('payment', 'refund', 'dispute', 'dispute_won')),
    drop constraint settlement_line_reason_check,
    add constraint settlement_line_reason_check check (reason in (
        'unknown_payment', 'not_paid', 'not_refunded', 'other_amount', 'other_currency', 'dismissed', 'settled_before',
        'not_disputed', 'not_won'
    )),
    drop constraint settlement_line_signs,
    add constraint settlement_line_signs check (
        case kind when 'payment' then gross_minor > 0 and net_minor >= 0
                  when 'dispute_won' then gross_minor > 0 else gross_minor < 0 end
    ),
    drop constraint settlement_line_refund,
    add constraint settlement_line_refund check (kind <> 'payment' or provider_refund = ''),
    drop constraint settlement_line_matched,
    add constraint settlement_line_matched check (
        (status = 'matched') = (reason is null)
        and (status = 'matched') = (num_nonnulls(payment_id, held_payment_id, refund_id, dispute_id) = 1)
        and (kind = 'payment' or payment_id is null) and (kind = 'refund' or refund_id is null)
        and (kind in ('dispute', 'dispute_won') or dispute_id is null)
    );
drop index settlement_line_counted;
create unique index settlement_line_counted on settlement_line (provider, provider_payment, kind)
    where status = 'matched' and refund_id is null and dispute_id is null;
create unique index settlement_line_of_dispute on settlement_line (dispute_id, kind) where dispute_id is not null;

-- What banks have drawn from providers and may give back: an asset, never below nothing.
alter table ledger_account
    drop constraint ledger_account_kind_check,
    add constraint ledger_account_kind_check check (kind in (
        'provider_clearing', 'donation_liability', 'fees', 'payout_in_transit', 'bank', 'suspense', 'refunds',
        'request_clearing', 'disputed'
    )),
    drop constraint ledger_account_owner,
    add constraint ledger_account_owner check (
        (kind in ('provider_clearing', 'fees', 'suspense', 'refunds', 'disputed')) = (provider is not null)
        and (kind in ('donation_liability', 'payout_in_transit')) = (organisation_id is not null)
    ),
    drop constraint ledger_account_covered,
    add constraint ledger_account_covered check (case
        when kind in ('provider_clearing', 'bank', 'fees') then true
        when kind = 'disputed' then debits_minor >= credits_minor
        else credits_minor >= debits_minor end
    );
alter table ledger_transfer
    drop constraint ledger_transfer_kind_check,
    add constraint ledger_transfer_kind_check check (kind in (
        'payment_received', 'payment_held', 'settled', 'provider_fee', 'fee_charged', 'payout_sent', 'payout_paid',
        'payout_returned', 'payout_undone', 'reassigned', 'refund_begun', 'refund_paid', 'refund_settled',
        'held_dismissed', 'request_paid', 'request_over', 'request_covered', 'over_returned',
        'gift_refund_begun', 'gift_refund_topped_up', 'gift_refund_sent', 'gift_refund_undone', 'gift_refund_untopped',
        'dispute_drawn', 'dispute_returned', 'dispute_lost', 'dispute_borne', 'dispute_recovered', 'dispute_settled',
        'dispute_won_settled'
    ));

grant select, insert on dispute to almoner_app;
grant update (status, status_changed_at, looked_at, decided_at, decided_by, note, borne_minor, paid_out,
    recovered_minor)
    on dispute to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
