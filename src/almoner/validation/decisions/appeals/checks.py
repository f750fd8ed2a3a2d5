"""Self-checks of appeals: each is decided in time, by another operator, and completed."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "appeals.decided_on_time",
        "Every appeal is decided within ten business days",
        "Ask an operator who did not make the first decision to decide the appeal. See docs/runbooks/reviews.md",
        "select id from appeal where status = 'open' and due_at < (select at from moment)",
        "appeal",
    ),
    ConsistencyCheck(
        "appeals.open_have_reviews",
        "Every open appeal is in the review queue, and its submission has failed",
        "Somebody changed the tables directly. Compare `state_change` of the submission and the appeal with "
        "review_decision",
        """
        select a.id from appeal a join validation_submission s on s.id = a.validation_submission_id
        where a.status = 'open' and (
            s.status <> 'failed'
            or not exists (
                select from review r where r.kind = 'appeal' and r.subject_id = a.id and r.status = 'open'
            )
        )
        """,
        "appeal",
    ),
    ConsistencyCheck(
        "appeals.outcomes_match_reviews",
        "The outcome of every appeal is its reviewer's decision, and that reviewer did not make the first decision",
        "Compare review_decision with the appeal. One of the two was not written by the service",
        """
        select coalesce(a.id, d.subject_id) from (select * from appeal where status <> 'open') a
        full join (select * from review_decision where kind = 'appeal') d on d.subject_id = a.id
        where a.id is null or d.id is null or a.decided_by <> d.decided_by
            or (a.status = 'reversed') <> (d.verdict = 'accepted')
            or a.first_decided_by && array(
                select decided_by from review_decision o where o.kind = 'appeal' and o.subject_id = a.id
            )
        """,
        "appeal",
    ),
    ConsistencyCheck(
        "appeals.reversed_requests_are_accepted",
        "If an appeal reversed the rejection of a validation request, the request is accepted",
        "See `state_change` of the record for when its status changed, and the appeal's review for who decided",
        """
        select a.id from appeal a join validation_submission s on s.id = a.validation_submission_id
        join validation_request r on r.id = s.validation_request_id
        where a.status = 'reversed' and r.status = 'rejected'
        """,
        "appeal",
    ),
    ConsistencyCheck(
        "appeals.reversed_have_results",
        "If an appeal reversed a rejection, the submission gets its new result within an hour of its last check",
        "Check that a worker is running, and look for dead appeals.complete_reversal jobs. Then enqueue a new job for "
        "the submission",
        """
        select a.id from appeal a join validation_submission s on s.id = a.validation_submission_id
        left join validation_request r on r.id = s.validation_request_id
        left join agent_verification v on v.id = s.agent_verification_id
        left join monitoring_subscription m on m.id = s.monitoring_subscription_id
        left join eligibility_subscription e on e.id = s.eligibility_subscription_id
        where a.status = 'reversed' and s.status = 'failed'
            and greatest(a.decided_at, v.processed_at, m.screened_at, e.updated_at)
                < (select at from moment) - interval '1 hour'
            and not exists (
                select from appeal later where later.validation_submission_id = s.id and later.id > a.id
            )
            and (r.id is null or r.status = 'accepted')
            and (v.id is null or v.status = 'approved')
            and (m.id is null or 'compliance' = any(a.overridden_checks) or m.status = 'cancelled'
                or m.compliance_status is not null)
            and (e.id is null or 'eligibility' = any(a.overridden_checks) or e.eligibility_status is not null
                or e.status in ('cannot_define_eligibility', 'cancelled'))
            and not exists (
                select from jsonb_object_keys(s.failure_reasons) as failed (name)
                where not (
                    name = any(a.overridden_checks)
                    or name = 'agent_verification' and v.status = 'approved'
                    or name = 'compliance' and m.compliance_status is not distinct from 'pass'
                    or name = 'eligibility' and e.eligibility_status is not distinct from 'pass'
                )
            )
        """,
        "appeal",
    ),
)
