"""Self-checks of settlements: each line is booked once, and provider clearing balances (M3, M7)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

DAYS_TO_ARRIVE: Final = 7
"""The days until a payment must be settled, because providers pay out daily or weekly. Sandboxes have no reports."""

checks: Final = (
    ConsistencyCheck(
        "settlements.lines_are_posted",
        "Every booked settlement line has postings for its amounts, and every such posting belongs to a line",
        "Compare the line with the provider's report, and correct the difference manually",
        """
        select coalesce(l.id || ' ' || l.kind, 'posting of ' || t.owner_id || ' ' || t.kind) from (
            select line.id, move.kind, move.minor, line.currency || ':' || line.provider as whose
            from settlement_line line cross join lateral (values
                ('settled', case line.kind when 'payment' then net_minor end),
                ('refund_settled', case line.kind when 'refund' then -net_minor end),
                ('dispute_settled', case line.kind when 'dispute' then -net_minor end),
                ('dispute_won_settled', case line.kind when 'dispute_won' then net_minor end),
                ('provider_fee', fee_minor),
                ('fee_charged', case when payment_id is not null then fee_minor - waived_fee_minor end)
            ) as move (kind, minor)
            where line.status = 'matched' and move.minor > 0
        ) l full join (
            select t.owner_id, t.kind, t.amount_minor, a.currency || ':' || a.provider as whose
            from ledger_transfer t join ledger_account a
                on a.id = case when t.kind not in ('refund_settled', 'dispute_settled') then t.credit_account_id
                          else t.debit_account_id end
            where t.kind in ('settled', 'refund_settled', 'provider_fee', 'fee_charged', 'dispute_settled',
                             'dispute_won_settled')
        ) t on t.owner_id = l.id and t.kind = l.kind
        where (l.minor, l.whose) is distinct from (t.amount_minor, t.whose)
        """,
    ),
    ConsistencyCheck(
        "settlements.donations_have_lines",
        "Every settled hosted donation has a settlement line for its payment and amount, and every such line has a "
        "donation",
        "Compare the donation with the provider's report. Do not disburse the donation until they match",
        """
        select coalesce(d.payment_id, l.payment_id)::text
        from (
            select payment_id, settled_minor, settled_currency from donation
            where settled_at is not null and type = 'hosted'
              and not exists (select from unallocated_payment where applied_payment_id = donation.payment_id)
        ) d
        full join (
            select payment_id, net_minor, currency from settlement_line
            where status = 'matched' and payment_id is not null
        ) l on l.payment_id = d.payment_id
        where (d.settled_minor, d.settled_currency) is distinct from (l.net_minor, l.currency)
        """,
    ),
    ConsistencyCheck(
        "settlements.clearing_balances_match",
        "Each provider's clearing balance equals its payments, minus settlements, refunds, disputes and write-offs",
        "See Unmatched settlement lines in the console, or `almoner settlements unmatched`. The account in the example "
        "shows the provider and currency",
        """
        select a.key from ledger_account a left join (
            select provider, currency, sum(minor) as minor from (
                select provider, currency, amount_minor as minor from payment where status = 'succeeded'
                union all
                select provider, currency, amount_minor from unallocated_payment
                where reason not in ('other_mode', 'other_account') and status in ('held', 'refunding')
                union all
                select provider, currency, -amount_minor from refund where status = 'sent'
                union all
                select provider, currency, -gross_minor from settlement_line where status = 'matched'
                union all
                select provider, currency, -amount_minor from dispute
                where status = 'open' or (status = 'lost' and (donation_id is not null or absorbed_minor > 0))
            ) moves group by provider, currency
        ) m using (provider, currency)
        where a.kind = 'provider_clearing' and a.debits_minor - a.credits_minor <> coalesce(m.minor, 0)
        """,
    ),
    ConsistencyCheck(
        "settlements.payments_settled_on_time",
        f"Every payment is in a settlement report within {DAYS_TO_ARRIVE} days, once its provider has sent a report",
        "Import the provider's missing reports. If no report contains a payment, ask the provider about it",
        f"""
        select provider || ' ' || provider_payment from (
            select provider, provider_payment, status_changed_at as since from payment
            where status = 'succeeded' and not exists (select from unallocated_payment
            where applied_payment_id = payment.id)
            union all
            select provider, provider_payment, received_at from unallocated_payment
            where status = 'held' and reason not in ('other_mode', 'other_account')
        ) paid
        where since < (select at from moment) - interval '{DAYS_TO_ARRIVE} days'
          and provider in (select provider from settlement where reference not like 'simulated-%')
          and not exists (
              select from settlement_line line
              where (line.provider, line.provider_payment) = (paid.provider, paid.provider_payment)
                and line.kind = 'payment' and line.status <> 'cleared'
          )
        """,
    ),
    ConsistencyCheck(
        "settlements.exceptions_resolved_on_time",
        "Every unmatched settlement line is resolved within four days",
        "See the reason under Unmatched settlement lines in the console, or with `almoner settlements unmatched`. "
        "Dismiss lines that will never be booked",
        """
        select provider || ' ' || provider_payment || ': ' || reason from settlement_line
        where status = 'exception' and created_at < (select at from moment) - interval '4 days'
        """,
    ),
)
