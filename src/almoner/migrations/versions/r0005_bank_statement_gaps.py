"""Missing bank statements, found in one pass over the statements.

Revision ID: r0005
Revises: r0004
"""

from alembic import op

revision = "r0005"
down_revision = "r0004"

UPGRADE = """
-- The same statements as before. The joins that it replaces compared each statement of an account with each other one.
create or replace view bank_statement_gap with (security_invoker = true) as
with latest as (
    select distinct on (account, currency, reference, recurrence)
        id, account, currency, reference, opening_minor, closing_minor, coalesce(ends_on, imported_at::date) as day,
        imported_at
    from bank_statement where opening_minor is not null or closing_minor is not null
    order by account, currency, reference, recurrence, part desc
), balance as (
    select id, account, currency, reference, day, imported_at, minor, one,
        sum(one) over (partition by account, currency, minor) as more
    from latest, lateral (values (opening_minor, 1), (closing_minor, -1)) as reported (minor, one)
    where minor is not null
), compared as (
    select *, first_value(case one when 1 then minor end) over (
        partition by account, currency order by one desc, day, more <= 0, id
    ) as first_minor
    from balance
), ranked as (
    select *, case one
        when 1 then row_number() over (partition by account, currency, one order by day, more <= 0, id)
        else row_number() over (
            partition by account, currency, one
            order by day desc, more >= 0, minor is distinct from first_minor, id desc
        ) end as rank
    from compared
), following as (
    select *, row_number() over (partition by account, currency, minor, one order by day, id) as nth,
        count(*) filter (where one = -1) over (partition by account, currency, minor) as many
    from ranked where rank > 1
)
select id, account, currency, reference, minor as opening_minor, day, imported_at from following f
where one = 1 and nth > many
  and not exists (select from bank_statement_gap_explanation e where e.statement_id = f.id);
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    raise NotImplementedError("Revisions go forwards only: restore a backup to go back.")
