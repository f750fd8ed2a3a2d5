"""Self-checks of the ledger itself (M1, M2)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

_ADVICE: Final = (
    "Stop all disbursements, and find out who wrote to the ledger's tables. The service itself cannot cause this "
    "difference"
)

checks: Final = (
    ConsistencyCheck(
        "ledger.debits_equal_credits",
        "In every currency, debits equal credits",
        _ADVICE,
        "select currency::text from ledger_account group by currency having sum(debits_minor) <> sum(credits_minor)",
    ),
    ConsistencyCheck(
        "ledger.balances_are_sums",
        "The debits and credits of every account are the totals of its transfers",
        _ADVICE,
        """
        select key from ledger_account left join (
            select id, sum(debit) as debits, sum(credit) as credits from (
                select debit_account_id as id, amount_minor as debit, 0 as credit from ledger_transfer
                union all select credit_account_id, 0, amount_minor from ledger_transfer
            ) sides group by id
        ) sums using (id)
        where (debits_minor, credits_minor) is distinct from (coalesce(debits, 0), coalesce(credits, 0))
        """,
    ),
    ConsistencyCheck(
        "ledger.no_negative_balances",
        "No liability, in-transit, suspense, refunds or request clearing account has a negative balance",
        _ADVICE,
        """
        select key from ledger_account
        where kind in ('donation_liability', 'disbursement_in_transit', 'suspense', 'refunds', 'request_clearing')
          and debits_minor > credits_minor
        """,
    ),
)
