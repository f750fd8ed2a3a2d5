"""What the self-check asks of held money: its postings, and that the rules are followed (M6)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "suspense.states_are_posted",
        "Held money has the postings of its state, for its amount; and no such posting has no held money",
        "Compare the payment at its provider with docs/money-rules.md, and put the difference right by a person",
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
            from ledger_transfer t join ledger_account a on a.id = t.debit_account
            where t.kind in ('payment_unallocated', 'unallocated_refund_started', 'unallocated_refund_sent',
                'unallocated_written_off', 'unallocated_applied')
        ) t on t.owner_id = h.id and t.kind = h.kind
        where (h.amount_minor, h.whose) is distinct from (t.amount_minor, t.whose)
        """,
    ),
    ConsistencyCheck(
        "suspense.clearing_closes",
        "Suspense is the held money that nobody has decided over; refunds is what is on its way back",
        "See `almoner unallocated-payments list`; the account named says which provider and currency to compare",
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
        "suspense.dismissed_was_never_ours",
        "What a provider has settled to our bank is never dismissed as none of ours",
        "The money is on our bank account and in no other: send it back, or book it by a person",
        """
        select id from unallocated_payment h where status = 'written_off'
            and exists (select from settlement_line where unallocated_payment_id = h.id)
        """,
        "heldpayment",
    ),
    ConsistencyCheck(
        "suspense.providers_owe_us",
        "A provider never holds less than nothing for us, but for what it has yet to draw from our bank",
        "More left this account than came: compare the provider's reports, and what was dismissed or recorded by hand",
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
        "suspense.payments_are_held",
        "A payment whose money is held has its held money, and held money its payment",
        "Ask the provider how the payment stands; its money is in no account",
        """
        select coalesce(p.id, h.payment_id)::text
        from (select id from payment where status = 'held') p
        full join (select payment_id from unallocated_payment where payment_id is not null) h on h.payment_id = p.id
        where p.id is null or h.payment_id is null
        """,
    ),
    ConsistencyCheck(
        "suspense.rules_are_followed",
        "The rule decides over held money within 15 minutes after its moment",
        "See that a worker runs, and look for sweep_failed in the log",
        """
        select id from unallocated_payment
        where status = 'held' and auto_decide_at < (select at from moment) - interval '15 min'
        """,
        "heldpayment",
    ),
    ConsistencyCheck(
        "suspense.refunds_arrive",
        "A refund that was begun is made within a day",
        "See why by docs/runbooks/unallocated-payments.md: the provider refuses it, or cannot be reached",
        """
        select id from unallocated_payment
        where status = 'refunding' and status_changed_at < (select at from moment) - interval '1 day'
        """,
        "heldpayment",
    ),
)
