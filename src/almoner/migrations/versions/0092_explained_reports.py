"""A provider's payout that no line of our bank will ever tell of is explained by a person.

Revision ID: 0092
Revises: 0091
"""

from alembic import op

revision = "0092"
down_revision = "0091"

UP = """
-- Somebody found out why it never came as the provider told: taken back, or less a fee of a bank.
create table settlement_explained (
    settlement_id uuid primary key references settlement (id),
    note text not null check (length(note) between 1 and 2000),
    explained_by text not null check (length(explained_by) between 1 and 255),
    explained_at timestamptz not null
);
create trigger settlement_explained_append_only before update or delete or truncate on settlement_explained
    for each statement execute function refuse_change();
grant select, insert on settlement_explained to almoner_app;

-- Reports of providers whose payouts no line tells of. What is simulated reaches no bank, nor does what comes to
-- nothing.
create view settlement_unbanked with (security_invoker = true) as
select s.id, s.provider, s.reference, s.currency, s.settled_on, s.imported_at, told.net_minor
from settlement s, lateral (
    select sum(l.net_minor)::bigint as net_minor from settlement_line l where l.settlement_id = s.id
) told
where s.provider <> 'bank_transfer' and s.reference not like 'simulated-%' and told.net_minor <> 0
  and not exists (select from bank_line l where l.settlement_id = s.id)
  and not exists (select from settlement_explained e where e.settlement_id = s.id);
grant select on settlement_unbanked to almoner_app;
"""


def upgrade() -> None:
    """Nothing that is there changes."""
    op.execute(UP)
