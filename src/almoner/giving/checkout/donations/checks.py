"""Self-checks of donations: their payments and history, and the 24-hour limit."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "donations.payments_match",
        "Every received hosted donation has its own successful payment, and every successful payment has its donation",
        "Ask the provider for the status of the payment. Do not disburse the donation until this is clear",
        """
        select coalesce(d.id, p.donation_id)
        from (select id, payment_id from donation where payment_id is not null) d
        full join (select id, donation_id from payment where status = 'succeeded') p on p.id = d.payment_id
        where d.id is distinct from p.donation_id
        union all
        select id from donation where type = 'hosted' and status in ('RECEIVED_PAYMENT', 'DISBURSED')
                                      and payment_id is null
        """,
        "donation",
    ),
    ConsistencyCheck(
        "donations.history_matches_status",
        "The recorded status changes of every donation form a sequence that ends at its current status",
        "Somebody changed the table directly. Compare the donation with its events",
        """
        with moves as materialized (
            select resource_id, from_status, to_status, lag(to_status) over steps as before,
                   lead(id) over steps is null as newest
            from state_change where resource = 'donation' window steps as (partition by resource_id order by id)
        )
        select d.id from donation d left join moves m on m.resource_id = d.id and m.newest
        where d.status <> coalesce(m.to_status, case d.type when 'hosted' then 'REQUESTED_PAYMENT' else 'ACTIVE' end)
        union
        select resource_id from moves where before <> from_status
        """,
        "donation",
    ),
    ConsistencyCheck(
        "donations.abandoned_are_cancelled",
        "Unpaid donations are cancelled after 24 hours, or after 30 days for bank transfers, with a delay of at most "
        "15 minutes",
        "Check that a worker is running, and look for schedule_failed in the log",
        """
        select id from donation
        where status = 'REQUESTED_PAYMENT' and type = 'hosted' and (
            (transfer_confirmed_at is null and subscription_due_on is null
             and created_at < (select at from moment) - interval '24 h 15 min')
            or transfer_confirmed_at < (select at from moment) - interval '30 days 15 min'
        )
        """,
        "donation",
    ),
    ConsistencyCheck(
        "donations.totals_match",
        "The stored donation totals match the donations of each day, nonprofit and status",
        "List totals are wrong, but no money is affected. Rebuild the partner's rows in donation_tally from its "
        "donations",
        """
        with told as (
            select partner_id, organisation_id, status, day, sum(donations) as n from (
                select partner_id, organisation_id, status, day, donations from donation_tally
                where organisation_id <> '00000000-0000-0000-0000-000000000000'
                union all select partner_id, organisation_id, status, day, donations from donation_tally_change
            ) tallies group by 1, 2, 3, 4
        ), counted as (
            select partner_id, organisation_id, status, (created_at at time zone 'UTC')::date as day, count(*) as n
            from donation group by 1, 2, 3, 4
        )
        select distinct partner_id from told full join counted using (partner_id, organisation_id, status, day)
        where coalesce(told.n, 0) <> coalesce(counted.n, 0)
        union
        select partner_id from donation_tally group by partner_id, status, day
        having sum(donations) filter (where organisation_id = '00000000-0000-0000-0000-000000000000')
            is distinct from sum(donations) filter (where organisation_id <> '00000000-0000-0000-0000-000000000000')
        """,
        "partner",
    ),
)
