"""Test values of the sandbox in a session's organisationId (spec 4.11; settled 9)."""

import re
from typing import Final

_SUFFIX: Final = re.compile(r"-monetaryDonation:[A-Za-z]{1,20}\Z")


def strip_test_value(organisation_id: str) -> str:
    """The organisation ID without a sandbox test value's suffix."""
    return _SUFFIX.sub("", organisation_id)
