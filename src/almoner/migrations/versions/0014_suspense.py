"""What becomes of held money, and refunds at the built-in test provider.

Revision ID: 0014
Revises: 0013
"""

from alembic import op

revision = "0014"
down_revision = "0013"

UPGRADE = """
-- acts_at: when the rule decides over it, unless a person has (docs/money-rules.md).
alter table held_payment
    add column status text check (status in ('held', 'refunding', 'refunded', 'dismissed')),
    add column status_changed_at timestamptz,
    add column acts_at timestamptz,
    add column decided_at timestamptz,
    add column decided_by text check (length(decided_by) between 1 and 255),
    add column note text check (length(note) between 1 and 500),
    add column provider_refund text check (length(provider_refund) between 1 and 255);
update held_payment set status = 'held', status_changed_at = held_at,
    acts_at = held_at + case when reason in ('other_reference', 'unknown_payment') then interval '30 days' else '0' end;
alter table held_payment
    alter column status set not null,
    alter column status_changed_at set not null,
    alter column acts_at set not null,
    add constraint held_payment_decided check (
        (status = 'held') = (decided_at is null) and (decided_at is null) = (decided_by is null)
        and (decided_by is distinct from 'rule' and decided_by is not null) = (note is not null)
    ),
    add constraint held_payment_refunded check ((status = 'refunded') = (provider_refund is not null)),
    add constraint held_payment_refund_once unique (provider, provider_refund),
    -- Test money in production, or real money in a sandbox, is not in the books and never sent back by us (M5).
    add constraint held_payment_other_mode check (reason <> 'other_mode' or status in ('held', 'dismissed'));
create index held_payment_due on held_payment (acts_at, id) where status = 'held';

insert into lifecycle_move (resource, from_status, to_status) values
    ('held_payment', 'held', 'refunding'),
    ('held_payment', 'held', 'dismissed'),
    ('held_payment', 'refunding', 'refunded');
create trigger held_payment_status before update of status on held_payment for each row
    when (old.status is distinct from new.status) execute function guard_status('held_payment');
create trigger held_payment_promise before update on held_payment for each row
    when ((old.id, old.provider, old.provider_payment, old.payment_id, old.donation_id, old.reason, old.amount_minor,
           old.currency, old.reference, old.held_at) is distinct from
              (new.id, new.provider, new.provider_payment, new.payment_id, new.donation_id, new.reason,
               new.amount_minor, new.currency, new.reference, new.held_at)
          or (old.decided_at is not null and (old.decided_at, old.decided_by, old.note) is distinct from
              (new.decided_at, new.decided_by, new.note)))
    execute function guard_promise();

-- What the provider has paid out to our bank cannot be said to be none of ours; it can be sent back.
create function guard_dismissal() returns trigger language plpgsql as $$
begin
    if exists (select from settlement_line where held_payment_id = new.id) then
        raise exception 'held payment % was settled', new.id
            using errcode = 'check_violation', constraint = 'held_payment_settled';
    end if;
    return new;
end $$;
create trigger held_payment_dismissal before update of status on held_payment for each row
    when (new.status = 'dismissed') execute function guard_dismissal();
grant update (status, status_changed_at, decided_at, decided_by, note, provider_refund) on held_payment to almoner_app;

-- What people decided, and why; only ever added to. The row above has the first decision, which may be the rule's.
create table held_payment_decision (
    id uuid primary key,
    held_payment_id uuid not null references held_payment (id),
    decision text not null check (decision in ('refund', 'ask_again', 'done_by_hand', 'dismiss')),
    note text not null check (length(note) between 1 and 500),
    decided_by text not null check (length(decided_by) between 1 and 255 and decided_by <> 'rule'),
    decided_at timestamptz not null,
    provider_refund text,
    constraint held_payment_decision_refund check ((decision = 'done_by_hand') = (provider_refund is not null))
);
create index held_payment_decision_of on held_payment_decision (held_payment_id, id);
grant select, insert on held_payment_decision to almoner_app;

-- Donors' data of gifts that never came is forgotten 30 days after they were cancelled (V6).
create index donation_unforgotten on donation (cancelled_at)
    where status = 'CANCELLED' and type = 'hosted' and email is not null;

-- The test provider never sends back more than was paid: payment.refunded is the sum of its refunds.
alter table provider_test.payment
    add column refunded bigint not null default 0,
    add constraint payment_refunded check (
        refunded between 0 and amount and (refunded = 0 or status = 'succeeded')
    );
create table provider_test.refund (
    id text primary key check (id ~ '^tpr_[0-9a-f]{32}$'),
    payment_id text not null references provider_test.payment (id),
    idempotency_key text not null unique,
    amount bigint not null check (amount > 0),
    currency char(3) not null,
    created_at timestamptz not null
);
create index refund_of_payment on provider_test.refund (payment_id);
create function provider_test.add_refund() returns trigger language plpgsql as $$
begin
    update provider_test.payment set refunded = refunded + new.amount where id = new.payment_id;
    return new;
end $$;
create trigger refund_counts after insert on provider_test.refund
    for each row execute function provider_test.add_refund();
grant select, insert on provider_test.refund to almoner_app;
"""


def upgrade() -> None:
    """Change the tables."""
    op.execute(UPGRADE)
