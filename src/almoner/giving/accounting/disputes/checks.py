"""Self-checks of disputes: their postings, the amounts that banks hold, and their donations (M3)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

_ADVICE: Final = "Compare the dispute with the provider's dashboard, and correct the difference manually"

checks: Final = (
    ConsistencyCheck(
        "disputes.states_are_posted",
        "Every dispute has the postings for its status and amount, and every such posting belongs to a dispute",
        _ADVICE,
        """
        select coalesce(d.id || ' ' || d.kind, 'posting of ' || t.owner_id || ' ' || t.kind) from (
            select d.id, move.kind, move.minor, d.currency || ':' || d.provider as whose
            from dispute d cross join lateral (values
                ('dispute_debited', amount_minor),
                ('dispute_returned', case
                    when status = 'won' or (status = 'lost' and unallocated_payment_id is not null
                    and absorbed_minor = 0)
                    then amount_minor end),
                ('dispute_lost', case
                    when status = 'lost' and donation_id is not null then amount_minor - absorbed_minor end),
                ('dispute_absorbed', absorbed_minor)
            ) as move (kind, minor)
            where move.minor > 0
        ) d full join (
            select t.owner_id, t.kind, t.amount_minor, a.currency || ':' || a.provider as whose
            from ledger_transfer t join ledger_account a
                on a.id = case t.kind when 'dispute_debited' then t.debit_account_id else t.credit_account_id end
            where t.kind in ('dispute_debited', 'dispute_returned', 'dispute_lost', 'dispute_absorbed')
        ) t on t.owner_id = d.id and t.kind = d.kind
        where (d.minor, d.whose) is distinct from (t.amount_minor, t.whose)
        """,
    ),
    ConsistencyCheck(
        "disputes.balances_match",
        "The balance of each ledger account for disputed money equals the total of its open disputes",
        _ADVICE,
        """
        select key from ledger_account a left join (
            select provider, currency, sum(amount_minor) as minor from dispute where status = 'open' group by 1, 2
        ) d using (provider, currency)
        where a.kind = 'disputed' and debits_minor - credits_minor <> coalesce(d.minor, 0)
        """,
    ),
    ConsistencyCheck(
        "disputes.recoveries_are_posted",
        "The amount that a returned disbursement recovers from a lost dispute is posted once, and every such posting "
        "belongs to a dispute",
        _ADVICE,
        """
        select coalesce(d.id::text, 'posting of ' || t.owner_id)
        from (select id, recovered_minor from dispute where recovered_minor > 0) d
        full join (select owner_id, amount_minor from ledger_transfer where kind = 'dispute_recovered') t
            on t.owner_id = d.id
        where d.recovered_minor is distinct from t.amount_minor
        """,
    ),
    ConsistencyCheck(
        "disputes.donations_are_marked",
        "A donation is marked as disputed while it has an open dispute, and is not in a pending disbursement during "
        "that time",
        "Put disbursements to the nonprofit on hold, and compare the donation with its disputes",
        """
        select d.id from donation d left join dispute o on o.donation_id = d.id and o.status = 'open'
        where (d.disputed_at is null) <> (o.id is null)
        union
        select d.id from donation d join disbursement p on p.id = d.disbursement_id
        where d.disputed_at is not null and p.status = 'PENDING'
        """,
        "donation",
    ),
    ConsistencyCheck(
        "disputes.donation_amounts_match",
        "The refunded and withdrawn amounts of each donation are the totals of its refunds and lost disputes",
        "Put disbursements to the nonprofit on hold, and compare the donation with its refunds and disputes",
        """
        select d.id from donation d left join (
            select donation_id, sum(back) as back, sum(withdrawn) as withdrawn from (
                select donation_id, case status when 'sent' then amount_minor else 0 end as back,
                       case status when 'refused' then 0 else amount_minor end as withdrawn from refund
                union all
                select donation_id, amount_minor,
                       case when disbursed and recovered_minor is null then 0 else amount_minor end
                from dispute where status = 'lost'
            ) parts group by 1
        ) p on p.donation_id = d.id
        where (d.refunded_minor, d.withdrawn_minor) is distinct from (coalesce(p.back, 0), coalesce(p.withdrawn, 0))
        """,
        "donation",
    ),
    ConsistencyCheck(
        "disputes.decided_on_time",
        "Every dispute is decided within 120 days",
        "Ask the payment provider. If the provider reports no outcome, record the outcome on the page of the dispute, "
        "or with `almoner disputes mark-won` or `mark-lost`",
        """
        select id from dispute
        where status = 'open' and opened_at < (select at from moment) - interval '120 days'
        """,
        "dispute",
    ),
    ConsistencyCheck(
        "disputes.refreshed_daily",
        "The status of every open dispute is fetched from the payment provider every day",
        "Check that a worker is running, and look for dead disputes.refresh jobs. A dead job means that the provider "
        "cannot be reached",
        """
        select id from dispute
        where status = 'open' and checked_at < (select at from moment) - interval '1 day 15 min'
        """,
        "dispute",
    ),
)
