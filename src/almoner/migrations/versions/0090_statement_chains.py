"""Bank statements follow each other: each opens with the balance that another one ended with.

Revision ID: 0090
Revises: 0089
"""

from alembic import op

revision = "0090"
down_revision = "0089"

UP = """
-- ends_on: the day of the closing balance. export: lines of some days that somebody chose, as CSV; of no chain.
-- A long statement comes in pages, of which the first has the opening balance and the last the closing one.
alter table bank_statement
    add column ends_on date,
    add column export boolean not null default false,
    drop constraint if exists bank_statement_check,
    add constraint bank_statement_export check (not export or (opening_minor is null and closing_minor is null));
-- Until now an export was named by the beginning of its hash.
update bank_statement set export = true
where opening_minor is null and reference = left(sha256, 16) and account <> 'sandbox';

-- Somebody found out why no statement leads to this one, and that none is missing.
create table bank_statement_explained (
    statement_id uuid primary key references bank_statement (id),
    note text not null check (length(note) between 1 and 2000),
    explained_by text not null check (length(explained_by) between 1 and 255),
    explained_at timestamptz not null
);
create trigger bank_statement_explained_append_only before update or delete or truncate on bank_statement_explained
    for each statement execute function refuse_change();
grant select, insert on bank_statement_explained to almoner_app;

-- Statements whose opening balance no other one ended with: what was between them was not imported. The first of an
-- account follows none: of one day it is the one whose balance opens more of them than it ends. Of equal balances as
-- many openings as closings belong together, whichever.
create view bank_statement_gap with (security_invoker = true) as
with latest as (
    select distinct on (account, currency, reference)
        id, upper(regexp_replace(account, '[[:space:]./-]+', '', 'g')) as account, currency, reference, opening_minor,
        closing_minor, coalesce(ends_on, imported_at::date) as day, imported_at
    from bank_statement where opening_minor is not null or closing_minor is not null
    order by account, currency, reference, part desc
), balance as (
    select account, currency, minor, sum(one) as more from (
        select account, currency, opening_minor, 1 from latest
        union all select account, currency, closing_minor, -1 from latest
    ) as told (account, currency, minor, one) group by 1, 2, 3
), opened as (
    select l.*, row_number() over (partition by l.account, l.currency order by l.day, b.more <= 0, l.id) as rank
    from latest l join balance b on (b.account, b.currency, b.minor) = (l.account, l.currency, l.opening_minor)
), closed as (
    select l.*, row_number() over (
        partition by l.account, l.currency
        order by l.day desc, b.more >= 0, l.closing_minor is distinct from f.opening_minor, l.id desc
    ) as rank
    from latest l join balance b on (b.account, b.currency, b.minor) = (l.account, l.currency, l.closing_minor)
    left join opened f on (f.account, f.currency, f.rank) = (l.account, l.currency, 1)
), following as (
    select o.*, row_number() over (partition by account, currency, opening_minor order by day, id) as nth
    from opened o where rank > 1
), left_open as (
    select account, currency, closing_minor, count(*) as many from closed where rank > 1 group by 1, 2, 3
)
select f.id, f.account, f.currency, f.reference, f.opening_minor, f.day, f.imported_at
from following f left join left_open c
    on (c.account, c.currency, c.closing_minor) = (f.account, f.currency, f.opening_minor)
where f.nth > coalesce(c.many, 0)
  and not exists (select from bank_statement_explained e where e.statement_id = f.id);
grant select on bank_statement_gap to almoner_app;
"""


def upgrade() -> None:
    """Imports of before write neither column: their statements end on the day of the import."""
    op.execute(UP)
