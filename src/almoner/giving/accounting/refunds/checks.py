"""Self-checks of refunds: their postings, and that they add up and arrive (M3)."""

from typing import Final

from almoner.giving.accounting.refunds.store import FAILED_AFTER_SENT, UNSENT
from almoner.platform.observability.selfcheck import ConsistencyCheck

_ADVICE: Final = "Compare the refund with the records of the provider or the bank, and correct the difference manually"

checks: Final = (
    ConsistencyCheck(
        "refunds.states_are_posted",
        "Every refund has the postings for its status and amounts, and every such posting belongs to a refund",
        _ADVICE,
        """
        select coalesce(r.id || ' ' || r.kind, 'posting of ' || t.owner_id || ' ' || t.kind) from (
            select refund.id, move.kind, move.minor, refund.currency || ':' || refund.provider as whose
            from refund cross join lateral (values
                ('donation_refund_started', deducted_minor),
                ('donation_refund_fee_covered', amount_minor - deducted_minor),
                ('donation_refund_sent', case status when 'sent' then amount_minor end),
                ('donation_refund_reversed', restored_minor),
                ('donation_refund_fee_restored', amount_minor - restored_minor)
            ) as move (kind, minor)
            where move.minor > 0
        ) r full join (
            select t.owner_id, t.kind, t.amount_minor, a.currency || ':' || a.provider as whose
            from ledger_transfer t join ledger_account a
                on a.id = case when t.kind in ('donation_refund_started', 'donation_refund_fee_covered')
                          then t.credit_account_id
                          else t.debit_account_id end
            where t.kind in ('donation_refund_started', 'donation_refund_fee_covered', 'donation_refund_sent',
                             'donation_refund_reversed',
                             'donation_refund_fee_restored')
        ) t on t.owner_id = r.id and t.kind = r.kind
        where (r.minor, r.whose) is distinct from (t.amount_minor, t.whose)
        """,
    ),
    ConsistencyCheck(
        "refunds.use_original_payment",
        "Every refund goes through the donation's original payment, or by bank transfer if the donation is direct",
        _ADVICE,
        """
        select r.id from refund r join donation d on d.id = r.donation_id
        left join payment p on p.id = d.payment_id
        where r.payment_id is distinct from d.payment_id or r.currency <> d.currency
           or r.provider <> coalesce(p.provider, 'partner_transfers')
        """,
        "refund",
    ),
    ConsistencyCheck(
        "refunds.sent_on_time",
        "Every refund is sent within one day, or within seven days if it goes to a partner by bank transfer",
        "See Refunds in the console, or `almoner refunds list`, and docs/runbooks/refunds.md",
        """
        select id from refund
        where status = 'pending' and status_changed_at < (select at from moment)
            - case provider when 'partner_transfers' then interval '7 days' else interval '1 day' end
        """,
        "refund",
    ),
    ConsistencyCheck(
        "refunds.failures_resolved",
        "Every failed or returned refund is created again or resolved within seven days",
        "See Failed refunds in the console, or `almoner refunds failed`, and docs/runbooks/refunds.md",
        f"select r.id {UNSENT} and r.ended_at < (select at from moment) - interval '7 days' union all "
        f"select r.id {FAILED_AFTER_SENT} and f.reported_at < (select at from moment) - interval '7 days'",
        "refund",
    ),
)
