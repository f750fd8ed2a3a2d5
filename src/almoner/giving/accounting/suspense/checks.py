"""Self-checks of unallocated payments: its postings, and that the rules are followed (M6)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "suspense.states_are_posted",
        "Every unallocated payment has the postings for its status and amount, and every such posting belongs to an "
        "unallocated payment",
        "Compare the payment at the provider with docs/money-rules.md, and correct the difference manually",
        """
        select coalesce(h.name, 'posting of ' || t.owner_id || ' ' || t.kind) from (
            select id, amount_minor, id || ' ' || kind as name, kind, currency || ':' || provider as whose
            from unallocated_payment join (values
                ('payment_unallocated', '{held,refunding,refunded,written_off,applied}'::text[]),
                ('unallocated_refund_started', '{refunding,refunded}'),
                ('unallocated_refund_sent', '{refunded}'),
                ('unallocated_written_off', '{written_off}'),
                ('unallocated_applied', '{applied}')
            ) as posting (kind, states) on status = any(states)
            where reason not in ('other_mode', 'other_account')
        ) h full join (
            select t.owner_id, t.kind, t.amount_minor, a.currency || ':' || a.provider as whose
            from ledger_transfer t join ledger_account a on a.id = t.debit_account_id
            where t.kind in ('payment_unallocated', 'unallocated_refund_started', 'unallocated_refund_sent',
                'unallocated_written_off', 'unallocated_applied')
        ) t on t.owner_id = h.id and t.kind = h.kind
        where (h.amount_minor, h.whose) is distinct from (t.amount_minor, t.whose)
        """,
    ),
    ConsistencyCheck(
        "suspense.balances_match",
        "Suspense accounts contain exactly the undecided payments, and refunds accounts exactly the refunds in "
        "progress",
        "See Unallocated payments in the console, or `almoner unallocated-payments list`. The account in the example "
        "shows the provider and currency to compare",
        """
        select key from ledger_account a left join (
            select case status when 'held' then 'suspense' else 'refunds' end as kind, provider, currency,
                   sum(amount_minor) as minor
            from unallocated_payment
            where reason not in ('other_mode', 'other_account') and status in ('held', 'refunding') group by 1, 2, 3
            union all select 'suspense', 'partner_transfers', currency, sum(overpaid_minor)
            from request_payment where status = 'held' group by currency
        ) h using (kind, provider, currency) left join (
            select 'refunds' as kind, provider, currency, sum(amount_minor) as minor
            from refund where status = 'pending' group by 2, 3
        ) r using (kind, provider, currency)
        where a.kind in ('suspense', 'refunds')
          and credits_minor - debits_minor <> coalesce(h.minor, 0) + coalesce(r.minor, 0)
        """,
    ),
    ConsistencyCheck(
        "suspense.settled_not_written_off",
        "No payment that a provider settled to our bank account has been written off",
        "The money is in our bank account, but in no ledger account. Return the money, or book it manually",
        """
        select id from unallocated_payment h where status = 'written_off'
            and exists (select from settlement_line where unallocated_payment_id = h.id)
        """,
        "heldpayment",
    ),
    ConsistencyCheck(
        "suspense.clearing_not_negative",
        "A provider's clearing balance is never negative, except for amounts that the provider has not yet debited "
        "from us",
        "More money left this account than arrived. Check the provider's reports, and check what was dismissed or "
        "recorded manually",
        """
        select key from ledger_account a left join (
            select provider, currency, sum(minor) as minor from (
                select h.provider, h.currency, h.amount_minor as minor from unallocated_payment h
                join settlement_line paid on paid.unallocated_payment_id = h.id and paid.kind = 'payment'
                where h.status = 'refunded' and not exists (
                    select from settlement_line drawn where drawn.unallocated_payment_id = h.id
                    and drawn.kind = 'refund'
                )
                union all
                select r.provider, r.currency, r.amount_minor from refund r
                join settlement_line paid on paid.payment_id = r.payment_id or paid.unallocated_payment_id = (
                    select id from unallocated_payment where applied_payment_id = r.payment_id
                )
                where r.status = 'sent' and not exists (
                    select from settlement_line drawn where drawn.refund_id = r.id
                )
                union all
                select d.provider, d.currency, d.amount_minor from dispute d
                where d.status <> 'won' and not exists (
                    select from settlement_line drawn where drawn.dispute_id = d.id and drawn.kind = 'dispute'
                )
            ) undrawn group by 1, 2
        ) r using (provider, currency)
        where a.kind = 'provider_clearing' and a.debits_minor - a.credits_minor < -coalesce(r.minor, 0)
        """,
    ),
    ConsistencyCheck(
        "suspense.held_payments_match",
        "A payment is held if, and only if, it belongs to an unallocated payment",
        "Ask the provider for the status of the payment. The money of this payment is in no ledger account",
        """
        select coalesce(p.id, h.payment_id)::text
        from (select id from payment where status = 'held') p
        full join (select payment_id from unallocated_payment where payment_id is not null) h on h.payment_id = p.id
        where p.id is null or h.payment_id is null
        """,
    ),
    ConsistencyCheck(
        "suspense.decided_on_time",
        "Unallocated payments are decided automatically within 15 minutes of the time set by the rules",
        "Check that a worker is running, and look for schedule_failed in the log",
        """
        select id from unallocated_payment
        where status = 'held' and auto_decide_at < (select at from moment) - interval '15 min'
        """,
        "heldpayment",
    ),
    ConsistencyCheck(
        "suspense.refunds_sent_on_time",
        "Every refund of an unallocated payment is sent within one day",
        "Find the cause with docs/runbooks/unallocated-payments.md. The provider rejects the refund, or cannot be "
        "reached",
        """
        select id from unallocated_payment
        where status = 'refunding' and status_changed_at < (select at from moment) - interval '1 day'
        """,
        "heldpayment",
    ),
)
