"""A donation gets a gift aid declaration only while that holds, whoever cancels it in the same moment.

Revision ID: 0063
Revises: 0062
"""

from alembic import op

revision = "0063"
down_revision = "0062"

UPGRADE = """
-- Whoever cancels a declaration holds it: one of the two waits for the other, and sees what it did.
create function guard_gift_aid() returns trigger language plpgsql as $$
begin
    perform from gift_aid_declaration
    where id = new.gift_aid_id and new.created_at >= covers_from
      and (covers_to is null or new.created_at < covers_to)
      and (cancelled_from is null or new.created_at < cancelled_from)
    for share;
    if not found then
        raise exception 'declaration % does not cover donation %', new.gift_aid_id, new.id
            using errcode = 'check_violation', constraint = 'donation_gift_aid_holds';
    end if;
    return new;
end $$;
create trigger donation_gift_aid_holds before insert on donation for each row
    when (new.gift_aid_id is not null) execute function guard_gift_aid();
create trigger donation_gift_aid_changes before update of gift_aid_id on donation for each row
    when (new.gift_aid_id is not null and new.gift_aid_id is distinct from old.gift_aid_id)
    execute function guard_gift_aid();
"""


def upgrade() -> None:
    """Add the guard."""
    op.execute(UPGRADE)
