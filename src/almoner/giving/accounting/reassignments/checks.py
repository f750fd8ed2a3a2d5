"""Self-checks of reassigned donations (M3)."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "reassignments.are_posted",
        "Every reassignment is posted once, between its two nonprofits, and every such posting belongs to a "
        "reassignment",
        "Stop disbursements to both nonprofits, and correct the difference manually",
        """
        select coalesce(r.id::text, 'posting of ' || t.owner_id)
        from (select * from reassignment where amount_minor > 0) r
        full join (
            select t.owner_id, t.amount_minor, t.currency, d.organisation_id as source, c.organisation_id as target
            from ledger_transfer t
            join ledger_account d on d.id = t.debit_account_id join ledger_account c on c.id = t.credit_account_id
            where t.kind = 'reassigned'
        ) t on t.owner_id = r.id
        where (r.amount_minor, r.currency, r.from_organisation_id, r.to_organisation_id) is distinct from
              (t.amount_minor, t.currency, t.source, t.target)
        """,
    ),
    ConsistencyCheck(
        "reassignments.donations_match",
        "Every reassigned donation belongs to the nonprofit of its last reassignment",
        "Stop disbursements to both nonprofits, and compare the donation with its events",
        """
        select d.id from donation d left join (
            select distinct on (donation_id) donation_id, from_organisation_id, to_organisation_id
            from reassignment order by donation_id, id desc
        ) r on r.donation_id = d.id
        where r.donation_id is null and d.reassigned_from is not null
           or (r.from_organisation_id, r.to_organisation_id) is distinct from (d.reassigned_from, d.organisation_id)
              and r.donation_id is not null
        """,
        "donation",
    ),
)
