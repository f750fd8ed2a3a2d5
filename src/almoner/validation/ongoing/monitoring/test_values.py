"""Test values of the sandbox, appended to organisationId or validationRequestId (spec 4.11)."""

import re
from typing import Final, cast

from almoner.screening.watchlists.domain import CATEGORIES, Category
from almoner.validation.ongoing.monitoring.domain import CategoryStatus, Compliance, MonitoringResults

_OVERALL: Final = re.compile(r"complianceStatus:(pass|fail)")
_PARAMETER: Final = re.compile(rf"({'|'.join((*CATEGORIES, 'compliance'))}):(flag|clear)")
_ALL: Final[dict[Compliance, CategoryStatus]] = {"pass": "clear", "fail": "flag"}


def split_id_and_simulated_results(id_text: str) -> tuple[str, MonitoringResults | None]:
    """The ID without its suffix, and the results that the suffix requests; the suffix is removed before the lookup.

    Its parts come in any order and the last one of a parameter counts. One of them is the overall status, which the
    others do not affect. ``compliance`` is accepted and changes nothing (settled 4).
    """
    id_, *parts = id_text.split("-")
    overall: Compliance | None = None
    single: dict[Category, CategoryStatus] = {}
    for part in parts:
        if found := _OVERALL.fullmatch(part):
            overall = cast("Compliance", found[1])
        elif found := _PARAMETER.fullmatch(part):
            if found[1] != "compliance":
                single[cast("Category", found[1])] = cast("CategoryStatus", found[2])
        else:
            return id_text, None
    if overall is None:
        return id_text, None
    return id_, MonitoringResults(overall, {**dict.fromkeys(CATEGORIES, _ALL[overall]), **single})
