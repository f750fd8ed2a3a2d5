"""Settlements, disbursements and reassignments.

Revision ID: 0010
Revises: 0009
"""

from alembic import op

revision = "0010"
down_revision = "0009"

UPGRADE = """
-- A provider's report of what it paid out to our bank account.
create table settlement (
    id uuid primary key,
    provider text not null check (provider ~ '^[a-z0-9_]{1,40}$'),
    reference text not null check (length(reference) between 1 and 100),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    settled_on date not null,
    sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
    lines integer not null check (lines > 0),
    imported_at timestamptz not null,
    constraint settlement_once unique (provider, reference),
    unique (id, provider, currency)
);

-- gross and net are signed as in the report: a refund takes money away.
create table settlement_line (
    id uuid primary key,
    settlement_id uuid not null,
    provider text not null,
    currency char(3) not null,
    kind text not null check (kind in ('payment', 'refund')),
    provider_payment text not null check (length(provider_payment) between 1 and 255),
    gross_minor bigint not null check (gross_minor between -9007199254740991 and 9007199254740991),
    fee_minor bigint not null check (fee_minor between 0 and 9007199254740991),
    net_minor bigint not null,
    status text not null check (status in ('exception', 'matched', 'cleared')),
    reason text check (reason in (
        'unknown_payment', 'not_paid', 'not_refunded', 'other_amount', 'other_currency', 'dismissed', 'settled_before'
    )),
    payment_id uuid references payment (id),
    held_payment_id uuid references held_payment (id),
    created_at timestamptz not null,
    looked_at timestamptz not null,
    cleared_by text check (length(cleared_by) between 1 and 255),
    note text check (length(note) between 1 and 2000),
    status_changed_at timestamptz not null,
    foreign key (settlement_id, provider, currency) references settlement (id, provider, currency),
    constraint settlement_line_once unique (settlement_id, provider_payment, kind),
    constraint settlement_line_net check (net_minor = gross_minor - fee_minor),
    constraint settlement_line_signs check (
        case kind when 'payment' then gross_minor > 0 and net_minor >= 0 else gross_minor < 0 end
    ),
    constraint settlement_line_matched check (
        (status = 'matched') = (reason is null)
        and (status = 'matched') = (num_nonnulls(payment_id, held_payment_id) = 1)
        and (kind = 'payment' or payment_id is null)
    ),
    constraint settlement_line_cleared check (
        (status = 'cleared') = (cleared_by is not null) and (status = 'cleared') = (note is not null)
    )
);
-- Whatever reports say, a payment is settled once and a refund drawn once.
create unique index settlement_line_counted on settlement_line (provider, provider_payment, kind)
    where status = 'matched';
create unique index settlement_line_payment on settlement_line (payment_id) where payment_id is not null;
create unique index settlement_line_held on settlement_line (held_payment_id, kind) where held_payment_id is not null;
create index settlement_line_exceptions on settlement_line (looked_at) where status = 'exception';

-- A payout: one bank transfer to one nonprofit. While PENDING it is the bucket that settled gifts come into.
-- moving: its donations have yet to follow its status.
create table disbursement (
    id uuid primary key,
    partner_id uuid not null references partner (id),
    organisation_id uuid not null references organisation (id),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    amount_minor bigint not null check (amount_minor between 0 and 9007199254740991),
    donations integer not null check (donations >= 0),
    status text not null check (status in ('PENDING', 'SENT', 'PAID', 'RETURNED')),
    waiting_reason text check (waiting_reason in (
        'verification_missing', 'verification_pending', 'verification_rejected', 'verification_expired',
        'organisation_inactive', 'below_threshold', 'on_hold'
    )),
    end_to_end_id text not null unique check (end_to_end_id ~ '^[0-9a-z]{1,35}$'),
    created_at timestamptz not null,
    ready_at timestamptz,
    sent_at timestamptz,
    paid_at timestamptz,
    returned_at timestamptz,
    return_reason text check (length(return_reason) between 1 and 500),
    moving boolean not null default false,
    status_changed_at timestamptz not null,
    unique (id, partner_id, organisation_id, currency),
    constraint disbursement_moments check (
        (status = 'PENDING') = (sent_at is null)
        and (paid_at is null or sent_at is not null) and (status <> 'PAID' or paid_at is not null)
        and (status in ('PAID', 'RETURNED') or paid_at is null)
        and (status = 'RETURNED') = (returned_at is not null) and (status = 'RETURNED') = (return_reason is not null)
    ),
    constraint disbursement_waiting check (
        (waiting_reason is null or status = 'PENDING')
        and (waiting_reason is not null or (amount_minor > 0 and ready_at is not null))
    ),
    constraint disbursement_moving check (not moving or status in ('PAID', 'RETURNED'))
);
create unique index disbursement_open on disbursement (partner_id, organisation_id, currency)
    where status = 'PENDING';
create index disbursement_of_partner on disbursement (partner_id, id);
create index disbursement_of_organisation on disbursement (partner_id, organisation_id, id);
create index disbursement_with_status on disbursement (partner_id, status, id);
create index disbursement_by_status on disbursement (status, id);
create index disbursement_moving on disbursement (id) where moving;

-- A payout holds gifts of its own partner, nonprofit and currency alone.
alter table donation add constraint donation_disbursement
    foreign key (disbursement_id, partner_id, organisation_id, settled_currency)
    references disbursement (id, partner_id, organisation_id, currency);
create index donation_of_disbursement on donation (disbursement_id, status, id) where disbursement_id is not null;
create index donation_payable on donation (partner_id, organisation_id, settled_currency, id)
    where settled_at is not null and disbursement_id is null;

-- What was in a payout that came back: its gifts go into other payouts. Only ever added to.
create table returned_gift (
    disbursement_id uuid not null references disbursement (id),
    donation_id uuid not null references donation (id),
    primary key (disbursement_id, donation_id)
);

-- Who decided that a nonprofit is not paid, or is again, and why; without a partner: whosever gifts. The newest row
-- counts. Only ever added to.
create table payout_hold (
    n bigint generated always as identity primary key,
    partner_id uuid references partner (id),
    organisation_id uuid not null references organisation (id),
    held boolean not null,
    note text not null check (length(note) between 1 and 2000),
    decided_by text not null check (length(decided_by) between 1 and 255),
    decided_at timestamptz not null
);
create index payout_hold_of_organisation on payout_hold (organisation_id, partner_id, n);
create function payout_is_held(of_partner uuid, to_organisation uuid) returns boolean language sql stable as $$
    select exists (
        select from (
            select distinct on (partner_id) held from payout_hold
            where organisation_id = to_organisation and (partner_id is null or partner_id = of_partner)
            order by partner_id, n desc
        ) newest where held
    )
$$;

-- Whose gift was given to whom instead, and why; only ever added to.
create table reassignment (
    id uuid primary key,
    donation_id uuid not null references donation (id),
    from_organisation uuid not null references organisation (id),
    to_organisation uuid not null references organisation (id),
    amount_minor bigint not null check (amount_minor between 0 and 9007199254740991),
    currency char(3) not null check (currency ~ '^[A-Z]{3}$'),
    reason text not null check (length(reason) between 1 and 500),
    reassigned_by text not null check (length(reassigned_by) between 1 and 255),
    reassigned_at timestamptz not null,
    check (from_organisation <> to_organisation)
);
create index reassignment_of_donation on reassignment (donation_id, id);

insert into lifecycle_move (resource, from_status, to_status) values
    ('settlement_line', 'exception', 'matched'),
    ('settlement_line', 'exception', 'cleared'),
    ('disbursement', 'PENDING', 'SENT'),
    ('disbursement', 'SENT', 'PAID'),
    ('disbursement', 'SENT', 'RETURNED'),
    ('disbursement', 'PAID', 'RETURNED');

create trigger settlement_line_status before update of status on settlement_line for each row
    when (old.status is distinct from new.status) execute function guard_status('settlement_line');
create trigger disbursement_status before update of status on disbursement for each row
    when (old.status is distinct from new.status) execute function guard_status('disbursement');

-- What a report said stays as it was said; what was sent stays as it was sent.
create trigger settlement_line_promise before update on settlement_line for each row
    when (old.status <> 'exception'
          or (old.id, old.settlement_id, old.kind, old.provider_payment, old.gross_minor, old.fee_minor)
              is distinct from
             (new.id, new.settlement_id, new.kind, new.provider_payment, new.gross_minor, new.fee_minor))
    execute function guard_promise();
create trigger disbursement_promise before update on disbursement for each row
    when ((old.id, old.partner_id, old.organisation_id, old.currency, old.end_to_end_id, old.created_at)
              is distinct from
          (new.id, new.partner_id, new.organisation_id, new.currency, new.end_to_end_id, new.created_at)
          or (old.status <> 'PENDING' and (old.amount_minor, old.donations) is distinct from
                                          (new.amount_minor, new.donations)))
    execute function guard_promise();

-- A payout begins as a bucket; it is sent for exactly what is in it, to a nonprofit that was verified (settled 5) and
-- that nobody holds back.
create function guard_payout() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        raise exception 'disbursement % must begin as PENDING', new.id
            using errcode = 'check_violation', constraint = 'disbursement_begins';
    end if;
    if (select (count(*), coalesce(sum(settled_minor), 0)) from donation where disbursement_id = new.id)
            is distinct from (new.donations::bigint, new.amount_minor::numeric) then
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
create trigger disbursement_begins before insert on disbursement for each row
    when (new.status <> 'PENDING') execute function guard_payout();
create trigger disbursement_sent before update of status on disbursement for each row
    when (old.status = 'PENDING' and new.status = 'SENT') execute function guard_payout();

-- Gifts come into a bucket while it is open, leave it before it is sent or when it came back, and are paid out with it.
create function guard_paid_out() returns trigger language plpgsql as $$
declare
    payout text;
begin
    -- The lock lets no payout be sent while a gift comes in or leaves.
    select status into payout from disbursement where id = coalesce(new.disbursement_id, old.disbursement_id) for share;
    if (old.disbursement_id is distinct from new.disbursement_id and not case
            when new.disbursement_id is null then payout in ('PENDING', 'RETURNED')
            else old.disbursement_id is null and payout = 'PENDING' end)
       or (old.status <> 'DISBURSED' and new.status = 'DISBURSED' and payout is distinct from 'PAID')
       or (old.status = 'DISBURSED' and new.status <> 'DISBURSED' and payout is distinct from 'RETURNED') then
        raise exception 'donation % does not go with its payout, which is %', new.id, payout
            using errcode = 'check_violation', constraint = 'donation_payout';
    end if;
    return new;
end $$;
create trigger donation_payout before update on donation for each row
    when (old.disbursement_id is distinct from new.disbursement_id
          or (old.status = 'DISBURSED') <> (new.status = 'DISBURSED'))
    execute function guard_paid_out();

create trigger reassignment_append_only before update or delete or truncate on reassignment
    for each statement execute function refuse_change();
create trigger returned_gift_append_only before update or delete or truncate on returned_gift
    for each statement execute function refuse_change();
create trigger payout_hold_append_only before update or delete or truncate on payout_hold
    for each statement execute function refuse_change();

grant select, insert on settlement, payout_hold, returned_gift, reassignment to almoner_app;
grant select, insert, update on settlement_line, disbursement to almoner_app;
"""


def upgrade() -> None:
    """Create the tables."""
    op.execute(UPGRADE)
