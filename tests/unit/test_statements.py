"""Periods, whole years and totals of statements, and the statement as a document."""

import io
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pypdf import PdfReader

from almoner.giving.donor_statements import domain as donor_statements_domain
from almoner.giving.donor_statements.documents import StatementRenderer
from almoner.giving.donor_statements.domain import (
    DonationDateRange,
    DonorStatement,
    DonorStatementLine,
    InvalidPeriod,
    StatementPeriod,
)
from almoner.giving.donor_statements.pages import TEMPLATES
from almoner.kit.ids import RecordIdCodec
from almoner.kit.money import Money
from almoner.platform.crypto import Vault
from almoner.platform.deployment import Deployment
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import TranslationCatalogues
from tests.support.clock import TestClock
from tests.support.figures import Figures
from tests.support.pdf_links import count_web_links
from tests.unit.test_receipt_documents import AT, LINKS, RECEIPT, kinds, root, text

NOW = datetime(2026, 3, 2, tzinfo=UTC)
OTHER = UUID(int=9)


def line(
    minor: int, currency: str = "GBP", back: int = 0, *, moved: bool = False, **changes: Any
) -> DonorStatementLine:
    receipt = replace(RECEIPT, money=Money(minor, currency), cover_minor=0, **changes)
    return DonorStatementLine(receipt, back, OTHER, moved)


def statement(*lines: DonorStatementLine, language: str = "en-GB", more: bool = False) -> DonorStatement:
    opened = replace(RECEIPT, language=language)
    return DonorStatement(
        opened,
        "Bright Bank",
        donor_statements_domain.calendar_year_period(2026, UTC),
        lines,
        {OTHER: "Other Fund"},
        more,
        AT,
    )


async def written(made: DonorStatement) -> bytes:
    deployment = Deployment("sandbox", TestClock(), RecordIdCodec(sandbox=True), LINKS, Vault(bytes(32)))
    return await StatementRenderer(PageRenderer(deployment, TEMPLATES)).render_pdf(made)


async def read(made: DonorStatement) -> PdfReader:
    return PdfReader(io.BytesIO(await written(made)))


async def test_h11_nothing_that_was_typed_becomes_a_link_in_the_document() -> None:
    typed = "http://evil.example/login click here"
    made = statement(line(2500, organisation=typed), line(2500, moved=True))
    opened = replace(made.receipt_of_opened_link, first_name=typed, last_name=typed)
    made = replace(made, receipt_of_opened_link=opened, issuer=typed, names={OTHER: typed})
    assert count_web_links(await written(made)) == 0


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        (None, None, StatementPeriod(date(2026, 1, 1), date(2026, 12, 31))),
        ("2025-04-06", "2026-04-05", donor_statements_domain.uk_tax_year_period(2025)),
        ("2024-02-29", "2024-02-29", StatementPeriod(date(2024, 2, 29), date(2024, 2, 29))),
        ("2018-05-01", "2028-05-01", StatementPeriod(date(2018, 5, 1), date(2028, 5, 1))),  # with three leap days
        ("2024-02-29", "2034-03-01", StatementPeriod(date(2024, 2, 29), date(2034, 3, 1))),
    ],
)
def test_a_period_is_two_days_or_this_year(first: str | None, last: str | None, found: StatementPeriod) -> None:
    assert donor_statements_domain.parse_period(first, last, NOW, UTC) == found


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("2026-03-02", "2026-03-01"),
        ("2016-01-01", "2027-01-01"),
        ("2018-05-01", "2028-05-02"),
        ("2024-02-29", "2034-03-02"),
        ("1999-12-31", "2000-01-01"),
        ("2199-12-31", "2200-01-01"),
        ("9999-12-31", "9999-12-31"),
        ("", ""),
        (None, "2026-01-01"),
        ("2026-02-30", "2026-03-01"),
    ],
)
def test_no_period_is_refused(first: str | None, last: str | None) -> None:
    with pytest.raises(InvalidPeriod):
        donor_statements_domain.parse_period(first, last, NOW, UTC)


def test_a_period_has_all_moments_of_its_days() -> None:
    year = donor_statements_domain.calendar_year_period(2025, UTC)
    assert (year.since.isoformat(), year.until.isoformat()) == (
        "2025-01-01T00:00:00+00:00",
        "2026-01-01T00:00:00+00:00",
    )


def test_whole_years_are_those_with_gifts_and_tax_years_are_of_pounds() -> None:
    span = DonationDateRange(
        datetime(2025, 4, 5, 22, tzinfo=UTC), datetime(2026, 4, 6, tzinfo=UTC), has_gbp_donations=True
    )
    years, taxed = donor_statements_domain.list_available_calendar_and_uk_tax_years(span, UTC)
    assert [one.first.year for one in years] == [2026, 2025]
    assert taxed == [
        donor_statements_domain.uk_tax_year_period(2026),
        donor_statements_domain.uk_tax_year_period(2025),
        donor_statements_domain.uk_tax_year_period(2024),
    ]
    assert (
        donor_statements_domain.list_available_calendar_and_uk_tax_years(replace(span, has_gbp_donations=False), UTC)[1]
        == []
    )
    assert donor_statements_domain.list_available_calendar_and_uk_tax_years(None, UTC) == ([], [])


def test_tax_years_of_the_united_kingdom_begin_at_midnight_in_london() -> None:
    evening = datetime(2025, 4, 5, 23, 30, tzinfo=UTC)
    assert donor_statements_domain.list_available_calendar_and_uk_tax_years(
        DonationDateRange(evening, evening, has_gbp_donations=True), UTC
    )[1] == [donor_statements_domain.uk_tax_year_period(2025)]
    ended, started = (
        donor_statements_domain.uk_tax_year_period(2024),
        donor_statements_domain.parse_period("2025-04-06", "2026-04-05", NOW, UTC),
    )
    assert ended.until == started.since == evening - timedelta(minutes=30)
    assert started.until == datetime(2026, 4, 5, 23, tzinfo=UTC)
    assert StatementPeriod(date(2025, 4, 6), date(2025, 4, 30)).since == datetime(2025, 4, 6, tzinfo=UTC)


def test_totals_lose_nothing() -> None:
    chance = Random(3)
    lines = []
    for _ in range(300):
        minor = chance.randint(1, 10**9)
        lines.append(
            line(minor, chance.choice(("GBP", "JPY", "USD")), chance.choice((0, chance.randint(0, minor), minor)))
        )
    found = donor_statements_domain.totals_by_currency(lines)
    assert [one.currency for one in found] == ["GBP", "JPY", "USD"]
    for one in found:
        mine = [each for each in lines if each.receipt.money.currency == one.currency]
        assert one.unrefunded_minor == sum(each.receipt.money.minor - each.refunded_minor for each in mine)
        assert one.given_minor == sum(each.receipt.money.minor for each in mine)


@pytest.mark.parametrize("language", TranslationCatalogues().offered_languages)
async def test_h8_a_statement_in_any_language_is_tagged_with_a_table(language: str) -> None:
    made = statement(line(1000), line(250, "EUR", 50, moved=True), line(99, back=99), language=language)
    document = await read(made)
    catalogue = root(document)
    assert str(catalogue["/Lang"]).split("-")[0] == language.split("-")[0]
    metadata = catalogue["/Metadata"].get_data().decode()  # type: ignore[attr-defined]
    assert "<pdfuaid:part>1<" in metadata
    heard = kinds(catalogue["/StructTreeRoot"]["/K"])  # type: ignore[index]
    assert (heard.count("/Table"), heard.count("/TH"), heard.count("/TR")) == (1, 4, 4)
    assert text(document).count("ACME-000042") == 3


async def test_a_statement_says_what_was_given_what_went_back_and_what_remains() -> None:
    shown = text(await read(statement(line(1000), line(250, back=50, moved=True), line(99, back=99), more=True)))
    for stated in (
        "Donations from 1 January 2026 to 31 December 2026",
        "Amina El-Sayed",
        "Refunded: £0.50",
        "Reassigned to Other Fund",
        "Refunded in full: this receipt is void.",
        "Total (GBP)",
        "£13.49",
        "£1.49",
        "£12.00",
        "There are too many donations in this period",
        "This statement includes only donations made on the donation page",
        "Test mode. No real money moves here.",
    ):
        assert stated in " ".join(shown.split()), stated
    assert "No donations in this period." in text(await read(statement()))
    for period, reported in (
        (donor_statements_domain.uk_tax_year_period(2025), True),
        (donor_statements_domain.calendar_year_period(2025, UTC), False),
    ):
        shown = text(await read(replace(statement(), period=period)))
        assert ("The UK tax year begins and ends at midnight UK time." in " ".join(shown.split())) == reported


async def test_the_lines_of_a_tax_year_of_the_united_kingdom_have_days_of_london() -> None:
    """In UTC, where the receipts are issued, it was still the day before."""
    made = statement(line(1000, received_at=datetime(2025, 4, 5, 23, 30, tzinfo=UTC)))
    for period, day in (
        (donor_statements_domain.uk_tax_year_period(2025), "6 April 2025"),
        (donor_statements_domain.calendar_year_period(2025, UTC), "5 April 2025"),
    ):
        shown = " ".join(text(await read(replace(made, period=period))).split())
        assert f"{day} ACME-000042" in shown


@pytest.mark.soak
async def test_many_gifts_and_hostile_names_are_printed(figures: Figures) -> None:
    many = figures.count(150, 1000)
    rows = [line(100 + n, organisation="#panic() \\ *x* " + "W" * 200, number=n + 1) for n in range(many)]
    document = await read(statement(*rows))
    assert len(document.pages) > many / 50
    assert f"ACME-{many:06}" in text(document)


def test_a_year_begins_where_the_issuer_is() -> None:
    year = donor_statements_domain.calendar_year_period(2026, ZoneInfo("America/New_York"))
    assert (year.since, year.until) == (datetime(2026, 1, 1, 5, tzinfo=UTC), datetime(2027, 1, 1, 5, tzinfo=UTC))
    assert donor_statements_domain.parse_period(None, None, year.until - timedelta(minutes=1), year.zone) == year
