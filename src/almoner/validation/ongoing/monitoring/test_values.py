"""Test values of the sandbox, appended to organisationId or validationRequestId (spec 4.11)."""

import re
from typing import Final, cast

from almoner.screening.watchlists.domain import CATEGORIES, Category
from almoner.validation.ongoing.monitoring.domain import CategoryStatus, Compliance, MonitoringResults

_OVERALL: Final = re.compile(r"complianceStatus:(pass|fail)")
_PARAMETER: Final = re.compile(rf"({'|'.join((*CATEGORIES, 'compliance'))}):(flag|clear)")
_ALL: Final[dict[Compliance, CategoryStatus]] = {"pass": "clear", "fail": "flag"}


def split_test_value(text: str) -> tuple[str, MonitoringResults | None]:
    """The id alone, and the results that its suffix asks for: it is cut off before the id is looked up and stored.

    The parts of a suffix come in any order, the last one of a parameter counts; one of them is the overall status,
    which stays whatever the others say. ``compliance`` is taken and changes nothing (settled 4).
    """
    id_, *parts = text.split("-")
    overall: Compliance | None = None
    single: dict[Category, CategoryStatus] = {}
    for part in parts:
        if found := _OVERALL.fullmatch(part):
            overall = cast("Compliance", found[1])
        elif found := _PARAMETER.fullmatch(part):
            if found[1] != "compliance":
                single[cast("Category", found[1])] = cast("CategoryStatus", found[2])
        else:
            return text, None
    if overall is None:
        return text, None
    return id_, MonitoringResults(overall, {**dict.fromkeys(CATEGORIES, _ALL[overall]), **single})
