"""Donation requests: what partners are asked for, and what they pay.

Revision ID: 0046
Revises: 0045
"""

from alembic import op

revision = "0046"
down_revision = "0045"

UPGRADE = """
alter table partner
    add column request_every text not null default 'month' check (request_every in ('day', 'week', 'month')),
    add column request_least_gifts integer not null default 0 check (request_least_gifts between 0 and 1000000),
    add column request_due_days integer not null default 30 check (request_due_days between 1 and 365);
comment on column partner.request_least_gifts is 'the least request, in multiples of the least gift of its currency';

-- A period's direct donations of one partner in one currency. gathering: gifts still come in. covering: gifts that the
-- money covers have yet to be received. covered_minor: what those that were come to.
create table donation_request (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    amount_minor bigint not null check (amount_minor between 0 and 9007199254740991),
    donations integer not null check (donations >= 0),
    paid_minor bigint not null,
    covered_minor bigint not null,
    status text not null check (status in ('OPEN', 'PARTLY_PAID', 'PAID')),
    reference text not null unique check (reference ~ '^ALM-[0-9A-Z]{5}-[0-9A-Z]{5}$'),
    made_before timestamptz not null,
    gathering boolean not null,
    covering boolean not null,
    created_at timestamptz not null,
    due_at timestamptz not null,
    status_changed_at timestamptz not null,
    unique (partner_id, id),
    unique (id, partner_id, currency),
    constraint donation_request_paid check (
        covered_minor between 0 and paid_minor and paid_minor <= amount_minor
        and case status when 'OPEN' then paid_minor = 0
                        when 'PAID' then paid_minor = amount_minor and paid_minor > 0
                        else paid_minor > 0 and paid_minor < amount_minor end
    ),
    constraint donation_request_gathered check (not gathering or (status = 'OPEN' and not covering)),
    constraint donation_request_filled check (gathering or donations > 0)
);
comment on column donation_request.made_before is 'gifts made before then are in it';
create unique index donation_request_gathering on donation_request (partner_id, currency) where gathering;
create index donation_request_covering on donation_request (id) where covering;

alter table donation
    add column request_id uuid,
    add constraint donation_request foreign key (request_id, partner_id, currency)
        references donation_request (id, partner_id, currency),
    add constraint donation_requested check (
        (type = 'direct' and status in ('REQUESTED_PAYMENT', 'RECEIVED_PAYMENT', 'DISBURSED'))
            = (request_id is not null)
    );
create index donation_unrequested on donation (partner_id, currency, id) where status = 'ACTIVE';
create index donation_active_since on donation (created_at) where status = 'ACTIVE';
create index donation_of_request on donation (request_id, status, id) where request_id is not null;

-- What a partner is asked for stays as it was asked for.
create trigger donation_request_promise before update on donation_request for each row
    when ((old.id, old.partner_id, old.currency, old.reference, old.made_before, old.created_at) is distinct from
              (new.id, new.partner_id, new.currency, new.reference, new.made_before, new.created_at)
          or (not old.gathering and (old.amount_minor, old.donations, old.due_at, new.gathering) is distinct from
                                    (new.amount_minor, new.donations, new.due_at, false))
          or new.paid_minor < old.paid_minor or new.covered_minor < old.covered_minor)
    execute function guard_promise();

-- Gifts come into a request while it gathers, and stay.
create function guard_requested() returns trigger language plpgsql as $$
begin
    if old.request_id is not null
            or not exists (select from donation_request where id = new.request_id and gathering) then
        raise exception 'donation % may not come into request % now', new.id, new.request_id
            using errcode = 'check_violation', constraint = 'donation_gathered';
    end if;
    return new;
end $$;
create trigger donation_gathered before update on donation for each row
    when (old.request_id is distinct from new.request_id) execute function guard_requested();

-- What a partner's bank transfer brought: the part that the request takes, and the part that is over and held.
create table request_payment (
    id uuid primary key,
    request_id uuid not null references donation_request (id),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    amount_minor bigint not null check (amount_minor between 1 and 9007199254740991),
    applied_minor bigint not null check (applied_minor >= 0),
    over_minor bigint not null check (over_minor >= 0),
    bank_reference text not null check (length(bank_reference) between 1 and 140),
    status text not null check (status in ('booked', 'held', 'returned')),
    received_at timestamptz not null,
    noted_by text not null check (length(noted_by) between 1 and 255),
    decided_at timestamptz,
    decided_by text check (length(decided_by) between 1 and 255),
    note text check (length(note) between 1 and 2000),
    status_changed_at timestamptz not null,
    constraint request_payment_once unique (bank_reference),
    constraint request_payment_parts check (applied_minor + over_minor = amount_minor),
    constraint request_payment_over check ((status = 'booked') = (over_minor = 0)),
    constraint request_payment_decided check (
        (status = 'returned') = (decided_at is not null) and num_nonnulls(decided_at, decided_by, note) in (0, 3)
    )
);
create index request_payment_of_request on request_payment (request_id, id);
create index request_payment_held on request_payment (id) where status = 'held';
create trigger request_payment_promise before update on request_payment for each row
    when ((old.id, old.request_id, old.currency, old.amount_minor, old.applied_minor, old.over_minor,
           old.bank_reference, old.received_at, old.noted_by) is distinct from
          (new.id, new.request_id, new.currency, new.amount_minor, new.applied_minor, new.over_minor,
           new.bank_reference, new.received_at, new.noted_by))
    execute function guard_promise();

insert into lifecycle_move (resource, from_status, to_status) values
    ('donation_request', 'OPEN', 'PARTLY_PAID'),
    ('donation_request', 'OPEN', 'PAID'),
    ('donation_request', 'PARTLY_PAID', 'PAID'),
    ('request_payment', 'held', 'returned');
create trigger donation_request_status before update of status on donation_request for each row
    when (old.status is distinct from new.status) execute function guard_status('donation_request');
create trigger request_payment_status before update of status on request_payment for each row
    when (old.status is distinct from new.status) execute function guard_status('request_payment');

-- What partners paid and no whole gift takes yet; and how it moves.
alter table ledger_account
    drop constraint ledger_account_kind_check,
    add constraint ledger_account_kind_check check (kind in (
        'provider_clearing', 'donation_liability', 'fees', 'payout_in_transit', 'bank', 'suspense', 'refunds',
        'request_clearing'
    ));
alter table ledger_transfer
    drop constraint ledger_transfer_kind_check,
    add constraint ledger_transfer_kind_check check (kind in (
        'payment_received', 'payment_held', 'settled', 'provider_fee', 'fee_charged', 'payout_sent', 'payout_paid',
        'payout_returned', 'payout_undone', 'reassigned', 'refund_begun', 'refund_paid', 'refund_settled',
        'held_dismissed', 'request_paid', 'request_over', 'request_covered', 'over_returned'
    ));

grant select, insert, update on donation_request to almoner_app;
grant select, insert, update (status, status_changed_at, decided_at, decided_by, note) on request_payment
    to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
