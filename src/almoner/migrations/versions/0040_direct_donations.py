"""Direct donations, and what partners set of them.

Revision ID: 0040
Revises: 0039
"""

from alembic import op

revision = "0040"
down_revision = "0039"

UPGRADE = """
alter table partner
    add column shows_donors boolean not null default true,
    add column asks_gift_aid boolean not null default false,
    add constraint partner_settles check (cardinality(settlement_currencies) between 1 and 200);
comment on column partner.shows_donors is 'whether its answers and events name donors';
comment on column partner.asks_gift_aid is 'whether GBP gifts to UK charities need a declaration';

-- A direct donation is ACTIVE until it is asked for; a hosted one is never (settled 5).
alter table donation add constraint donation_active check (status <> 'ACTIVE' or type = 'direct');

-- A gift changes hands only while its money is here and in no payout, or while nobody has been asked for it.
drop trigger donation_settlement on donation;
create trigger donation_settlement before update on donation for each row
    when ((old.settled_at is not null and (old.settled_at, old.settled_minor, old.settled_currency) is distinct from
              (new.settled_at, new.settled_minor, new.settled_currency))
          or (old.organisation_id is distinct from new.organisation_id
              and not (old.status = 'ACTIVE' and new.status = 'ACTIVE')
              and (new.status <> 'RECEIVED_PAYMENT' or old.disbursement_id is not null))
          or (old.status not in ('ACTIVE', 'REQUESTED_PAYMENT')
              and (old.cover_minor, old.message) is distinct from (new.cover_minor, new.message)))
    execute function guard_promise();

-- What a partner is asked for stays asked for, to the last minor unit: a direct donation is cancelled from ACTIVE only.
create function guard_direct() returns trigger language plpgsql as $$
begin
    raise exception 'direct donation % is asked for and may not be changed or cancelled', new.id
        using errcode = 'check_violation', constraint = 'donation_direct';
end $$;
create trigger donation_direct before update on donation for each row
    when (old.type = 'direct' and ((old.amount_minor, old.currency) is distinct from (new.amount_minor, new.currency)
          or (old.status not in ('ACTIVE', 'CANCELLED') and new.status = 'CANCELLED')))
    execute function guard_direct();

-- Donors of gifts that never came are forgotten, whoever named them (V6).
drop index donation_unforgotten;
create index donation_unforgotten on donation (cancelled_at) where status = 'CANCELLED' and email is not null;
"""


def upgrade() -> None:
    """Change the tables."""
    op.execute(UPGRADE)
