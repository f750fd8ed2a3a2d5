"""What the self-check asks of disputes: their postings, what banks hold, and the gifts that they are about (M3)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

_ADVICE: Final = "Compare the dispute with its provider's dashboard, and put the difference right by a person"

checks: Final = (
    ConsistencyCheck(
        "disputes.states_are_posted",
        "A dispute has the postings of its state, for its amount; and no such posting has no dispute",
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
                on a.id = case t.kind when 'dispute_debited' then t.debit_account else t.credit_account end
            where t.kind in ('dispute_debited', 'dispute_returned', 'dispute_lost', 'dispute_absorbed')
        ) t on t.owner_id = d.id and t.kind = d.kind
        where (d.minor, d.whose) is distinct from (t.amount_minor, t.whose)
        """,
    ),
    ConsistencyCheck(
        "disputes.clearing_closes",
        "What banks have drawn and may give back is the disputes that are open",
        _ADVICE,
        """
        select key from ledger_account a left join (
            select provider, currency, sum(amount_minor) as minor from dispute where status = 'open' group by 1, 2
        ) d using (provider, currency)
        where a.kind = 'disputed' and debits_minor - credits_minor <> coalesce(d.minor, 0)
        """,
    ),
    ConsistencyCheck(
        "disputes.recovered_is_posted",
        "What a payout that came back has brought back of a lost dispute is posted once; and nothing else is",
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
        "disputes.gifts_follow",
        "A gift is disputed while a dispute of it is open, and in no other nonprofit's bucket meanwhile",
        "Hold payouts to the nonprofit, and compare the gift with its disputes",
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
        "disputes.gifts_add_up",
        "What is back of a gift, and what is withdrawn from it, is its refunds and its lost disputes",
        "Hold payouts to the nonprofit, and compare the gift with its refunds and its disputes",
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
        "disputes.are_decided",
        "A dispute is decided within 120 days",
        "Ask its provider; if it reports nothing, record the outcome with `almoner disputes mark-won` or `mark-lost`",
        """
        select id from dispute
        where status = 'open' and opened_at < (select at from moment) - interval '120 days'
        """,
        "dispute",
    ),
    ConsistencyCheck(
        "disputes.are_looked_at",
        "An open dispute is looked at every day",
        "See that a worker runs, and look for dead disputes.look jobs: its provider cannot be reached",
        """
        select id from dispute
        where status = 'open' and checked_at < (select at from moment) - interval '1 day 15 min'
        """,
        "dispute",
    ),
)
