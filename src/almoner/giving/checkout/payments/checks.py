"""Self-checks of payments and their postings (M3, M4)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "payments.received_are_posted",
        "Every successful payment is posted with its amount and provider, and every such posting belongs to a payment",
        "Stop all disbursements, compare the payment at the provider with the ledger, and correct the difference "
        "manually",
        """
        select coalesce(p.id::text, 'posting of ' || t.owner_id)
        from (select * from payment where status = 'succeeded') p
        full join (
            select t.owner_id, t.amount_minor, d.key as debit, c.kind as credit, c.currency
            from ledger_transfer t
            join ledger_account d on d.id = t.debit_account_id join ledger_account c on c.id = t.credit_account_id
            where t.kind = 'payment_received'
        ) t on t.owner_id = p.id
        where (t.amount_minor, t.debit, t.credit) is distinct from
              (p.amount_minor, 'provider_clearing:' || p.currency || ':' || p.provider, 'donation_liability')
        """,
    ),
)
