"""What the self-check asks of appeals: that each is decided in time, by somebody else, and followed."""

from typing import Final

from almoner.platform.selfcheck import Check

checks: Final = (
    Check(
        "appeals.decided_in_time",
        "An appeal is decided within ten business days",
        "Have an operator decide it who did not decide first: docs/runbooks/reviews.md",
        "select id from appeal where status = 'open' and due_at < (select at from moment)",
        "appeal",
    ),
    Check(
        "appeals.open_are_asked",
        "An open appeal waits in the queue of reviews, and its submission has failed",
        "Somebody wrote to the tables: compare `state_change` of submission and appeal with review_decision",
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
    Check(
        "appeals.decided_by_their_reviews",
        "What an appeal came to is what its reviewer decided, and no first decider decided it",
        "Compare review_decision with the appeal: one of the two was not written by the service",
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
    Check(
        "appeals.reversed_are_followed",
        "The validation request that a reversed appeal let through is accepted",
        "See `state_change` of the record for when it moved, and the appeal's review for who decided",
        """
        select a.id from appeal a join validation_submission s on s.id = a.validation_submission_id
        join validation_request r on r.id = s.validation_request_id
        where a.status = 'reversed' and r.status = 'rejected'
        """,
        "appeal",
    ),
)
