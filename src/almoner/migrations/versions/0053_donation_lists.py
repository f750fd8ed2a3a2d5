"""Lists of donations count from tallies and walk an index each; what was over of a transfer pays another request.

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
-- What is over of a partner's transfer may pay another request: the part that goes on is a row of its own there.
alter table request_payment
    add column applied_from uuid references request_payment (id),
    drop constraint request_payment_status_check,
    add constraint request_payment_status_check check (status in ('booked', 'held', 'returned', 'applied')),
    drop constraint request_payment_once,
    drop constraint request_payment_decided,
    add constraint request_payment_decided check (
        (status in ('returned', 'applied')) = (decided_at is not null)
        and num_nonnulls(decided_at, decided_by, note) in (0, 3)
    ),
    add constraint request_payment_pays check (applied_from is null or applied_minor > 0);
create unique index request_payment_once on request_payment (bank_reference) where applied_from is null;
create unique index request_payment_applied_once on request_payment (applied_from) where applied_from is not null;
create trigger request_payment_applied before update of applied_from on request_payment for each row
    when (old.applied_from is distinct from new.applied_from) execute function guard_promise();
insert into lifecycle_move (resource, from_status, to_status) values ('request_payment', 'held', 'applied');
alter table ledger_transfer
    drop constraint ledger_transfer_kind_check,
    add constraint ledger_transfer_kind_check check (kind in (
        'payment_received', 'payment_held', 'settled', 'provider_fee', 'fee_charged', 'payout_sent', 'payout_paid',
        'payout_returned', 'payout_undone', 'reassigned', 'refund_begun', 'refund_paid', 'refund_settled',
        'held_dismissed', 'request_paid', 'request_over', 'request_covered', 'over_returned', 'over_applied',
        'gift_refund_begun', 'gift_refund_topped_up', 'gift_refund_sent', 'gift_refund_undone', 'gift_refund_untopped',
        'dispute_drawn', 'dispute_returned', 'dispute_lost', 'dispute_borne', 'dispute_recovered', 'dispute_settled',
        'dispute_won_settled'
    ));

"""


def upgrade() -> None:
    """Create the tables, the triggers and the indexes."""
    op.execute(UPGRADE)
