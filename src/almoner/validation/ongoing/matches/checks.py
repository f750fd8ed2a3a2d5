"""What the self-check asks of matches with watch lists."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "matches.open_are_asked",
        "Of every match that awaiting_review somebody is asked, and of no other",
        "Open an issue with what is found: a match awaiting_review for nobody, or somebody is asked for nothing",
        """
        select m.id::text from screening_match m
        where m.awaiting_review is distinct from exists (
            select from review r where r.kind = 'match' and r.subject_id = m.id and r.status = 'open'
        )
        """,
    ),
)
