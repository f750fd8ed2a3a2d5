"""What the self-check asks of validation invites."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "validation_invites.expired_are_recorded",
        "An expiry is recorded within 15 minutes",
        "See that a worker runs, and look for sweep_failed in the log",
        """
        select id from validation_invite
        where status = 'open' and expires_at < (select at from moment) - interval '15 min'
        """,
        "validationinvite",
    ),
)
