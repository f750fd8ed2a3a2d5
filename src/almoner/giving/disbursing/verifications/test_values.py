"""Test values of the sandbox in a verification's organisationId (spec 4.11; settled 9)."""

import re
from typing import Final, Literal, cast

Action = Literal["approve", "reject", "expire"]

_SUFFIX: Final = re.compile(r"-monetaryDonation:(approve|reject|expire)\Z")


def split_test_value(organisation_id: str) -> tuple[str, Action | None]:
    """Split an organisation ID into the ID and the action of its test value; None without one."""
    found = _SUFFIX.search(organisation_id)
    if found is None:
        return organisation_id, None
    return organisation_id[: found.start()], cast("Action", found[1])
