"""HMRC's schedule: each field as it is taken, all that is wrong at once, small gifts together, nothing lost."""

import csv
import io
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.giving.gift_aid.claims import domain as gift_aid_claims_domain
from almoner.giving.gift_aid.claims import hmrc_schedule
from almoner.giving.gift_aid.claims.domain import TAX_YEAR, AccountingYearEnd, ClaimableDonation
from almoner.giving.gift_aid.declarations import claimable
from almoner.giving.gift_aid.declarations.domain import Declarer

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
TODAY = NOW.date()
ADA = Declarer("Ms", "Ada", "Byron", "12", "St James's Square", "London", "United Kingdom", "SW1Y 4JH")
AGGREGATED = "Gifts of at most 20 pounds"


def gift(number: int, minor: int = 2500, made_at: datetime = NOW, declarer: Declarer = ADA) -> ClaimableDonation:
    """A gift of ten o'clock in the morning."""
    return ClaimableDonation(UUID(int=number), UUID(int=number), made_at, made_at, minor, declarer)


def rows(made: hmrc_schedule.ClaimSchedule) -> list[list[str]]:
    """The lines of the schedule, without its titles."""
    titles, *found = csv.reader(io.StringIO(hmrc_schedule.render_schedule_csv(made.entries)))
    assert tuple(titles) == hmrc_schedule.COLUMNS
    return found


def test_a_gift_is_a_line_in_the_columns_of_the_spreadsheet() -> None:
    made = hmrc_schedule.build_schedule([gift(1, 1234_56)], TODAY, TAX_YEAR, aggregate_small_donations=False)
    assert hmrc_schedule.render_schedule_csv(made.entries) == (
        "Title,First name or initial,Last name,House name or number,Postcode,Aggregated donations,Sponsored event,"
        "Donation date,Amount\r\nMs,Ada,Byron,12,SW1Y 4JH,,,02/03/26,1234.56\r\n"
    )


@pytest.mark.parametrize(
    ("told", "taken"),
    [
        ({"title": "Professor"}, {"title": "Prof"}),
        ({"title": "Dr."}, {"title": "Dr"}),
        ({"title": "Baroness"}, {"title": ""}),
        ({"title": "=1"}, {"title": ""}),
        ({"first_name": "A"}, {"first_name": "A"}),
        ({"first_name": "Ada " * 10}, {"first_name": "A"}),
        ({"last_name": "House-Martin"}, {"last_name": "House Martin"}),
        ({"last_name": "  van   Dyck "}, {"last_name": "van Dyck"}),
        ({"last_name": "O'Brien"}, {"last_name": "O'Brien"}),
        ({"postcode": "s192bd"}, {"postcode": "S19 2BD"}),
        ({"postcode": " sw1y  4jh "}, {"postcode": "SW1Y 4JH"}),
        ({"postcode": "m11ae", "country": "England"}, {"postcode": "M1 1AE"}),
        ({"postcode": "EC1A 1BB", "country": "U.K."}, {"postcode": "EC1A 1BB"}),
        ({"postcode": "75001", "country": "France"}, {"house_name_or_number": "12, St James's Square, London, France"}),
        ({"postcode": "JE2 3AB"}, {"postcode": "X"}),
        ({"postcode": "IM1 1AA", "country": "Isle of Man"}, {"postcode": "X"}),
        ({"postcode": "GX11 1AA"}, {"postcode": "X"}),
        ({"postcode": "none", "country": "Jersey, Channel Islands"}, {"postcode": "X"}),
        ({"postcode": "8000", "country": "Côte d\u2019Ivoire"}, {"postcode": "X"}),
        ({"title": "n/a"}, {"title": ""}),
        ({"title": "-"}, {"title": ""}),
        ({"postcode": "SW1A\u00a0 1AA\u200b"}, {"postcode": "SW1A 1AA"}),
        ({"postcode": "sw1a oaa"}, {"postcode": "SW1A 0AA"}),
        ({"postcode": "M1 IAE"}, {"postcode": "M1 1AE"}),
    ],
)  # fmt: skip
def test_fields_are_made_what_hmrc_takes(told: dict[str, str], taken: dict[str, str]) -> None:
    person, problems = hmrc_schedule.build_schedule_donor_or_list_problems(replace(ADA, **told))
    assert problems == ()
    assert person is not None
    assert {name: getattr(person, name) for name in taken} == taken
    assert len(person.house_name_or_number) <= 40


def test_all_that_is_wrong_is_named_at_once_and_names_nobody() -> None:
    wrong = replace(
        ADA, first_name=None, last_name="@" + "x" * 40, building_name_number="=" + "y" * 40, postcode="75001"
    )
    assert hmrc_schedule.build_schedule_donor_or_list_problems(wrong) == (
        None,
        (
            "the first name is missing, and needed to claim Gift Aid",
            "the last name must not begin with a sign that a spreadsheet would treat as a formula",
            "the house name or number must not begin with a sign that a spreadsheet would treat as a formula",
            "the postcode must be a full UK postcode such as SW1A 1AA, or the country must not be the United Kingdom",
        ),
    )
    made = hmrc_schedule.build_schedule(
        [gift(1), gift(2, declarer=wrong), gift(3)], TODAY, TAX_YEAR, aggregate_small_donations=False
    )
    assert [one.donation.donation_id.int for one in made.entries] == [1, 3]
    assert [one.donation_id.int for one in made.excluded_donations] == [2]
    assert "Byron" not in made.excluded_donations[0].problems_text
    with pytest.raises(ValueError, match="the first name is missing"):
        hmrc_schedule.render_schedule_csv([gift_aid_claims_domain.ClaimScheduleEntry(1, gift(2, declarer=wrong))])


@pytest.mark.parametrize(
    "told",
    [
        *({"first_name": "John & Mary"}, {"first_name": "Jean et Marie"}, {"title": "Mr & Mrs"}, {"title": "Mr Mrs"}),
        *({"last_name": "The Smith Family"}, {"last_name": "Widgets Ltd"}, {"last_name": "Acme Trust"}),
        *({"last_name": "Rotary Club"}, {"last_name": "Primary School"}, {"last_name": "Cleaning Services"}),
        *({"last_name": "x" * 39}, {"last_name": "n/a"}, {"first_name": "-"}, {"building_name_number": "N/A"}),
        *({"building_name_number": "."}, {"postcode": "75001", "country": "Wales, UK"}),
        *({"postcode": "", "country": "The UK"}, {"postcode": "1", "country": "England & Wales"}),
        {"postcode": "1", "country": "Untied Kingdom"},
    ],
)
def test_m10_m11_what_no_claim_takes_is_refused_where_it_is_typed(told: dict[str, str]) -> None:
    wrong = replace(ADA, **told)
    assert set(claimable.find_declarer_problems(wrong)) & {*told, "country", "postcode"}
    assert hmrc_schedule.build_schedule_donor_or_list_problems(wrong)[0] is None


@pytest.mark.parametrize(
    "told",
    [
        *({"last_name": "Null"}, {"last_name": "Church"}, {"last_name": "Ortega y Gasset"}, {"first_name": "Andy"}),
        *({"last_name": "Na"}, {"building_name_number": "Flat 3/4"}, {"title": "Rev. Dr."}, {"last_name": "Oʼbrien"}),
    ],
)
def test_people_who_only_look_like_something_else_may_declare(told: dict[str, str]) -> None:
    assert claimable.find_declarer_problems(replace(ADA, **told)) == {}


@pytest.mark.parametrize("begin", ["=", "+", "@", "|", "%", "\uff1d", "\uff0b", "\uff20", "\uff0d", "\u3000="])
def test_no_cell_is_a_formula(begin: str) -> None:
    titled, _ = hmrc_schedule.build_schedule_donor_or_list_problems(replace(ADA, title=f"{begin.strip()}a"))
    assert titled is None or titled.title == ""
    for name in ("first_name", "last_name", "building_name_number"):
        person, problems = hmrc_schedule.build_schedule_donor_or_list_problems(replace(ADA, **{name: f"{begin}cmd"}))
        assert person is None
        assert len(problems) == 1


@pytest.mark.parametrize(
    ("made", "last"),
    [
        (date(2021, 4, 5), date(2025, 4, 5)),
        (date(2021, 4, 6), date(2026, 4, 5)),
        (date(2021, 12, 31), date(2026, 4, 5)),
        (date(2022, 4, 6), date(2027, 4, 5)),
    ],
)
def test_a_gift_can_be_claimed_for_until_four_years_after_its_tax_year(made: date, last: date) -> None:
    assert TAX_YEAR.claim_deadline(made) == last


def test_a_company_has_an_accounting_year_of_its_own() -> None:
    year = gift_aid_claims_domain.parse_year_end("12-31")
    assert year == AccountingYearEnd(12, 31)
    assert year.claim_deadline(date(2021, 6, 1)) == date(2025, 12, 31)
    assert gift_aid_claims_domain.parse_year_end("02-28").end_of_year_containing(date(2024, 2, 29)) == date(2025, 2, 28)
    for wrong in ("02-29", "13-01", "5 April", "", "1231", "04-31"):
        with pytest.raises(ValueError, match="must be a"):
            gift_aid_claims_domain.parse_year_end(wrong)


@pytest.mark.parametrize("year", [TAX_YEAR, AccountingYearEnd(12, 31), AccountingYearEnd(2, 28)])
@given(days=st.integers(0, 3000))
def test_the_first_gift_that_can_be_claimed_for_is_the_first_that_is_not_late(
    year: AccountingYearEnd, days: int
) -> None:
    today = TODAY + timedelta(days=days)
    first = year.earliest_claimable_at(today)
    last_moment = first - timedelta(microseconds=1)
    assert year.claim_deadline(gift_aid_claims_domain.london_day(first)) >= today
    assert year.claim_deadline(gift_aid_claims_domain.london_day(last_moment)) < today


def test_what_is_too_old_is_left_out_from_the_day_after() -> None:
    old = gift(1, made_at=datetime(2021, 6, 1, tzinfo=UTC))
    assert (
        hmrc_schedule.build_schedule([old], date(2026, 4, 5), TAX_YEAR, aggregate_small_donations=False).line_count == 1
    )
    late = hmrc_schedule.build_schedule([old], date(2026, 4, 6), TAX_YEAR, aggregate_small_donations=False)
    assert [one.problems for one in late.excluded_donations] == [("the deadline for claiming was 2026-04-05",)]


@pytest.mark.parametrize(
    ("moment", "day"),
    [
        (datetime(2026, 4, 5, 22, 59, tzinfo=UTC), date(2026, 4, 5)),
        (datetime(2026, 4, 5, 23, 0, tzinfo=UTC), date(2026, 4, 6)),  # summer time: a new tax year
        (datetime(2026, 3, 29, 0, 59, tzinfo=UTC), date(2026, 3, 29)),
        (datetime(2026, 1, 5, 23, 30, tzinfo=UTC), date(2026, 1, 5)),
        (datetime(2026, 10, 24, 23, 30, tzinfo=UTC), date(2026, 10, 25)),
        (datetime(2026, 10, 25, 23, 30, tzinfo=UTC), date(2026, 10, 25)),
    ],
)
def test_days_are_those_of_london(moment: datetime, day: date) -> None:
    assert gift_aid_claims_domain.london_day(moment) == day


@pytest.mark.parametrize(
    ("typed", "moment"),
    [
        ("2026-04-06", datetime(2026, 4, 5, 23, tzinfo=UTC)),
        ("2026-01-01", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-04-06T00:00:00Z", datetime(2026, 4, 6, tzinfo=UTC)),
    ],
)
def test_days_that_officers_type_begin_in_london(typed: str, moment: datetime) -> None:
    assert gift_aid_claims_domain.parse_london_day_or_timestamp(typed) == moment
    with pytest.raises(ValueError, match="must be a day"):
        gift_aid_claims_domain.parse_london_day_or_timestamp("2026-02-30")


def test_small_gifts_share_lines_without_names() -> None:
    bob = replace(ADA, first_name="Bob")
    gifts = [gift(1, 2000), gift(2, 2001), gift(3, 1500, NOW + timedelta(days=1), bob), gift(4, 500)]
    made = hmrc_schedule.build_schedule(gifts, TODAY, TAX_YEAR, aggregate_small_donations=True)
    assert rows(made) == [
        ["", "", "", "", "", AGGREGATED, "", "03/03/26", "35.00"],
        ["Ms", "Ada", "Byron", "12", "SW1Y 4JH", "", "", "02/03/26", "20.01"],
        ["Ms", "Ada", "Byron", "12", "SW1Y 4JH", "", "", "02/03/26", "5.00"],  # another of Ada's: a line of her own
    ]
    assert len(rows(hmrc_schedule.build_schedule(gifts, TODAY, TAX_YEAR, aggregate_small_donations=False))) == 4


def test_no_line_holds_gifts_of_two_accounting_years() -> None:
    bob = replace(ADA, first_name="Bob")
    before = datetime(2025, 4, 5, 12, tzinfo=UTC)
    made = hmrc_schedule.build_schedule(
        [gift(1, 100, before), gift(2, 100, before + timedelta(days=1), bob)],
        TODAY,
        TAX_YEAR,
        aggregate_small_donations=True,
    )
    assert [row[7] for row in rows(made)] == ["05/04/25", "06/04/25"]


def test_what_has_no_room_waits() -> None:
    made = hmrc_schedule.build_schedule(
        [gift(number) for number in range(7)], TODAY, TAX_YEAR, aggregate_small_donations=False, max_lines=5
    )
    assert (made.line_count, len(made.entries), made.deferred_donation_count) == (5, 5, 2)


@st.composite
def some_gifts(draw: st.DrawFn) -> list[ClaimableDonation]:
    """Gifts of a few people over some years, some of them with an address that HMRC would not take."""
    people = [replace(ADA, first_name=name) for name in ("Ada", "Bob", "Cy", None)]
    return [
        gift(
            number,
            draw(st.sampled_from([1, 999, 2000, 2001, 99_999])),
            NOW - timedelta(days=draw(st.integers(0, 2000))),
            draw(st.sampled_from(people)),
        )
        for number in range(draw(st.integers(0, 40)))
    ]


@given(some_gifts(), st.booleans(), st.integers(1, 12))
def test_every_gift_is_listed_once_or_left_out_or_waits(
    gifts: list[ClaimableDonation], aggregate: bool, most: int
) -> None:
    made = hmrc_schedule.build_schedule(gifts, TODAY, TAX_YEAR, aggregate_small_donations=aggregate, max_lines=most)
    seen = [one.donation.donation_id for one in made.entries] + [one.donation_id for one in made.excluded_donations]
    assert len(seen) == len(set(seen)) == len(gifts) - made.deferred_donation_count
    found = rows(made)
    assert len(found) == made.line_count <= most
    listed = sum(one.donation.amount_minor for one in made.entries)
    assert sum(round(float(row[8]) * 100) for row in found) == listed
    for number, row in enumerate(found, 1):
        on = [one.donation for one in made.entries if one.line_number == number]
        if row[5]:
            assert sum(one.amount_minor for one in on) <= 1000_00
            assert max(one.amount_minor for one in on) <= 20_00
            assert len({TAX_YEAR.end_of_year_containing(one.donation_date) for one in on}) == 1
            assert len({one.declarer for one in on}) == len(on)
        else:
            assert len(on) == 1
    left = {one.donation_id for one in made.excluded_donations}
    for one in gifts:
        bad = one.declarer.first_name is None or TAX_YEAR.claim_deadline(one.donation_date) < TODAY
        assert (one.donation_id in left) == bad


def test_tax_is_a_quarter_and_what_goes_back_is_rounded_up() -> None:
    assert [gift_aid_claims_domain.basic_rate_tax_pence(minor) for minor in (3, 4, 1000, 1003)] == [0, 1, 250, 250]
    assert [gift_aid_claims_domain.tax_to_repay_pence(minor) for minor in (0, 1, 4, 1003)] == [0, 1, 1, 251]
    assert gift_aid_claims_domain.allocate_deductions(
        [(UUID(int=1), 30), (UUID(int=2), 90), (UUID(int=3), 5)], 100
    ) == [
        (UUID(int=1), 30),
        (UUID(int=2), 70),
    ]
