"""Refunds of gifts that were counted.

Revision ID: 0049
Revises: 0048
"""

from alembic import op

revision = "0049"
down_revision = "0048"

UPGRADE = """
-- What goes back of a gift. withdrawn_minor: of refunds begun and sent, and of what a dispute has drawn.
-- refunded_minor: what is back with whoever paid. disputed_at: since when its donor's bank wants it back.
-- Owed to the nonprofit is what was settled, else the amount, less what was withdrawn; never less than nothing.
alter table donation
    add column withdrawn_minor bigint not null default 0,
    add column refunded_minor bigint not null default 0,
    add column refunded_at timestamptz,
    add column disputed_at timestamptz,
    add constraint donation_withdrawn check (
        withdrawn_minor between 0 and amount_minor
        and (withdrawn_minor = 0 or status in ('RECEIVED_PAYMENT', 'DISBURSED'))
    ),
    add constraint donation_refunded check (
        refunded_minor between 0 and amount_minor and (refunded_minor = 0) = (refunded_at is null)
        and (refunded_minor = 0 or status in ('RECEIVED_PAYMENT', 'DISBURSED'))
    );

-- A gift is paid out while none of it is on its way back, nobody disputes it, and something is left of it; what a fee
-- alone has eaten up is paid out with nothing.
drop index donation_payable;
create index donation_payable on donation (partner_id, organisation_id, settled_currency, id)
    where settled_at is not null and disbursement_id is null and disputed_at is null
      and withdrawn_minor = refunded_minor and (withdrawn_minor = 0 or withdrawn_minor < settled_minor);
create function guard_withdrawn() returns trigger language plpgsql as $$
begin
    raise exception 'donation % may not go back, or be paid out, as it stands', new.id
        using errcode = 'check_violation', constraint = 'donation_withdrawal';
end $$;
create trigger donation_withdrawal before update on donation for each row
    when ((old.withdrawn_minor <> new.withdrawn_minor
           and (new.status <> 'RECEIVED_PAYMENT' or old.disbursement_id is not null or new.disbursement_id is not null))
          or (new.disbursement_id is not null and old.disbursement_id is distinct from new.disbursement_id
              and (new.disputed_at is not null or new.withdrawn_minor <> new.refunded_minor
                   or (new.withdrawn_minor > 0 and new.withdrawn_minor >= new.settled_minor))))
    execute function guard_withdrawn();

-- A refund of a gift: begun before anybody is asked for it, then sent or refused. payment_id null: a direct gift, which
-- goes back to the partner by bank. borne_minor: what of it the nonprofit no longer gets; the rest is the provider's
-- fee, which is ours. given_back_minor: of a refused one, what the nonprofit gets again. begun_by null: the partner.
create table refund (
    id uuid primary key,
    donation_id uuid not null references donation (id),
    payment_id uuid references payment (id),
    provider text not null check (provider ~ '^[a-z0-9_]{1,40}$'),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    borne_minor bigint not null check (borne_minor >= 0),
    given_back_minor bigint check (given_back_minor >= 0),
    status text not null check (status in ('begun', 'sent', 'refused')),
    begun_at timestamptz not null,
    begun_by text check (length(begun_by) between 1 and 255),
    note text check (length(note) between 1 and 500),
    ended_at timestamptz,
    ended_by text check (length(ended_by) between 1 and 255),
    ended_note text check (length(ended_note) between 1 and 500),
    provider_refund text check (length(provider_refund) between 1 and 255),
    status_changed_at timestamptz not null,
    constraint refund_once unique (provider, provider_refund),
    constraint refund_parts check (borne_minor <= amount_minor and given_back_minor <= amount_minor),
    constraint refund_begun_by check ((begun_by is null) = (note is null)),
    constraint refund_ended check (
        (status = 'begun') = (ended_at is null) and (status = 'sent') = (provider_refund is not null)
        and (status = 'refused') = (given_back_minor is not null)
        and (ended_by is null or ended_at is not null) and (ended_by is null or ended_note is not null)
        and (status <> 'begun' or ended_note is null)
    )
);
comment on column refund.ended_note is 'why it was refused, or what the officer noted who ended it by hand';
create index refund_of_donation on refund (donation_id, id);
create index refund_of_payment on refund (payment_id) where payment_id is not null;
create index refund_with_status on refund (status, id);
create index refund_under_way on refund (status_changed_at) where status = 'begun';

insert into lifecycle_move (resource, from_status, to_status) values
    ('refund', 'begun', 'sent'),
    ('refund', 'begun', 'refused');
create trigger refund_status before update of status on refund for each row
    when (old.status is distinct from new.status) execute function guard_status('refund');
create trigger refund_promise before update on refund for each row
    when (old.status <> 'begun'
          or (old.id, old.donation_id, old.provider, old.amount_minor, old.currency, old.borne_minor, old.begun_at)
              is distinct from
             (new.id, new.donation_id, new.provider, new.amount_minor, new.currency, new.borne_minor, new.begun_at)
          or old.payment_id is distinct from new.payment_id or old.begun_by is distinct from new.begun_by
          or old.note is distinct from new.note)
    execute function guard_promise();

-- More than a gift can never go back: its refunds are added up on it, and the sum is held to its amount.
create function count_refund() returns trigger language plpgsql as $$
begin
    update donation set
        withdrawn_minor = withdrawn_minor + case when tg_op = 'INSERT' then new.amount_minor
                                                 when new.status = 'refused' then -new.amount_minor else 0 end,
        refunded_minor = refunded_minor + case new.status when 'sent' then new.amount_minor else 0 end,
        refunded_at = case new.status when 'sent' then new.ended_at else refunded_at end
    where id = new.donation_id and currency = new.currency and (tg_op = 'UPDATE' or disputed_at is null)
      and (tg_op = 'UPDATE' or new.status = 'begun');
    if not found then
        raise exception 'refund % does not go with donation %', new.id, new.donation_id
            using errcode = 'check_violation', constraint = 'refund_of_gift';
    end if;
    return null;
end $$;
create trigger refund_counts after insert on refund for each row execute function count_refund();
create trigger refund_counts_end after update of status on refund for each row
    when (old.status is distinct from new.status) execute function count_refund();
grant select, insert on refund to almoner_app;
grant update (status, status_changed_at, ended_at, ended_by, ended_note, provider_refund, given_back_minor)
    on refund to almoner_app;

-- A payout is what is owed of its gifts.
create or replace function guard_payout() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        raise exception 'disbursement % must begin as PENDING', new.id
            using errcode = 'check_violation', constraint = 'disbursement_begins';
    end if;
    if (select (count(*), coalesce(sum(greatest(0, settled_minor - withdrawn_minor)), 0)) from donation
        where disbursement_id = new.id) is distinct from (new.donations::bigint, new.amount_minor::numeric) then
        raise exception 'disbursement % is not the sum of its donations', new.id
            using errcode = 'check_violation', constraint = 'disbursement_sum';
    end if;
    if not exists (
        select from monetary_donation_verification
        where partner_id = new.partner_id and organisation_id = new.organisation_id and status = 'approved'
    ) then
        raise exception 'disbursement % is for an organisation that is not verified', new.id
            using errcode = 'check_violation', constraint = 'disbursement_verified';
    end if;
    if payout_is_held(new.partner_id, new.organisation_id) then
        raise exception 'disbursement % is for an organisation that is held back', new.id
            using errcode = 'check_violation', constraint = 'disbursement_held';
    end if;
    return new;
end $$;

-- What each gift of a returned payout came to when it was sent: it may be refunded since.
alter table returned_gift disable trigger returned_gift_append_only, add column amount_minor bigint;
update returned_gift set amount_minor = (select settled_minor from donation where id = donation_id);
alter table returned_gift alter column amount_minor set not null, enable trigger returned_gift_append_only,
    add constraint returned_gift_amount check (amount_minor between 0 and 9007199254740991);

-- The line of a refund may name the refund, so that several of one payment are told apart; '' where it does not.
-- spared_minor: what of the fee the gift does not bear, since it has gone back.
alter table settlement_line
    add column provider_refund text not null default '' check (length(provider_refund) <= 255),
    add column refund_id uuid references refund (id),
    add column spared_minor bigint not null default 0,
    add constraint settlement_line_spared check (
        spared_minor between 0 and fee_minor and (spared_minor = 0 or payment_id is not null)
    ),
    add constraint settlement_line_refund check (kind = 'refund' or provider_refund = ''),
    drop constraint settlement_line_once,
    add constraint settlement_line_once unique (settlement_id, provider_payment, kind, provider_refund),
    drop constraint settlement_line_matched,
    add constraint settlement_line_matched check (
        (status = 'matched') = (reason is null)
        and (status = 'matched') = (num_nonnulls(payment_id, held_payment_id, refund_id) = 1)
        and (kind = 'payment' or payment_id is null) and (kind = 'refund' or refund_id is null)
    );
drop index settlement_line_counted;
create unique index settlement_line_counted on settlement_line (provider, provider_payment, kind)
    where status = 'matched' and refund_id is null;
create unique index settlement_line_of_refund on settlement_line (refund_id) where refund_id is not null;
drop trigger settlement_line_promise on settlement_line;
create trigger settlement_line_promise before update on settlement_line for each row
    when (old.status <> 'exception'
          or (old.id, old.settlement_id, old.kind, old.provider_payment, old.gross_minor, old.fee_minor,
              old.provider_refund)
              is distinct from
             (new.id, new.settlement_id, new.kind, new.provider_payment, new.gross_minor, new.fee_minor,
              new.provider_refund))
    execute function guard_promise();

alter table ledger_transfer
    drop constraint ledger_transfer_kind_check,
    add constraint ledger_transfer_kind_check check (kind in (
        'payment_received', 'payment_held', 'settled', 'provider_fee', 'fee_charged', 'payout_sent', 'payout_paid',
        'payout_returned', 'payout_undone', 'reassigned', 'refund_begun', 'refund_paid', 'refund_settled',
        'held_dismissed', 'request_paid', 'request_over', 'request_covered', 'over_returned',
        'gift_refund_begun', 'gift_refund_topped_up', 'gift_refund_sent', 'gift_refund_undone', 'gift_refund_untopped'
    ));
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(UPGRADE)
