"""Whether an organisation is active by its registers, with reasons and facts.

Every step ends in ``pass``, ``fail``, ``warn``, ``not_applicable`` or ``unknown``. Unknown results never block: a list
that is not loaded says nothing. ``active`` follows from the steps in ``_DECISIVE`` only; the others are for those who
decide about deductibility.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Final, Literal

Step = Literal["listing", "revocation", "terminated", "group", "deductibility", "publication_78", "foundation"]
Verdict = Literal["pass", "fail", "warn", "not_applicable", "unknown"]
OverrideReason = Literal["revoked", "terminated"]
"""Why a body is inactive although its register lists it."""

BMF: Final = "irs-bmf"
REVOCATIONS: Final = "irs-revocations"
PUB_78: Final = "irs-pub78"
E_POSTCARD: Final = "irs-990n"
US_SOURCES: Final = (BMF, REVOCATIONS, PUB_78, E_POSTCARD)

_WRONG_FROM, _WRONG_TO, _MEANT = date(2020, 4, 1), date(2020, 7, 14), date(2020, 7, 15)
"""The IRS states that revocation dates in this period are wrong: filing was postponed to ``_MEANT``."""
_MONTHS: Final = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
_NEED_NOT_REGISTER: Final = frozenset({"06", "13", "14"})
"""Filing requirements of churches and instrumentalities, whose absence from a list of filers means nothing."""
_PRIVATE_FOUNDATIONS: Final = frozenset({"02", "03", "04"})
_SUBORDINATE: Final = "9"
_CHARITABLE: Final = "03"
_DEDUCTIBLE, _NOT_DEDUCTIBLE = "1", "2"
_DECISIVE: Final[frozenset[Step]] = frozenset({"listing", "revocation", "terminated"})


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What one source reports about a registration number.

    ``rows``: its facts, one mapping per row about the number; empty if the source does not list it. ``data_as_of``: the
    date of its data, None if the source is not loaded. ``active``: False if the source lists the body as removed.
    """

    source: str
    data_as_of: datetime | None
    rows: tuple[Mapping[str, object], ...] = ()
    active: bool = True
    is_format_unverified: bool = False

    @property
    def first_row_facts(self) -> Mapping[str, object]:
        """The facts of the first row."""
        return self.rows[0] if self.rows else _NOTHING


_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LegalStatusReason:
    """The result of one step, with its source and facts."""

    step: Step
    verdict: Verdict
    code: str
    source: str
    data_as_of: datetime | None
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LegalStatus:
    """The reasons why an organisation is active or not."""

    reasons: tuple[LegalStatusReason, ...]

    @property
    def active(self) -> bool:
        """Whether the organisation is active in its register."""
        return not any(reason.step in _DECISIVE and reason.verdict == "fail" for reason in self.reasons)

    @property
    def override_reason(self) -> OverrideReason | None:
        """What another list reports against the register's listing, such as a revocation; None if nothing."""
        failed = {reason.step for reason in self.reasons if reason.verdict == "fail"}
        if "revocation" in failed:
            return "revoked"
        return "terminated" if "terminated" in failed else None

    def find_reason_of_step(self, step: Step) -> LegalStatusReason | None:
        """The result of one step; None if it was not run."""
        return next((reason for reason in self.reasons if reason.step == step), None)


@dataclass(frozen=True, slots=True)
class RegistryNumberStatus:
    """The reports of all sources about a registration number, and its legal status.

    ``listing_report``: of the source that lists it, else of the one that would; None without any source.
    """

    reports_by_source: Mapping[str, SourceReport]
    listing_report: SourceReport | None
    legal_status: LegalStatus


def legal_status_from_register_listing(listing_report: SourceReport) -> LegalStatus:
    """The status of an organisation whose register states it directly."""
    return LegalStatus((_check_listing(listing_report),))


def status_of_us_organisation(
    reports: Mapping[str, SourceReport], central_organisation_reports: Mapping[str, SourceReport] | None = None
) -> LegalStatus:
    """The status of an EIN from the IRS lists.

    ``central_organisation_reports``: the reports about the central body of its group; None if it has none.
    """
    stated = {source: reports.get(source) or SourceReport(source, None) for source in US_SOURCES}
    reasons = [
        _check_listing(stated[BMF]),
        _check_revocation(stated[REVOCATIONS], stated[BMF]),
        _check_termination(stated[E_POSTCARD]),
    ]
    if stated[BMF].rows:
        followed = _check_group(stated[BMF], central_organisation_reports)
        reasons += [followed] if followed else []
        reasons += [
            _check_deductibility(stated[BMF], followed),
            _check_publication_78(stated, central_organisation_reports),
            _check_foundation(stated[BMF]),
        ]
    return LegalStatus(tuple(reasons))


def is_under_group_exemption(facts: Mapping[str, object]) -> bool:
    """Whether an organisation is exempt under a central organisation's group ruling."""
    return facts.get("AFFILIATION") == _SUBORDINATE and _group_number(facts) is not None


def parse_irs_date(value: object) -> date | None:
    """Parse a date as the lists write it, ``2017-11-15`` or ``15-NOV-2017``; None for anything else."""
    text = str(value or "").strip()
    try:
        if len(text) == 11 and text[3:6].upper() in _MONTHS:
            return date(int(text[7:]), _MONTHS.index(text[3:6].upper()) + 1, int(text[:2]))
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class ExemptionRevocation:
    """One revocation of tax exemption, and whether a reinstatement ended it."""

    revocation_date: date
    posting_date: date
    reinstated: bool
    facts: Mapping[str, object]


def find_latest_revocation(source_rows: Iterable[Mapping[str, object]]) -> ExemptionRevocation | None:
    """The latest revocation; None without a readable date.

    A cycle may be listed twice, first open and later cured. Reinstatements are often backdated to the revocation
    itself, so the same day cures it. An earlier one belongs to an earlier cycle or is a mistake, and does not.
    """
    latest: ExemptionRevocation | None = None
    for facts in source_rows:
        written = parse_irs_date(facts.get("REVOCATION_DATE"))
        if written is None:
            continue
        revoked = _corrected_date(written)
        cycle = ExemptionRevocation(
            revoked, parse_irs_date(facts.get("POSTING_DATE")) or revoked, _is_cured(facts, written), facts
        )
        if latest is None or (cycle.revocation_date, cycle.reinstated, cycle.posting_date) > (
            latest.revocation_date,
            latest.reinstated,
            latest.posting_date,
        ):
            latest = cycle
    return latest


def _is_cured(facts: Mapping[str, object], revoked: date) -> bool:
    reinstated = parse_irs_date(facts.get("REINSTATEMENT_DATE"))
    return reinstated is not None and reinstated >= revoked and _corrected_date(reinstated) >= _corrected_date(revoked)


def _corrected_date(written: date) -> date:
    return _MEANT if _WRONG_FROM <= written <= _WRONG_TO else written


def _build_reason(step: Step, verdict: Verdict, code: str, reported: SourceReport, *names: str) -> LegalStatusReason:
    facts = {name: reported.first_row_facts[name] for name in names if name in reported.first_row_facts}
    return LegalStatusReason(step, verdict, code, reported.source, reported.data_as_of, facts)


def _check_listing(reported: SourceReport) -> LegalStatusReason:
    if reported.data_as_of is None:
        return _build_reason("listing", "unknown", "register_not_loaded", reported)
    if not reported.rows:
        return _build_reason("listing", "fail", "not_listed", reported)
    if not reported.active:
        return _build_reason("listing", "fail", "removed", reported)
    return _build_reason(
        "listing",
        "warn" if reported.is_format_unverified else "pass",
        "unverified" if reported.is_format_unverified else "listed",
        reported,
    )


def _check_revocation(revocations: SourceReport, bmf: SourceReport) -> LegalStatusReason:
    if revocations.data_as_of is None:
        return _build_reason("revocation", "unknown", "list_not_loaded", revocations)
    if not revocations.rows:
        return _build_reason("revocation", "pass", "not_revoked", revocations)
    cycle = find_latest_revocation(revocations.rows)
    if cycle is None:
        return _build_reason("revocation", "unknown", "unreadable", revocations, "REVOCATION_DATE")
    facts: dict[str, object] = {
        **cycle.facts,
        "revoked": cycle.revocation_date.isoformat(),
        "posted": cycle.posting_date.isoformat(),
    }
    code, verdict = _revocation_verdict(cycle, bmf)
    return LegalStatusReason("revocation", verdict, code, revocations.source, revocations.data_as_of, facts)


def _revocation_verdict(cycle: ExemptionRevocation, bmf: SourceReport) -> tuple[str, Verdict]:
    """The verdict. A master file older than the posting could not include the revocation; a newer one outweighs it."""
    if cycle.reinstated:
        return "reinstated", "pass"
    posted = datetime(cycle.posting_date.year, cycle.posting_date.month, cycle.posting_date.day, tzinfo=UTC)
    if bmf.rows and bmf.data_as_of is not None and bmf.data_as_of >= posted:
        return "listed_since_revoked", "warn"
    return "revoked", "fail"


def _check_termination(postcards: SourceReport) -> LegalStatusReason:
    """The newest e-Postcard counts and supersedes those of earlier years."""
    if postcards.data_as_of is None:
        return _build_reason("terminated", "unknown", "list_not_loaded", postcards)
    if not postcards.rows:
        return _build_reason("terminated", "not_applicable", "no_postcard", postcards)
    newest = max(postcards.rows, key=lambda facts: (str(facts.get("TAX_YEAR", "")), facts.get("TERMINATED") == "T"))
    over = newest.get("TERMINATED") == "T"
    facts = {name: newest[name] for name in ("TAX_YEAR", "TERMINATED") if name in newest}
    stated = postcards.source, postcards.data_as_of, facts
    return (
        LegalStatusReason("terminated", "fail", "terminated", *stated)
        if over
        else LegalStatusReason("terminated", "pass", "running", *stated)
    )


def _check_group(
    bmf: SourceReport, central_organisation: Mapping[str, SourceReport] | None
) -> LegalStatusReason | None:
    """The step for a subordinate, by its central body's status; None for a body that is exempt by itself."""
    if not is_under_group_exemption(bmf.first_row_facts):
        return None
    if central_organisation is None:
        return _build_reason("group", "unknown", "central_body_not_found", bmf, "GROUP", "AFFILIATION")
    if not status_of_us_organisation(central_organisation).active:
        return _build_reason("group", "fail", "central_body_not_active", bmf, "GROUP", "AFFILIATION")
    return _build_reason("group", "pass", "central_body_active", bmf, "GROUP", "AFFILIATION")


def _check_deductibility(bmf: SourceReport, group: LegalStatusReason | None) -> LegalStatusReason:
    names = ("SUBSECTION", "DEDUCTIBILITY")
    if group is not None and group.verdict == "fail":
        return _build_reason("deductibility", "fail", group.code, bmf, "GROUP", *names)
    if bmf.first_row_facts.get("SUBSECTION") == _CHARITABLE or bmf.first_row_facts.get("DEDUCTIBILITY") == _DEDUCTIBLE:
        return _build_reason("deductibility", "pass", "deductible", bmf, *names)
    if bmf.first_row_facts.get("DEDUCTIBILITY") == _NOT_DEDUCTIBLE:
        return _build_reason("deductibility", "fail", "not_deductible", bmf, *names)
    return _build_reason("deductibility", "warn", "deductibility_not_reported", bmf, *names)


def _check_publication_78(
    stated: Mapping[str, SourceReport], central_organisation: Mapping[str, SourceReport] | None
) -> LegalStatusReason:
    """The step for Publication 78, which lists central bodies but not the subordinates of their groups."""
    bmf, own = stated[BMF], stated[PUB_78]
    if own.data_as_of is None:
        return _build_reason("publication_78", "unknown", "list_not_loaded", own)
    if own.rows:
        return _build_reason("publication_78", "pass", "listed", own, "DEDUCTIBILITY")
    if is_under_group_exemption(bmf.first_row_facts):
        if central_organisation is None:
            return _build_reason("publication_78", "unknown", "central_body_not_found", own)
        through = central_organisation.get(PUB_78) or own
        if through.rows:
            return _build_reason("publication_78", "pass", "through_group", through, "DEDUCTIBILITY")
        return _build_reason("publication_78", "warn", "group_not_listed", own)
    if bmf.first_row_facts.get("FILING_REQ_CD") in _NEED_NOT_REGISTER:
        return _build_reason("publication_78", "not_applicable", "need_not_be_listed", own)
    return _build_reason("publication_78", "warn", "not_listed", own)


def _check_foundation(bmf: SourceReport) -> LegalStatusReason:
    private = bmf.first_row_facts.get("FOUNDATION") in _PRIVATE_FOUNDATIONS
    code = "private_foundation" if private else "no_private_foundation"
    return _build_reason("foundation", "warn" if private else "pass", code, bmf, "FOUNDATION")


def _group_number(facts: Mapping[str, object]) -> str | None:
    number = str(facts.get("GROUP") or "")
    return number if number.strip("0") else None


def extract_source_rows(entry_facts: Mapping[str, object]) -> tuple[Mapping[str, object], ...]:
    """The source rows that an entry was built from."""
    several = entry_facts.get("rows")
    if isinstance(several, Sequence) and not isinstance(several, str):
        return tuple(row for row in several if isinstance(row, Mapping))
    return (entry_facts,)
