"""What the self-check asks of sign-ins."""

from typing import Final

from almoner.platform.observability.selfcheck import Check

checks: Final = (
    Check(
        "sign_ins.end_with_deactivation",
        "Nobody who is deactivated has a sign-in that was not ended",
        "It opens nothing while the person stays deactivated; end it before anybody activates the person again",
        """
        select s.id from sign_in s join person p on p.id = s.person_id
        where not p.active and s.ended_at is null and s.expires_at > (select wall from moment)
        """,
        "signin",
    ),
)
