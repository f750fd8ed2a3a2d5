"""A gift that was passed on bears no declaration that named another charity; refused refunds that nobody sends again.

Revision ID: 0075
Revises: 0073
"""

from alembic import op

revision = "0075"
down_revision = "0073"

DONATIONS = """
-- At once what the statements below need: who holds a gift would else wait for us, and we for them.
lock table donation in access exclusive mode;
-- A declaration names its charity. Whoever gives a gift to another nonprofit, in an older server as well, takes it off.
create or replace function drop_gift_aid() returns trigger language plpgsql as $$
begin
    new.gift_aid_id := null;
    return new;
end $$;
create or replace trigger donation_gift_aid_passed_on before update of organisation_id on donation for each row
    when (new.reassigned_at is distinct from old.reassigned_at and new.gift_aid_id is not null)
    execute function drop_gift_aid();

-- What other charities claimed by such declarations goes back.
insert into job (kind, payload, due_at, ready, created_at)
select 'claims.adjust', jsonb_build_object('donation', d.id), d.reassigned_at, true, d.reassigned_at
from donation d join gift_aid_claimed c on c.donation_id = d.id and c.live
where d.gift_aid_id is not null and d.reassigned_at is not null;
update donation set gift_aid_id = null where gift_aid_id is not null and reassigned_at is not null;
alter table donation
    drop constraint if exists donation_gift_aid_own,
    add constraint donation_gift_aid_own check (gift_aid_id is null or reassigned_at is null);
"""

REFUNDS = """
-- A refund that the provider refused, and that a person lets rest: nobody sends it again. Only ever added to.
create table refund_rest (
    refund_id uuid primary key references refund (id),
    note text not null check (length(note) between 1 and 500),
    decided_by text not null check (length(decided_by) between 1 and 255),
    decided_at timestamptz not null
);
create trigger refund_rest_append_only before update or delete or truncate on refund_rest
    for each statement execute function refuse_change();
grant select, insert on refund_rest to almoner_app;
create index refund_not_sent on refund (ended_at, id) where status = 'refused' and ended_by is null;
"""


def upgrade() -> None:
    """Add the guards and the table; gifts are let go before refunds are held."""
    with op.get_context().autocommit_block():
        op.execute(DONATIONS)
    op.execute(REFUNDS)
