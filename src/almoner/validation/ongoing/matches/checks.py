"""What the self-check asks of matches with watch lists."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "matches.open_are_asked",
        "Every match that needs a review has an open review, and no other match has one",
        "Open an issue with the examples. Either a match has no review that it needs, or it has a review that it does "
        "not need",
        """
        select m.id::text from screening_match m
        where m.awaiting_review is distinct from exists (
            select from review r where r.kind = 'match' and r.subject_id = m.id and r.status = 'open'
        )
        """,
    ),
)
