"""Self-checks of donation requests: their sums and postings, and that none stays half processed (M3)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

_ADVICE: Final = (
    "Stop all disbursements, compare the request with our bank statement, and correct the difference manually"
)

checks: Final = (
    ConsistencyCheck(
        "donation_requests.amounts_match_donations",
        "The amount of each donation request is the total of its donations, and its allocated amount is the total of "
        "its received donations",
        _ADVICE,
        """
        select r.id from donation_request r left join (
            select donation_request_id, count(*) as n, sum(amount_minor) as minor,
                   coalesce(sum(amount_minor) filter (where status <> 'REQUESTED_PAYMENT'), 0) as received
            from donation where donation_request_id is not null group by 1
        ) d on d.donation_request_id = r.id
        where (r.donations, r.amount_minor, r.allocated_minor) is distinct from
              (coalesce(d.n, 0), coalesce(d.minor, 0), coalesce(d.received, 0))
        """,
        "donationrequest",
    ),
    ConsistencyCheck(
        "donation_requests.paid_amounts_match",
        "The paid amount of each donation request is the total of the payments applied to it",
        _ADVICE,
        """
        select r.id from donation_request r left join (
            select donation_request_id, sum(applied_minor) as minor from request_payment group by 1
        ) p on p.donation_request_id = r.id
        where r.paid_minor <> coalesce(p.minor, 0)
        """,
        "donationrequest",
    ),
    ConsistencyCheck(
        "donation_requests.transfers_are_posted",
        "Every partner's payment has the postings for its parts and status, and every such posting belongs to a "
        "payment",
        _ADVICE,
        """
        select coalesce(p.id || ' ' || p.kind, 'posting of ' || t.owner_id || ' ' || t.kind) from (
            select p.id, part.kind, part.minor, p.currency::text as currency
            from request_payment p cross join lateral (values
                ('request_paid', p.applied_minor, p.applied_from is null),
                ('overpayment_applied', p.applied_minor, p.applied_from is not null),
                ('request_overpaid', p.overpaid_minor, p.applied_from is null),
                ('overpayment_returned', p.overpaid_minor, p.status = 'returned')
            ) as part (kind, minor, happened)
            where part.happened and part.minor > 0
        ) p full join (
            select owner_id, kind, amount_minor as minor, currency::text as currency from ledger_transfer
            where kind in ('request_paid', 'request_overpaid', 'overpayment_returned', 'overpayment_applied')
        ) t on t.owner_id = p.id and t.kind = p.kind
        where (p.minor, p.currency) is distinct from (t.minor, t.currency)
        union all
        select p.id || ' is not what was over' from request_payment p
        full join (select * from request_payment where status = 'applied') f on f.id = p.applied_from
        where num_nonnulls(p.applied_from, f.id) > 0
          and (p.amount_minor, p.currency) is distinct from (f.overpaid_minor, f.currency)
        """,
    ),
    ConsistencyCheck(
        "donation_requests.received_are_posted",
        "Every received direct donation has a posting for its amount, and every such posting belongs to a donation",
        _ADVICE,
        """
        select coalesce(d.id::text, 'posting of ' || t.owner_id) from (
            select id, settled_minor as minor, settled_currency::text as currency from donation
            where type = 'direct' and status in ('RECEIVED_PAYMENT', 'DISBURSED')
        ) d full join (
            select owner_id, amount_minor as minor, currency::text as currency from ledger_transfer
            where kind = 'request_allocated'
        ) t on t.owner_id = d.id
        where (d.minor, d.currency) is distinct from (t.minor, t.currency)
        """,
    ),
    ConsistencyCheck(
        "donation_requests.clearing_balance_matches",
        "The request clearing balance equals what partners paid, minus what is allocated to donations",
        _ADVICE,
        """
        select key from ledger_account a left join (
            select currency, sum(paid_minor - allocated_minor) as minor from donation_request group by 1
        ) r using (currency)
        where a.kind = 'request_clearing' and credits_minor - debits_minor <> coalesce(r.minor, 0)
        """,
    ),
    ConsistencyCheck(
        "donation_requests.completed_on_time",
        "Within 15 minutes, every donation request is complete, and its payments are allocated to donations",
        "Check that a worker is running and that no donation_requests.run job is dead. Then create requests under "
        "Donation requests in the console, or with `almoner donation-requests run`",
        """
        select id from donation_request
        where collecting and created_at < (select at from moment) - interval '15 min'
           or allocating and (
               select max(received_at) from request_payment where donation_request_id = donation_request.id
           ) < (select at from moment) - interval '15 min'
        """,
        "donationrequest",
    ),
)
