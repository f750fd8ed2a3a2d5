"""Whether a body stands: revocation cycles, vintages, groups, e-Postcards, and what is not known never blocks."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.nonprofits.legal_status.domain import (
    BMF,
    E_POSTCARD,
    PUB_78,
    REVOCATIONS,
    SourceReport,
    extract_source_rows,
    find_latest_revocation,
    legal_status_from_register_listing,
    parse_irs_date,
    status_of_us_organisation,
)

APRIL = datetime(2026, 4, 13, tzinfo=UTC)
CHARITY = {"SUBSECTION": "03", "DEDUCTIBILITY": "1", "AFFILIATION": "3", "GROUP": "0000", "FOUNDATION": "15"}
BRANCH = {**CHARITY, "AFFILIATION": "9", "GROUP": "1961"}
CENTRAL = {**CHARITY, "AFFILIATION": "6", "GROUP": "1961"}


def revoked(on: str, posted: str, reinstated: str = "") -> dict[str, str]:
    row = {"REVOCATION_DATE": on, "POSTING_DATE": posted, "REINSTATEMENT_DATE": reinstated}
    return {name: value for name, value in row.items() if value}


def told(source: str, *rows: dict[str, Any], as_of: datetime | None = APRIL) -> dict[str, SourceReport]:
    return {source: SourceReport(source, as_of, rows)}


LISTED = told(BMF, CHARITY)


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([], "not_revoked"),
        ([revoked("2026-01-15", "2026-05-11")], "revoked"),
        # Reinstatement is dated back to the revocation itself: the same day cures.
        ([revoked("2026-01-15", "2026-05-11", "2026-01-15")], "reinstated"),
        ([revoked("2026-01-15", "2026-05-11", "2026-03-01")], "reinstated"),
        # One from before the revocation does not.
        ([revoked("2026-01-15", "2026-05-11", "2026-01-14")], "revoked"),
        # Revoked, reinstated, revoked again: the latest cycle counts, in whatever order the rows come.
        ([revoked("2013-06-15", "2013-10-21", "2013-06-15"), revoked("2026-01-15", "2026-05-11")], "revoked"),
        ([revoked("2026-01-15", "2026-05-11"), revoked("2013-06-15", "2013-10-21", "2013-06-15")], "revoked"),
        ([revoked("2013-06-15", "2013-10-21"), revoked("2019-02-15", "2019-08-21", "2019-02-15")], "reinstated"),
        # A cycle that is listed twice, first open and later cured.
        ([revoked("2026-01-15", "2026-05-11"), revoked("2026-01-15", "2026-05-11", "2026-02-01")], "reinstated"),
        # A master file that is no older than the posting and lists the body knows better; an older one cannot know.
        ([revoked("2026-01-15", "2026-04-13")], "listed_since_revoked"),
        ([revoked("2026-01-15", "2026-04-14")], "revoked"),
        # The lists write days as 15-NOV-2017.
        ([revoked("15-JAN-2026", "11-MAY-2026", "15-JAN-2026")], "reinstated"),
        ([revoked("no day", "2026-05-11")], "unreadable"),
    ],
)
def test_the_latest_revocation_counts(rows: list[dict[str, str]], code: str) -> None:
    standing = status_of_us_organisation({**LISTED, **told(REVOCATIONS, *rows)})
    reason = standing.find_reason_of_step("revocation")
    assert reason is not None
    assert reason.code == code
    assert standing.active is (code != "revoked")
    assert standing.override_reason == ("revoked" if code == "revoked" else None)


@pytest.mark.parametrize(
    ("on", "reinstated", "cured"),
    [
        ("2020-05-15", "2020-07-15", True),
        ("2020-05-15", "2020-05-15", True),  # dated back to the wrong day, which means the right one
        ("2020-07-14", "2020-07-15", True),
        ("2020-04-01", "2020-03-31", False),
        ("2020-03-31", "2020-03-31", True),
        ("2020-07-15", "2020-05-15", False),
        ("2020-07-16", "2020-07-15", False),
    ],
)
def test_revocations_of_the_spring_of_2020_took_effect_in_july(on: str, reinstated: str, cured: bool) -> None:
    cycle = find_latest_revocation([revoked(on, "2020-08-11", reinstated)])
    assert cycle is not None
    assert cycle.reinstated is cured
    wrong = date(2020, 4, 1) <= date.fromisoformat(on) <= date(2020, 7, 14)
    assert cycle.revocation_date == (date(2020, 7, 15) if wrong else date.fromisoformat(on))


def test_a_cycle_of_july_is_later_than_a_wrong_one_of_the_same_summer() -> None:
    rows = [revoked("2020-05-15", "2020-08-11"), revoked("2020-07-01", "2020-08-11", "2020-07-15")]
    cycle = find_latest_revocation(rows)
    assert cycle is not None
    assert cycle.reinstated


days = st.dates(min_value=date(2010, 1, 1), max_value=date(2026, 4, 1))
cycles = st.tuples(days, st.integers(0, 400), st.none() | days).map(
    lambda made: revoked(
        made[0].isoformat(), (made[0] + timedelta(made[1])).isoformat(), made[2].isoformat() if made[2] else ""
    )
)


@given(st.lists(cycles, max_size=5), st.randoms())
def test_the_order_of_rows_does_not_matter(rows: list[dict[str, str]], random: Any) -> None:
    shuffled = rows.copy()
    random.shuffle(shuffled)
    first, second = find_latest_revocation(rows), find_latest_revocation(shuffled)
    assert (first is None) == (second is None)
    assert first is None or (first.revocation_date, first.reinstated) == (second.revocation_date, second.reinstated)  # type: ignore[union-attr]


@given(st.lists(cycles, min_size=1, max_size=5))
def test_a_reinstatement_of_the_latest_cycle_cures_and_a_later_revocation_ends_it(rows: list[dict[str, str]]) -> None:
    cycle = find_latest_revocation(rows)
    assert cycle is not None
    on = cycle.revocation_date.isoformat()
    again = find_latest_revocation([*rows, revoked(on, on, on)])
    assert again is not None
    assert again.reinstated
    later = (cycle.revocation_date + timedelta(days=200)).isoformat()
    ended = find_latest_revocation([*rows, revoked(on, on, on), revoked(later, later)])
    assert ended is not None
    assert not ended.reinstated


@given(st.lists(cycles, min_size=1, max_size=4), days)
def test_a_newer_master_file_that_lists_the_body_never_makes_it_worse(
    rows: list[dict[str, str]], bmf_day: date
) -> None:
    as_of = datetime(bmf_day.year, bmf_day.month, bmf_day.day, tzinfo=UTC)
    older = status_of_us_organisation({**told(BMF, CHARITY, as_of=as_of), **told(REVOCATIONS, *rows)})
    newer = status_of_us_organisation(
        {**told(BMF, CHARITY, as_of=APRIL + timedelta(days=900)), **told(REVOCATIONS, *rows)}
    )
    assert newer.active
    assert newer.active >= older.active


def test_what_is_not_loaded_never_blocks() -> None:
    standing = status_of_us_organisation(LISTED)
    assert standing.active
    assert {reason.step: reason.verdict for reason in standing.reasons} == {
        "listing": "pass",
        "revocation": "unknown",
        "terminated": "unknown",
        "deductibility": "pass",
        "publication_78": "unknown",
        "foundation": "pass",
    }
    assert status_of_us_organisation({}).active


def test_a_body_that_left_the_master_file_does_not_stand() -> None:
    standing = status_of_us_organisation(told(BMF))
    assert not standing.active
    assert standing.override_reason is None
    assert [reason.code for reason in standing.reasons if reason.verdict == "fail"] == ["not_listed"]


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([], "no_postcard"),
        ([{"TAX_YEAR": "2024", "TERMINATED": "T"}], "terminated"),
        ([{"TAX_YEAR": "2024", "TERMINATED": "T"}, {"TAX_YEAR": "2025", "TERMINATED": "F"}], "running"),
        ([{"TAX_YEAR": "2025", "TERMINATED": "T"}, {"TAX_YEAR": "2024", "TERMINATED": "F"}], "terminated"),
    ],
)
def test_the_newest_postcard_says_whether_a_body_has_ended(rows: list[dict[str, str]], code: str) -> None:
    standing = status_of_us_organisation({**LISTED, **told(E_POSTCARD, *rows)})
    reason = standing.find_reason_of_step("terminated")
    assert reason is not None
    assert reason.code == code
    assert standing.override_reason == ("terminated" if code == "terminated" else None)


def publication_78(bmf: dict[str, Any], own: bool, central: dict[str, SourceReport] | None) -> tuple[str, str]:
    listed = [{"DEDUCTIBILITY": "PC"}] if own else []
    reason = status_of_us_organisation({**told(BMF, bmf), **told(PUB_78, *listed)}, central).find_reason_of_step(
        "publication_78"
    )
    assert reason is not None
    return reason.verdict, reason.code


def test_subordinates_are_listed_through_their_central_body() -> None:
    through = {**told(BMF, CENTRAL), **told(PUB_78, {"DEDUCTIBILITY": "GROUP"})}
    assert publication_78(CHARITY, True, None) == ("pass", "listed")
    assert publication_78(CHARITY, False, None) == ("warn", "not_listed")
    assert publication_78(BRANCH, False, through) == ("pass", "through_group")
    assert publication_78(BRANCH, False, {**told(BMF, CENTRAL), **told(PUB_78)}) == ("warn", "group_not_listed")
    assert publication_78(BRANCH, False, None) == ("unknown", "central_body_not_found")
    # Churches and instrumentalities need not be there.
    assert publication_78({**CHARITY, "FILING_REQ_CD": "06"}, False, None) == ("not_applicable", "need_not_be_listed")


def test_deductibility_of_a_subordinate_falls_with_its_central_body() -> None:
    gone = status_of_us_organisation(told(BMF, BRANCH), told(BMF))
    assert gone.active  # its register still lists it
    (group, deductibility) = gone.find_reason_of_step("group"), gone.find_reason_of_step("deductibility")
    assert group is not None
    assert deductibility is not None
    assert (group.verdict, deductibility.verdict) == ("fail", "fail")
    assert status_of_us_organisation(LISTED).find_reason_of_step("group") is None


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ({"SUBSECTION": "03", "DEDUCTIBILITY": "0"}, "pass"),
        ({"SUBSECTION": "19", "DEDUCTIBILITY": "1"}, "pass"),
        ({"SUBSECTION": "06", "DEDUCTIBILITY": "2"}, "fail"),
        ({"SUBSECTION": "04", "DEDUCTIBILITY": "0"}, "warn"),
    ],
)
def test_gifts_are_deductible_by_subsection_or_code(facts: dict[str, str], verdict: str) -> None:
    reason = status_of_us_organisation(told(BMF, facts)).find_reason_of_step("deductibility")
    assert reason is not None
    assert (reason.verdict, reason.facts) == (verdict, facts)


def test_private_foundations_are_no_public_charities() -> None:
    reason = status_of_us_organisation(told(BMF, {**CHARITY, "FOUNDATION": "04"})).find_reason_of_step("foundation")
    assert reason is not None
    assert (reason.verdict, reason.code) == ("warn", "private_foundation")


def test_other_registers_say_it_themselves() -> None:
    def said(*rows: dict[str, Any], active: bool = True, unverified: bool = False) -> tuple[bool, str, str]:
        standing = legal_status_from_register_listing(SourceReport("ccew", APRIL, rows, active, unverified))
        (reason,) = standing.reasons
        return standing.active, reason.verdict, reason.code

    assert said({"charity_name": "A"}) == (True, "pass", "listed")
    assert said({"charity_name": "A"}, active=False) == (False, "fail", "removed")
    assert said() == (False, "fail", "not_listed")
    assert said({"charity_name": "A"}, unverified=True) == (True, "warn", "unverified")


def test_days_and_rows_are_read_in_every_form() -> None:
    assert (
        parse_irs_date("15-NOV-2017")
        == parse_irs_date("2017-11-15")
        == parse_irs_date("2017-11-15T00:00:00Z")
        == date(2017, 11, 15)
    )
    assert [parse_irs_date(text) for text in ("", None, "31-FEB-2017", "15-XXX-2017")] == [None] * 4
    assert extract_source_rows({"rows": [{"a": 1}, {"a": 2}]}) == ({"a": 1}, {"a": 2})
    assert extract_source_rows({"a": 1}) == ({"a": 1},)
