"""Self-checks of regular donations."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

_MONEY_IS_HERE: Final = "d.status in ('RECEIVED_PAYMENT', 'DISBURSED')"

checks: Final = (
    ConsistencyCheck(
        "donation_subscriptions.paid_dates_match",
        "A due date of a regular donation is marked as paid if, and only if, its donation is paid",
        "Pause the regular donation with POST /v1/donation-subscriptions/{id}/pause, and compare the due date with "
        "the donation",
        f"""
        select d.id from donation d
        left join donation_subscription_charge c
            on (c.subscription_id, c.due_on, c.donation_id) = (d.subscription_id, d.subscription_due_on, d.id)
        where d.subscription_due_on is not null and (c.status is not distinct from 'paid') <> ({_MONEY_IS_HERE})
        """,
        "donation",
    ),
    ConsistencyCheck(
        "donation_subscriptions.totals_match",
        "The count and total of every regular donation match its paid donations",
        "Compare its donations_count and total_minor with its donations",
        f"""
        select s.id from donation_subscription s
        left join lateral (
            select count(*) as n, coalesce(sum(amount_minor), 0) as minor from donation d
            where d.subscription_id = s.id and {_MONEY_IS_HERE}
        ) paid on true
        where (s.donations_count, s.total_minor) is distinct from (paid.n::integer, paid.minor::bigint)
        """,
        "donationsubscription",
    ),
    ConsistencyCheck(
        "donation_subscriptions.charges_are_authorised",
        "No charge of a regular donation is higher than the donor had authorised at that time",
        "Refund the excess, and pause the regular donation",
        """
        select d.id from donation d
        where d.subscription_due_on is not null and not exists (
            select from donation_subscription_agreement a
            where a.subscription_id = d.subscription_id and a.agreed_at <= d.created_at
              and a.currency = d.currency and a.amount_minor >= d.amount_minor
        )
        """,
        "donation",
    ),
    ConsistencyCheck(
        "donation_subscriptions.processed_on_time",
        "Every regular donation is processed within an hour of its due time",
        "Check that a worker is running, and look for schedule_row_failed in the log",
        """
        select id from donation_subscription where wake_at < (select at from moment) - interval '1 hour'
        """,
        "donationsubscription",
    ),
    ConsistencyCheck(
        "donation_subscriptions.first_charge_needs_donor",
        "The donor is present for every charge except the second and later charges of a regular donation",
        "Refund the payment, and find out what made the charge",
        """
        select d.id from payment p join donation d on d.id = p.donation_id
        where p.off_session and d.subscription_due_on is null
        """,
        "donation",
    ),
)
