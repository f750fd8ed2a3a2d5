"""Self-checks of credentials."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "credentials.recovery_codes_need_second_factor",
        "Only people with a second factor have recovery codes",
        "Find out in the audit log who removed the second factor, and delete the recovery codes",
        """
        select distinct r.person_id from recovery_code r
        where not exists (
                select from one_time_password o where o.person_id = r.person_id and o.confirmed_at is not null
            ) and not exists (select from passkey k where k.person_id = r.person_id)
        """,
    ),
)
