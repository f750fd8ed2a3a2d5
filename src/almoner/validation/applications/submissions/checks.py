"""Self-checks of submissions: none waits for ended checks, and each result was reported once."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "validation_submissions.decided_on_time",
        "Every submission gets its result within 15 minutes of its last check",
        "Check that a worker is running, and look for dead validation_submissions.evaluate jobs. See "
        "docs/runbooks/stuck-queue.md",
        """
        with bounds as (select at - interval '15 min' as until from moment)
        select s.id from bounds, validation_submission s
        left join validation_request r on r.id = s.validation_request_id
        left join monitoring_subscription m on m.id = s.monitoring_subscription_id
        left join eligibility_subscription e on e.id = s.eligibility_subscription_id
        left join agent_verification a on a.id = s.agent_verification_id
        where s.status = 'pending' and s.created_at < until
            and (s.organisation_id is not null or not 'validation_request' = any(s.checks)
                 or r.status <> 'pending' and r.status_changed_at < until)
            and (m.id is null
                 or m.status in ('cancelled', 'validation_request_failed') and m.status_changed_at < until
                 or m.status = 'live' and m.compliance_status is not null and not exists (
                     select from evidence c where c.record_id = m.id and c.recorded_at >= until
                 ))
            and (e.id is null
                 or e.status in ('live', 'cannot_define_eligibility', 'cancelled', 'validation_request_failed')
                    and e.updated_at < until)
            and (a.id is null or a.status in ('approved', 'rejected') and a.status_changed_at < until)
        """,
        "validationsubmission",
    ),
    ConsistencyCheck(
        "validation_submissions.results_reported_once",
        "Every result in the last 80 days was reported to the partner exactly once",
        "Somebody changed the tables directly. Compare the tables with the last good backup",
        """
        with bounds as (select at - interval '80 days' as since from moment),
        answered as (
            select partner_id, status, at, count(*) as n from (
                select partner_id, status, processed_at as at from validation_submission
                where status in ('succeeded', 'failed')
                union all  -- what an appeal has overturned since
                select s.partner_id, c.to_status, c.changed_at from state_change c
                join validation_submission s on s.id = c.resource_id
                where c.resource = 'validation_submission' and c.to_status = 'failed' and s.status <> 'failed'
            ) one, bounds where at > since group by 1, 2, 3
        ),
        told as (
            select partner_id, split_part(type, '.', 2) as status, created_at as at, count(*) as n from event, bounds
            where type in ('validation_submission.succeeded', 'validation_submission.failed') and created_at > since
            group by 1, 2, 3
        )
        select partner_id || ' ' || status || ' ' || at from answered a left join told t using (partner_id, status, at)
        where a.n is distinct from t.n
        """,
    ),
    ConsistencyCheck(
        "validation_submissions.have_organisations",
        "Every successful submission has an organisation. If it has a validation request, both have the same "
        "organisation",
        "Somebody changed the tables directly. Compare the tables with the last good backup",
        """
        select s.id from validation_submission s left join validation_request r on r.id = s.validation_request_id
        where s.status = 'succeeded'
            and (s.organisation_id is null or s.organisation_id <> coalesce(r.organisation_id, s.organisation_id))
        """,
        "validationsubmission",
    ),
)
