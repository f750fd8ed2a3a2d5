"""Self-checks of matches with watchlists."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "matches.open_have_reviews",
        "Every match that needs a review has an open review, and no other match has an open review",
        "Open an issue with the examples. Either a match has no review that it needs, or it has a review that it does "
        "not need",
        """
        select m.id::text from screening_match m
        where m.awaiting_review is distinct from exists (
            select from review r where r.kind = 'match' and r.subject_id = m.id and r.status = 'open'
        )
        """,
    ),
    ConsistencyCheck(
        "matches.unscreened_have_reviews",
        "Every organisation whose compliance status is unknown because it cannot be screened has an open review",
        "Evaluate its monitoring subscription again: change its configuration, or import a list. If the review is "
        "still missing, open an issue with the examples",
        """
        select s.id from monitoring_subscription m
        join screening_subject s on s.type = 'organisation' and s.subject_id = m.organisation_id
        where m.status = 'live' and m.compliance_status is null and m.due_at is null and m.simulated_results is null
            and m.sources @> '[{"status": "not_screened"}]' and s.obstacle is not null and s.manual_result is null
            and not exists (
                select from review r where r.kind = 'screening' and r.subject_id = s.id and r.status = 'open'
            )
        """,
        "screeningsubject",
    ),
)
