"""Self-checks of Gift Aid claims: only valid donations are claimed, and adjustments add up."""

from typing import Final

from almoner.giving.gift_aid.claims.store import STANDING
from almoner.platform.observability.selfcheck import ConsistencyCheck

_ADVICE: Final = (
    "Do not submit anything to HMRC for this charity until somebody has compared the claim with its donations"
)

checks: Final = (
    ConsistencyCheck(
        "gift_aid_claims.totals_match",
        "The totals of every claim match its donations, lines and deductions",
        _ADVICE,
        """
        select q.id from gift_aid_claim q
        left join (
            select claim_id, count(*) as donations, max(line) as lines, sum(amount_minor) as minor
            from gift_aid_claim_donation group by 1
        ) c on c.claim_id = q.id
        left join (select claim_id, sum(amount_minor) as minor from gift_aid_deduction group by 1) d
            on d.claim_id = q.id
        where (q.donations, q.lines, q.amount_minor, q.deducted_minor)
              is distinct from (c.donations, c.lines, c.minor, coalesce(d.minor, 0))
        """,
        "giftaidclaim",
    ),
    ConsistencyCheck(
        "gift_aid_claims.claimed_donations_match",
        "A donation counts as claimed only while its claim is drafted, submitted or paid and the donation is not "
        "fully adjusted",
        _ADVICE,
        """
        select c.donation_id from gift_aid_claim_donation c join gift_aid_claim q on q.id = c.claim_id
        where c.active <> (q.status in ('drafted', 'submitted', 'paid') and c.adjusted_minor < c.amount_minor)
        """,
        "donation",
    ),
    ConsistencyCheck(
        "gift_aid_claims.adjustments_match",
        "The adjusted amount of every claimed donation is the total of its adjustments",
        _ADVICE,
        """
        select c.donation_id from gift_aid_claim_donation c
        left join (
            select claim_id, donation_id, sum(amount_minor) as minor from gift_aid_adjustment group by 1, 2
        ) a using (claim_id, donation_id)
        where c.adjusted_minor <> coalesce(a.minor, 0)
        """,
        "donation",
    ),
    ConsistencyCheck(
        "gift_aid_claims.deductions_match",
        "The deducted amount of every adjustment is the total of its deductions in drafted, submitted and paid claims",
        _ADVICE,
        """
        select a.donation_id from gift_aid_adjustment a
        left join (
            select d.adjustment_id, sum(d.amount_minor) as minor
            from gift_aid_deduction d join gift_aid_claim q on q.id = d.claim_id
            where q.status in ('drafted', 'submitted', 'paid') group by 1
        ) d on d.adjustment_id = a.id
        where a.deducted_minor <> coalesce(d.minor, 0)
        """,
        "donation",
    ),
    ConsistencyCheck(
        "gift_aid_claims.adjusted_on_time",
        "If a donation becomes smaller after it was claimed, an adjustment is recorded within 15 minutes",
        "Check that a worker is running, and look for dead gift_aid_claims.adjust jobs. Drafting the next claim for "
        "the charity also records the adjustment",
        f"""
        select c.donation_id
        from gift_aid_claim_donation c join gift_aid_claim q on q.id = c.claim_id
        join donation d on d.id = c.donation_id
        left join gift_aid_declaration g on g.id = c.declaration_id
        where c.active and q.status in ('submitted', 'paid') and c.amount_minor - c.adjusted_minor > {STANDING}
          and greatest(q.status_changed_at, d.refunded_at, d.reassigned_at, g.deleted_at)
              < (select at from moment) - interval '15 min'
        """,
        "donation",
    ),
)
