"""Self-checks of donation sessions."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "sessions.expired_are_recorded",
        "Every expired donation session is recorded as expired within 15 minutes",
        "Check that a worker is running, and look for schedule_failed in the log",
        """
        select id from donation_session
        where status = 'open' and expires_at < (select at from moment) - interval '15 min'
        """,
        "donationsession",
    ),
)
