"""Test values of the sandbox in suggestedActivitySubTags (spec 4.11)."""

from collections.abc import Mapping, Sequence
from typing import Final

from almoner.validation.ongoing.eligibility.domain import EligibilityStatus

TEST_VALUES: Final[Mapping[str, EligibilityStatus]] = {"test_pass": "pass", "test_fail": "fail"}


def simulated_status_of(suggested_codes: Sequence[str]) -> EligibilityStatus | None:
    """The status requested by a single test value; None if these are sub-tags."""
    return TEST_VALUES.get(suggested_codes[0]) if len(suggested_codes) == 1 else None
