"""Lists of donations count from tallies, and each combination of their filters has an index to walk.

Revision ID: 0053
Revises: 0052
"""

from alembic import op

revision = "0053"
down_revision = "0052"

UPGRADE = """
-- How many donations of a partner were made on a day (UTC) for a nonprofit and have a status now. The nonprofit with
-- the zero id stands for all of them.
create table donation_tally (
    partner_id uuid not null,
    organisation_id uuid not null,
    status text not null,
    day date not null,
    n bigint not null,
    primary key (partner_id, organisation_id, status, day)
);
-- What has changed since and is not in the tallies yet: rows that nobody waits for. A reader adds both up.
create table donation_tally_change (
    id bigint generated always as identity primary key,
    partner_id uuid not null,
    organisation_id uuid not null,
    status text not null,
    day date not null,
    n integer not null
);
create index donation_tally_change_of_partner on donation_tally_change (partner_id);

create function tally_made() returns trigger language plpgsql as $$
begin
    insert into donation_tally_change (partner_id, organisation_id, status, day, n)
    select partner_id, organisation_id, status, (created_at at time zone 'UTC')::date, count(*)
    from made group by 1, 2, 3, 4;
    return null;
end $$;
create function tally_changed() returns trigger language plpgsql as $$
begin
    insert into donation_tally_change (partner_id, organisation_id, status, day, n)
    select partner_id, organisation_id, status, (created_at at time zone 'UTC')::date, sum(n)
    from (
        select partner_id, organisation_id, status, created_at, -1 as n from before
        union all select partner_id, organisation_id, status, created_at, 1 from after
    ) moved group by 1, 2, 3, 4 having sum(n) <> 0;
    return null;
end $$;
create trigger donation_tally_made after insert on donation referencing new table as made
    for each statement execute function tally_made();
create trigger donation_tally_changed after update on donation
    referencing old table as before new table as after
    for each statement execute function tally_changed();

insert into donation_tally (partner_id, organisation_id, status, day, n)
select partner_id, coalesce(organisation_id, '00000000-0000-0000-0000-000000000000'), status, day, n from (
    select partner_id, organisation_id, status, (created_at at time zone 'UTC')::date as day, count(*) as n
    from donation group by grouping sets ((1, 2, 3, 4), (1, 3, 4))
) counted;

grant select, insert, update on donation_tally to almoner_app;
grant select, insert, delete on donation_tally_change to almoner_app;

create index donation_of_organisation_with_status on donation (partner_id, organisation_id, status, id);
create index donation_of_request_by_id on donation (request_id, id) where request_id is not null;
"""


def upgrade() -> None:
    """Create the tables, the triggers and the indexes."""
    op.execute(UPGRADE)
