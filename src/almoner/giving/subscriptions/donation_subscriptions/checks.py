"""Self-checks of plans of regular donations."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

_MONEY_IS_HERE: Final = "d.status in ('RECEIVED_PAYMENT', 'DISBURSED')"

checks: Final = (
    ConsistencyCheck(
        "donation_subscriptions.paid_dates_match",
        "A date of a plan counts as paid exactly when its donation is paid",
        "Stop the plan with POST /v1/donation-subscriptions/{id}/pause, and compare the date's row with its donation",
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
        "A plan counts the gifts that were paid, and what they come to",
        "Compare donations_count and total_minor of the plan with its donations",
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
        "A donor agreed to as much before each gift of a plan was charged",
        "Refund what was charged too much, and pause the plan",
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
        "Every plan is looked at within an hour of its moment",
        "Check that a worker is running, and look for schedule_row_failed in the log",
        """
        select id from donation_subscription where wake_at < (select at from moment) - interval '1 hour'
        """,
        "donationsubscription",
    ),
    ConsistencyCheck(
        "donation_subscriptions.first_charge_needs_donor",
        "Without the donor only later gifts of plans are charged",
        "Refund the payment, and look for what charged it",
        """
        select d.id from payment p join donation d on d.id = p.donation_id
        where p.off_session and d.subscription_due_on is null
        """,
        "donation",
    ),
)
