"""Self-checks of payment files: sums match the ledger, and no disbursement is paid twice (M11)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "payment_files.totals_match",
        "The count and control sum of every payment file match its payments, and each payment was posted as sent with "
        "its amount",
        "Do not send the file. If it was already sent, compare it with the bank statement, payment by payment",
        """
        select f.id from payment_file f left join (
            select p.file_id, count(*) as n, sum(p.amount_minor) as minor,
                   bool_and(t.amount_minor is not distinct from p.amount_minor) as posted
            from payment_file_transaction p
            left join ledger_transfer t on t.owner_id = p.disbursement_id and t.kind = 'disbursement_sent'
            group by 1
        ) p on p.file_id = f.id
        where (f.payments, f.amount_minor) is distinct from (p.n, p.minor) or p.posted is distinct from true
        """,
        "bankfile",
    ),
    ConsistencyCheck(
        "payment_files.paid_to_approved_accounts",
        "Every payment goes to an account of its nonprofit, in its currency, that was approved before the file was "
        "created",
        "Ask the bank to stop the payment, and find out who changed the table",
        """
        select p.file_id from payment_file_transaction p
        join payment_file f on f.id = p.file_id join disbursement d on d.id = p.disbursement_id
        join payee_bank_account a on a.id = p.payee_bank_account_id
        where (a.organisation_id, a.currency) is distinct from (d.organisation_id, d.currency)
           or a.status not in ('approved', 'replaced') or greatest(a.first_at, a.second_at) > f.created_at
        """,
        "bankfile",
    ),
)
