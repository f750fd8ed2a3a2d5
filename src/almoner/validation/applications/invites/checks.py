"""Self-checks of validation invites."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "validation_invites.expired_are_recorded",
        "Every expired validation invite is recorded as expired within 15 minutes",
        "Check that a worker is running, and look for schedule_failed in the log",
        """
        select id from validation_invite
        where status = 'open' and expires_at < (select at from moment) - interval '15 min'
        """,
        "validationinvite",
    ),
)
