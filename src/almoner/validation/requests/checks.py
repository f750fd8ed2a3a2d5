"""Self-checks of validation requests: none is overdue, and each decision was reported."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "validation_requests.evaluated_on_time",
        "Every validation request is evaluated within 15 minutes",
        "Check that a worker is running, and look for dead validation_requests.evaluate jobs. See "
        "docs/runbooks/stuck-queue.md",
        """
        select r.id from validation_request r
        where r.status = 'pending'
            and coalesce(r.corrected_at, r.created_at) < (select at from moment) - interval '15 min'
            and not exists (
                select from evidence e where e.record_id = r.id and e.facts ->> 'corrections' = r.corrections::text
            )
        """,
        "validationrequest",
    ),
    ConsistencyCheck(
        "validation_requests.undecided_have_reviews",
        "Every validation request that was evaluated but not decided is in the review queue",
        "Request a review for it. Until then, Open reviews in the console and `almoner reviews list` do not show it. "
        "See docs/runbooks/reviews.md",
        """
        select r.id from validation_request r
        where r.status = 'pending'
            and exists (
                select from evidence e where e.record_id = r.id and e.facts ->> 'corrections' = r.corrections::text
            )
            and not exists (
                select from review v
                where v.kind = 'validation_request' and v.subject_id = r.id and v.status = 'open'
            )
        """,
        "validationrequest",
    ),
    ConsistencyCheck(
        "validation_requests.organisations_are_visible",
        "Every accepted validation request has an organisation that its partner can see",
        "Look in `state_change` to see when the request was accepted, and find out who removed the organisation from "
        "the partner",
        """
        select r.id from validation_request r left join organisation o on o.id = r.organisation_id
        where r.status = 'accepted' and coalesce(o.partner_id, r.partner_id) is distinct from r.partner_id
        """,
        "validationrequest",
    ),
    ConsistencyCheck(
        "validation_requests.decisions_reported_once",
        "Every decision in the last 80 days was reported to the partner exactly once",
        "Somebody changed the tables directly. Compare the tables with the last good backup",
        """
        with bounds as (select at - interval '80 days' as since from moment),
        decided as (
            select partner_id, 'validation_request.approved' as type, accepted_at as at
            from validation_request, bounds where accepted_at > since
            union all
            select partner_id, 'validation_request.rejected', rejected_at
            from validation_request, bounds where rejected_at > since
            union all  -- what an appeal has reversed since
            select d.partner_id, 'validation_request.rejected', d.decided_at
            from review_decision d join validation_request r on r.id = d.subject_id, bounds
            where d.kind = 'validation_request' and d.verdict = 'rejected' and r.status = 'accepted'
                and d.decided_at > since
        ),
        events as (
            select partner_id, type, created_at as at from event, bounds
            where type in ('validation_request.approved', 'validation_request.rejected') and created_at > since
        )
        select partner_id || ' ' || type || ' ' || at
        from (select partner_id, type, at, count(*) as n from decided group by 1, 2, 3) d
        full join (select partner_id, type, at, count(*) as n from events group by 1, 2, 3) e
            using (partner_id, type, at)
        where d.n is distinct from e.n
        """,
    ),
)
