"""Self-checks of agent verifications."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "agent_verifications.expired_are_recorded",
        "Every expired agent verification is recorded as expired within 15 minutes",
        "Check that a worker is running, and look for schedule_failed in the log",
        """
        select id from agent_verification where expires_at < (select at from moment) - interval '15 min'
        """,
        "agentverification",
    ),
    ConsistencyCheck(
        "agent_verifications.undecided_have_reviews",
        "Every agent verification that the rules do not approve is in the review queue within an hour",
        "Check that a worker is running, and look for dead agent_verifications.review jobs. Then enqueue a new job",
        """
        select a.id from agent_verification a
        where status = 'pending_review' and organisation_id is not null
            and status_changed_at < (select at from moment) - interval '1 hour'
            and not exists (
                select from review
                where kind = 'agent_verification' and subject_id = a.id and status in ('open', 'decided')
            )
            and not exists (
                select from validation_request r where r.id = a.validation_request_id
                    and coalesce(r.accepted_at, r.rejected_at) > (select at from moment) - interval '1 hour'
            )
        """,
        "agentverification",
    ),
)
