"""Self-checks of disbursements: their postings, amounts in transit, and amounts owed (M3)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

_ADVICE: Final = (
    "Stop all disbursements, compare the disbursement with the bank statement, and correct the difference manually"
)

checks: Final = (
    ConsistencyCheck(
        "disbursements.states_are_posted",
        "Every disbursement has the postings for its status, amount and nonprofit, and every such posting belongs to "
        "a disbursement",
        _ADVICE,
        """
        select coalesce(p.id || ' ' || p.kind, 'posting of ' || t.owner_id || ' ' || t.kind) from (
            select d.id, move.kind, d.amount_minor, d.currency || ':' || d.organisation_id as whose
            from disbursement d cross join lateral (values
                ('disbursement_sent', d.sent_at is not null),
                ('disbursement_paid', d.paid_at is not null),
                ('disbursement_returned', d.status = 'RETURNED' and d.paid_at is not null),
                ('disbursement_reversed', d.status = 'RETURNED')
            ) as move (kind, happened)
            where move.happened
        ) p full join (
            select t.owner_id, t.kind, t.amount_minor, a.currency || ':' || a.organisation_id as whose
            from ledger_transfer t join ledger_account a
                on a.id = case t.kind when 'disbursement_returned' then t.credit_account_id else t.debit_account_id end
            where t.kind in ('disbursement_sent', 'disbursement_paid', 'disbursement_returned', 'disbursement_reversed')
        ) t on t.owner_id = p.id and t.kind = p.kind
        where (p.amount_minor, p.whose) is distinct from (t.amount_minor, t.whose)
        """,
    ),
    ConsistencyCheck(
        "disbursements.in_transit_balances_match",
        "The in-transit balance of each nonprofit equals the total of its disbursements that are sent but not "
        "confirmed",
        _ADVICE,
        """
        select key from ledger_account a left join (
            select organisation_id, currency, sum(amount_minor) as minor
            from disbursement where status = 'SENT' group by 1, 2
        ) d using (organisation_id, currency)
        where a.kind = 'disbursement_in_transit' and credits_minor - debits_minor <> coalesce(d.minor, 0)
        """,
    ),
    ConsistencyCheck(
        "disbursements.liabilities_match",
        "The amount that we owe each nonprofit equals its donations that are not in a SENT or PAID disbursement, "
        "after fees",
        _ADVICE,
        """
        select key from ledger_account a full join (
            select g.organisation_id, g.currency, sum(
                greatest(0, coalesce(g.settled_minor, g.amount_minor) - g.withdrawn_minor)) as minor
            from donation g left join disbursement d on d.id = g.disbursement_id
            where g.status in ('RECEIVED_PAYMENT', 'DISBURSED')
              and (d.id is null or d.status in ('PENDING', 'RETURNED')) group by 1, 2
        ) g on a.kind = 'donation_liability' and g.organisation_id = a.organisation_id and g.currency = a.currency
        where (a.kind = 'donation_liability' or a.id is null)
          and coalesce(credits_minor - debits_minor, 0) <> coalesce(g.minor, 0)
        """,
    ),
    ConsistencyCheck(
        "disbursements.amounts_match_donations",
        "The amount of every disbursement is the total of its donations, and the donations have the status that "
        "matches the status of the disbursement",
        _ADVICE,
        """
        select p.id from disbursement p left join (
            select disbursement_id, count(*) as n, sum(greatest(0, settled_minor - withdrawn_minor)) as minor,
                   bool_or(status = 'DISBURSED') as paid,
                   bool_and(status = 'DISBURSED') as all_paid
            from donation where disbursement_id is not null group by 1
        ) g on g.disbursement_id = p.id
        where not p.propagating and case p.status
            when 'RETURNED' then g.n is not null
            else (coalesce(g.n, 0), coalesce(g.minor, 0)) <> (p.donations, p.amount_minor)
                 or (p.status = 'PAID' and not coalesce(g.all_paid, true))
                 or (p.status <> 'PAID' and coalesce(g.paid, false)) end
        """,
        "disbursement",
    ),
    ConsistencyCheck(
        "disbursements.settled_donations_added",
        "Every settled donation is added to a disbursement within 15 minutes, unless nothing is owed or the donation "
        "is being refunded",
        "Check that a worker is running, and look for dead disbursements.collect jobs. Sending disbursements, in "
        "the console or with `almoner disbursements run`, also adds the donations",
        """
        select id from donation
        where settled_at is not null and disbursement_id is null and disputed_at is null
          and withdrawn_minor = refunded_minor and (withdrawn_minor = 0 or withdrawn_minor < settled_minor)
          and greatest(settled_at, reassigned_at, refunded_at, status_changed_at)
              < (select at from moment) - interval '15 min'
          and not exists (  -- the open one cannot hold the oldest of them: they go into the next
              select from disbursement full_
              where full_.partner_id = donation.partner_id and full_.organisation_id = donation.organisation_id
                and full_.currency = donation.settled_currency and full_.status = 'PENDING'
                and full_.amount_minor > 9007199254740991 - (
                    select settled_minor - withdrawn_minor from donation oldest
                    where partner_id = full_.partner_id and organisation_id = full_.organisation_id
                      and settled_currency = full_.currency and settled_at is not null and disbursement_id is null
                      and disputed_at is null and withdrawn_minor = refunded_minor
                      and (withdrawn_minor = 0 or withdrawn_minor < settled_minor)
                    order by id limit 1)
          )
        """,
        "donation",
    ),
    ConsistencyCheck(
        "disbursements.confirmed_on_time",
        "Every disbursement is confirmed or returned within five days of being sent",
        "Search the bank's records for the end-to-end ID of the disbursement. Then confirm it or mark it as returned, "
        "on its page or with `almoner disbursements confirm` or `mark-returned`",
        """
        select id from disbursement
        where status = 'SENT' and sent_at < (select at from moment) - interval '5 days'
        """,
        "disbursement",
    ),
    ConsistencyCheck(
        "disbursements.returned_donations_recorded",
        "Every returned disbursement, and no other, has a record of its donations, and the count and total of this "
        "record match the disbursement",
        _ADVICE,
        """
        select d.id from disbursement d left join (
            select disbursement_id, count(*) as n, sum(amount_minor) as minor
            from returned_disbursement_donation group by 1
        ) kept on kept.disbursement_id = d.id
        where not d.propagating and (coalesce(kept.n, 0), coalesce(kept.minor, 0)) is distinct from
              case d.status when 'RETURNED' then (d.donations::bigint, d.amount_minor::numeric)
                            else (0::bigint, 0::numeric) end
        """,
        "disbursement",
    ),
    ConsistencyCheck(
        "disbursements.sent_to_approved",
        "Every disbursement was sent to an organisation that was approved at that time",
        "Put the organisation on hold, in the console or with `almoner disbursements hold`, and find out who sent this "
        "disbursement and how",
        """
        select d.id from disbursement d
        where d.sent_at is not null and not exists (
            select from monetary_donation_verification v join state_change s
                on s.resource_id = v.id and s.resource = 'monetary_donation_verification'
            where v.partner_id = d.partner_id and v.organisation_id = d.organisation_id
              and s.to_status = 'approved' and s.changed_at <= d.sent_at
        )
        """,
        "disbursement",
    ),
    ConsistencyCheck(
        "disbursements.donation_statuses_match",
        "The donations of every disbursement get its new status within 15 minutes",
        "Check that a worker is running, and look for schedule_failed in the log",
        """
        select id from disbursement
        where propagating and status_changed_at < (select at from moment) - interval '15 min'
        """,
        "disbursement",
    ),
    ConsistencyCheck(
        "disbursements.automatic_holds_reviewed",
        "Every automatic hold is reviewed within five days. Holds are placed if the bank contradicts itself or takes "
        "money back",
        "See the reason under Holds on disbursements in the console, or with `almoner disbursements holds`. Ask the "
        "bank, resolve the problem, and release the hold",
        """
        select organisation_id from (
            select distinct on (organisation_id, partner_id) * from disbursement_hold
            order by organisation_id, partner_id, id desc
        ) newest where held and decided_by = 'rule' and decided_at < (select at from moment) - interval '5 days'
        """,
        "organisation",
    ),
)
