"""The words of a place by which a body is found."""

from uuid import UUID

import pytest

from almoner.nonprofits.registers.domain import RegisterEntry
from almoner.nonprofits.registers.records import STAGING_COLUMNS, build_staging_row_or_problem, serialise_entry


@pytest.mark.parametrize(
    ("postcode", "words"),
    [
        ("82003-2135", "82003 2135"),
        ("82003", "82003"),
        ("YO1 1AA", "yo1 1aa yo11aa"),
        ("ec1a1bb", "ec1a 1bb ec1a1bb"),
        ("EH3", "eh3"),
        ("K1A 0B1", "k1a 0b1 k1a0b1"),
        ("1012AB", "1012ab"),
        (None, ""),
    ],
)
def test_a_postcode_is_found_as_it_is_typed(postcode: str | None, words: str) -> None:
    entry = RegisterEntry("530196605", "all", "Fund", city="York", postcode=postcode)
    row = build_staging_row_or_problem("IRS", entry, serialise_entry(entry), UUID(int=1), 0, 2)
    assert row[STAGING_COLUMNS.index("search_place")] == f"york {words}".strip()
