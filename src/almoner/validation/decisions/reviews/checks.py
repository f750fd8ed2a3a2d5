"""Self-checks of reviews: no decided subject has an open review, and decisions are stored once."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "reviews.open_are_undecided",
        "The case of every open review exists and is not decided yet",
        "Nobody can decide this review any more. See `state_change` for what decided the case, and withdraw the "
        "review manually",
        """
        select r.kind || ' ' || r.subject_id from review r
        left join validation_request v
            on r.kind = 'validation_request' and v.id = r.subject_id and v.partner_id = r.partner_id
        left join agent_verification a
            on r.kind = 'agent_verification' and a.id = r.subject_id and a.partner_id = r.partner_id
        where r.status = 'open' and r.kind in ('validation_request', 'agent_verification')
            and coalesce(v.status, a.status, 'none') not in ('pending', 'pending_review')
        """,
    ),
    ConsistencyCheck(
        "reviews.decided_once",
        "Every decided review has exactly one decision, and all other reviews have none. Apart from appeals, a "
        "request is decided only once",
        "Somebody changed the tables directly, which the service's own role cannot do. Compare the tables with the "
        "last good backup",
        """
        select 'review ' || r.id from review r left join review_decision d on d.review_id = r.id
        where (r.status = 'decided') <> (d.id is not null)
        union all
        select 'validation_request ' || d.subject_id from review_decision d where d.kind = 'validation_request'
        group by d.subject_id having count(*) > 1 + (
            select count(*) from appeal a join validation_submission s on s.id = a.validation_submission_id
            where s.validation_request_id = d.subject_id and a.status = 'reversed'
        )
        """,
    ),
    ConsistencyCheck(
        "reviews.decisions_match_records",
        "The status of every decided record matches its last decision, and every decision is reflected in its record",
        "Compare `state_change` of the record with review_decision. One of the two was not written by the service",
        """
        select 'validation_request ' || coalesce(v.id, d.subject_id) from (
            select id, status from validation_request where status <> 'pending'
        ) v full join (
            select distinct on (subject_id) subject_id, verdict from review_decision where kind = 'validation_request'
            order by subject_id, id desc
        ) d on d.subject_id = v.id
        where v.status is distinct from d.verdict
        union all
        select 'agent_verification ' || d.subject_id from (
            select distinct on (subject_id) subject_id, verdict from review_decision where kind = 'agent_verification'
            order by subject_id, id desc
        ) d left join agent_verification a on a.id = d.subject_id
        where case d.verdict when 'rejected' then a.status is distinct from 'rejected'
            else coalesce(a.status in ('pending', 'pending_review'), true) end
        """,
    ),
)
