"""Lists of donations between two moments are read from indexes alone.

Revision ID: 0062
Revises: 0061
"""

from alembic import op

revision = "0062"
down_revision = "0061"

UPGRADE = """
-- At once what the statements below need: who holds a row would else wait for us, and we for them.
lock table donation, receipt in access exclusive mode;
-- An identifier begins with the millisecond of its donation, or a little later: those of a process never go backwards,
-- and a transaction may be older than the one before it. By how much the two differ, in milliseconds.
create function id_drift(id uuid, at timestamptz) returns bigint language sql immutable strict parallel safe
return abs(
    ('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint
    - floor(extract(epoch from at at time zone 'UTC') * 1000)::bigint
);
-- What is before all identifiers of a millisecond and of later ones. Not parallel: workers take longer to start than a
-- list may take.
create function least_id(ms bigint) returns uuid language sql immutable parallel unsafe
return case
    when ms <= 0 then '00000000-0000-0000-0000-000000000000'::uuid
    when ms >= 281474976710656 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid
    else (lpad(to_hex(ms), 12, '0') || '00000000000000000000')::uuid
end;
-- The few that are off by more than a second: a range of identifiers is a range of moments but for these.
create index donation_drift on donation (partner_id, id_drift(id, created_at)) where id_drift(id, created_at) > 1000;

-- Rows are picked and counted without a look at them. Each begins with another column: an index that begins as another
-- does looks half sorted for its lists, and is preferred to it where its order is that of the table.
set local maintenance_work_mem = '256MB';
alter table receipt drop constraint receipt_partner_id_donation_id_fkey;
alter table donation
    drop constraint donation_partner_id_id_key,
    add constraint donation_partner_id_id_key unique (partner_id, id) include (created_at);
alter table receipt add constraint receipt_partner_id_donation_id_fkey foreign key (partner_id, donation_id)
    references donation (partner_id, id);
drop index donation_by_day;
drop index donation_with_status;
create index donation_with_status on donation (status, partner_id, id) include (created_at);
drop index donation_of_organisation;
drop index donation_of_organisation_with_status;
drop index donation_to_organisation;
create index donation_to_organisation on donation (organisation_id, partner_id, status, id) include (created_at);
drop index donation_of_user;
create index donation_of_user on donation (user_id, partner_id, id)
    include (organisation_id, status, request_id, created_at) where user_id is not null;
drop index donation_of_request;
create index donation_of_request on donation (request_id, status, id)
    include (partner_id, organisation_id, user_id, created_at) where request_id is not null;
-- An index alone answers only for pages that a vacuum has seen.
alter table donation set (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.05);
"""


def upgrade() -> None:
    """Create the functions and the indexes."""
    op.execute(UPGRADE)
