"""Self-checks of sign-ins."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "sign_ins.end_with_deactivation",
        "Deactivated people have no active sessions",
        "End the session before the person is reactivated. Until then, the session gives no access",
        """
        select s.id from sign_in s join person p on p.id = s.person_id
        where not p.active and s.ended_at is null and s.expires_at > (select wall from moment)
        """,
        "signin",
    ),
)
