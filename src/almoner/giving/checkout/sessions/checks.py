"""What the self-check asks of donation sessions."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "sessions.expired_are_recorded",
        "An expiry is recorded within 15 minutes",
        "See that a worker runs, and look for sweep_failed in the log",
        """
        select id from donation_session
        where status = 'open' and expires_at < (select at from moment) - interval '15 min'
        """,
        "donationsession",
    ),
)
