"""What the self-check asks of bank statements: nothing waits for long, and what providers paid out arrived (M7)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "bank_lines.are_young",
        "No line of a bank statement waits for a person for more than five days",
        "Review them with `almoner bank-statements lines`: match each, or dismiss it with a note",
        "select id from bank_statement_line where status = 'open' "
        "and created_at < (select at from moment) - interval '5 days'",
        "bankline",
    ),
    ConsistencyCheck(
        "bank_lines.providers_paid",
        "What a provider says that it paid out to us has come to our account, where its statements are imported",
        "Compare the provider's report with the bank's statement: see `almoner bank-statements provider-payouts`",
        """
        select s.id from unreconciled_settlement s where exists (
            select from bank_statement b
            where b.currency = s.currency and b.imported_at > s.imported_at + interval '10 days'
        )
        """,
    ),
    ConsistencyCheck(
        "bank_lines.statements_follow",
        "Every statement of our bank opens with the balance that another one ended with",
        "Import the statement that is missing: `almoner bank-statements gaps` says before which",
        "select id from bank_statement_gap",
        "bankstatement",
    ),
    ConsistencyCheck(
        "bank_lines.payouts_follow",
        "A payout whose transfer the bank has booked is paid, or came back by a line of the bank",
        "The import was interrupted: import the statement again",
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
        "bank_lines.gifts_are_settled",
        "A line that is a donor's transfer, or what went back of one, is booked for its amount; and each has its line",
        "Compare the line with the bank's statement, and put the difference right by a person",
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
