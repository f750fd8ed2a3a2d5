"""The steps from each register's own facts: group exemption, solvency, reports, deductibility."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from almoner.kit.evidence import EvaluationStep, StepVerdict
from almoner.nonprofits.legal_status.domain import PUB_78, RegistryNumberStatus, SourceReport
from almoner.nonprofits.organisations.domain import Organisation


def build_register_specific_steps(
    registry_code: str, status_report: RegistryNumberStatus, main_charity: Organisation | None
) -> Iterator[EvaluationStep]:
    """The evaluation steps that are specific to one register."""
    if registry_code == "IRS":
        yield from _of_the_irs(status_report)
        return
    lister = status_report.listing_report
    if lister is None or not lister.rows:
        return
    if main_charity is not None:
        facts = {"name": main_charity.name, "number": main_charity.registry_number}
        reported = lister.source, lister.data_as_of, facts
        if main_charity.active:
            yield EvaluationStep("main_charity", "pass", "main_charity_active", *reported)
        else:
            yield EvaluationStep("main_charity", "fail", "main_charity_not_active", *reported)
    yield from _BY_REGISTER.get(registry_code, _unknown_deductibility)(lister)


def _of_the_irs(status_report: RegistryNumberStatus) -> Iterator[EvaluationStep]:
    for reason in status_report.legal_status.reasons:
        if reason.step != "listing":  # covered by the register's own step
            yield EvaluationStep(
                reason.step, reason.verdict, reason.code, reason.source, reason.data_as_of, reason.facts
            )
    listed = status_report.reports_by_source.get(PUB_78)
    if status_report.legal_status.find_reason_of_step("publication_78") is None and listed is not None and listed.rows:
        yield _step(listed, "publication_78", "pass", "listed", "DEDUCTIBILITY")


def lacks_registration_status(registry_code: str, source_report: SourceReport) -> bool:
    """Whether the register's file does not show a registration's current status.

    Canada's yearly identification table lists every charity that filed a return for that year.
    """
    return registry_code == "CRA" and "Status" not in source_report.first_row_facts


def extract_status_facts(source_report: SourceReport) -> dict[str, object]:
    """The status facts as the source states them."""
    return {
        name: source_report.first_row_facts[name] for name in _STATUS_FACTS if name in source_report.first_row_facts
    }


def max_usual_data_age(registry_code: str) -> timedelta:
    """The normal age of a register's data; older data have missed two updates."""
    return _USUAL_AGES.get(registry_code, _MONTHLY)


_WEEKLY: Final = timedelta(days=31)
"""For daily and weekly registers: a month leaves time to repair a broken feed."""
_MONTHLY: Final = timedelta(days=62)
_YEARLY: Final = timedelta(days=400)
_USUAL_AGES: Final = MappingProxyType(
    dict.fromkeys(("CCEW", "CCNI", "OSCR", "ACNC", "ANBI"), _WEEKLY)
    | dict.fromkeys(("IRS", "RNA"), _MONTHLY)
    | {"CRA": _YEARLY}
)

_STATUS_FACTS: Final = (
    "STATUS",
    "status",
    "registration_status",
    "RegistrationStatus",
    "Status",
    "Effective Date of Status",
    "DeregistrationDate",
    "position",
    "removed",
    "removal_reason",
    "reregistered",
    "date_disso",
)
_LATE: Final = ("overdue", "default")
_INSOLVENT: Final = ("insolvent", "in_administration", "cio_is_dissolved")


def _step(reported: SourceReport, name: str, verdict: StepVerdict, code: str, *facts: str) -> EvaluationStep:
    seen = {fact: reported.first_row_facts[fact] for fact in facts if fact in reported.first_row_facts}
    return EvaluationStep(name, verdict, code, reported.source, reported.data_as_of, seen)


def _solvency(reported: SourceReport) -> EvaluationStep:
    if any(reported.first_row_facts.get(fact) is True for fact in _INSOLVENT) or reported.first_row_facts.get(
        "cio_dissolution_notice"
    ):
        return _step(reported, "solvency", "fail", "insolvent", *_INSOLVENT, "cio_dissolution_notice")
    return _step(reported, "solvency", "pass", "no_insolvency", *_INSOLVENT)


def _reports(reported: SourceReport, fact: str) -> EvaluationStep:
    """Late accounts are no reason to reject, but reviewers should see them."""
    stated = str(reported.first_row_facts.get(fact) or "").lower()
    if not stated:
        return _step(reported, "reports", "unknown", "reports_not_told")
    late = any(word in stated for word in _LATE)
    return _step(
        reported, "reports", "warn" if late else "pass", "reports_overdue" if late else "reports_in_time", fact
    )


def _england_and_wales(reported: SourceReport) -> Iterator[EvaluationStep]:
    yield _solvency(reported)
    yield _reports(reported, "reporting_status")
    aid = reported.first_row_facts.get("gift_aid")
    if aid is None:
        yield from _unknown_deductibility(reported)
    elif aid:
        yield _step(reported, "deductibility", "pass", "gift_aid", "gift_aid")
    else:
        yield _step(reported, "deductibility", "warn", "no_gift_aid", "gift_aid")


def _northern_ireland(reported: SourceReport) -> Iterator[EvaluationStep]:
    yield _reports(reported, "status")
    yield from _unknown_deductibility(reported)


def _australia(reported: SourceReport) -> Iterator[EvaluationStep]:
    """Whether donations are deductible is stated in another register."""
    yield _step(reported, "deductibility", "unknown", "deductibility_not_told", "PBI", "HPC")


def _canada(reported: SourceReport) -> Iterator[EvaluationStep]:
    """Every registered charity may issue donation receipts."""
    if "Status" in reported.first_row_facts:
        yield _step(reported, "deductibility", "pass", "registered_charity", "Status", "Designation", "Sanction")
    else:
        yield from _unknown_deductibility(reported)


def _netherlands(reported: SourceReport) -> Iterator[EvaluationStep]:
    """The list itself consists of bodies whose donations are deductible."""
    if reported.first_row_facts.get("in_liquidatie"):
        yield _step(reported, "solvency", "fail", "insolvent", "in_liquidatie")
    yield _step(reported, "deductibility", "pass", "public_benefit")


def _france(reported: SourceReport) -> Iterator[EvaluationStep]:
    """A declared association's donations need not be deductible; those of one recognised as of public utility are."""
    if reported.first_row_facts.get("rup_mi"):
        yield _step(reported, "deductibility", "pass", "public_utility", "rup_mi")
    else:
        yield _step(reported, "deductibility", "unknown", "deductibility_not_told", "nature")


def _unknown_deductibility(reported: SourceReport) -> Iterator[EvaluationStep]:
    yield _step(reported, "deductibility", "unknown", "deductibility_not_told")


_BY_REGISTER: Final[Mapping[str, Callable[[SourceReport], Iterator[EvaluationStep]]]] = MappingProxyType(
    {
        "CCEW": _england_and_wales,
        "CCNI": _northern_ireland,
        "ACNC": _australia,
        "CRA": _canada,
        "ANBI": _netherlands,
        "RNA": _france,
    }
)
