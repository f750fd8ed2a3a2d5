"""The advice of self-checks, which operators read in the console and in a terminal."""

import re

import pytest

from almoner.platform.observability.selfcheck import ConsistencyCheck
from almoner.selfchecks import CHECKS

WITHOUT_PAGE = frozenset({"almoner check", "almoner documents", "almoner organisations", "almoner release-copy"})


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_advice_names_the_page_beside_a_command(check: ConsistencyCheck) -> None:
    if set(re.findall(r"`(almoner [a-z-]+)", check.advice)) - WITHOUT_PAGE:
        assert "console" in check.advice or "page" in check.advice
