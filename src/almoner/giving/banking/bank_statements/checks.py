"""Self-checks of bank statements: no line waits for long, and provider payouts arrived (M7)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "bank_statements.lines_matched_on_time",
        "Every bank statement line is matched or dismissed within five days",
        "See Lines to match in the console, or `almoner bank-statements lines`. Match each line, or dismiss it with a "
        "note",
        "select id from bank_statement_line where status = 'open' "
        "and created_at < (select at from moment) - interval '5 days'",
        "bankline",
    ),
    ConsistencyCheck(
        "bank_statements.provider_payouts_arrived",
        "Every provider payout has arrived in our bank account, if statements of the account are imported",
        "Compare the provider's report with the bank statement. See Provider payouts without a bank statement line in "
        "the console, or `almoner bank-statements provider-payouts`",
        """
        select s.id from unreconciled_settlement s where exists (
            select from bank_statement b
            where b.currency = s.currency and b.imported_at > s.imported_at + interval '10 days'
        )
        """,
    ),
    ConsistencyCheck(
        "bank_statements.balances_are_continuous",
        "The opening balance of every bank statement is the closing balance of another statement",
        "Import the missing statement. To see the statement that follows it, open Missing and incomplete statements in "
        "the console, or run `almoner bank-statements gaps`",
        "select id from bank_statement_gap",
        "bankstatement",
    ),
    ConsistencyCheck(
        "bank_statements.lines_are_readable",
        "Every line of an imported bank statement could be read",
        "Import a corrected file. If you know what the lines are, explain the statement under Missing and incomplete "
        "statements in the console, or with `almoner bank-statements explain`",
        "select id from bank_statement_incomplete",
        "bankstatement",
    ),
    ConsistencyCheck(
        "bank_statements.disbursements_match",
        "Every disbursement that matches a bank statement line is PAID, or RETURNED if another line shows the return",
        "The import was interrupted. Import the statement again",
        """
        select l.id from bank_statement_line l join disbursement d on d.id = l.disbursement_id
        where (l.matched_as, d.status) not in (('disbursement', 'PAID'), ('disbursement_return', 'RETURNED'))
          and not (l.matched_as = 'disbursement' and d.status = 'RETURNED' and exists (
              select from bank_statement_line r where r.disbursement_id = d.id and r.matched_as = 'disbursement_return'
          ))
        """,
        "bankline",
    ),
    ConsistencyCheck(
        "bank_statements.donations_are_booked",
        "Every statement line for a donor's bank transfer, or for the refund of one, is booked with the same amount, "
        "and every such booking has a statement line",
        "Compare the line with the bank statement, and correct the difference manually",
        """
        select coalesce(l.settlement_id, s.id)::text from (
            select settlement_id, amount_minor, currency from bank_statement_line where matched_as in ('donation',
                'donation_refund')
        ) l full join (
            select s.id, line.net_minor, s.currency from settlement s
            left join settlement_line line on line.settlement_id = s.id and line.status = 'matched'
            where s.provider = 'bank_transfer'
        ) s on s.id = l.settlement_id
        where (l.amount_minor, l.currency) is distinct from (s.net_minor, s.currency)
        """,
    ),
)
