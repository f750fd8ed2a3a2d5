"""The terms of the search: what a record is found by, and what it is not."""

from uuid import UUID

import pytest

from almoner.dashboard.search_terms import (
    MOST_WORDS,
    SearchableRecord,
    hash_terms_of_query,
    hash_terms_of_record,
    split_query_into_words,
)

PARTNER = UUID(int=1)


def finds(typed: str, *texts: str, personal: bool = False, asked: bool = True, partner: UUID = PARTNER) -> bool:
    """Whether what is typed finds a record with these texts; ``personal``: whether they are personal data."""
    parts = (texts, ()) if personal else ((), texts)
    terms = set(hash_terms_of_record(SearchableRecord(PARTNER, "donation", UUID(int=2), *parts)))
    words = hash_terms_of_query(partner, "donation", typed, includes_personal_terms=asked)
    return bool(words) and all(terms.intersection(word) for word in words)


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("muller", "Müller"),
        ("MÜLL", "Müller"),
        ("strasse", "Straße"),
        ("o'brien", "O'Brien"),
        ("brien", "O'Brien"),
        ("marsh", "Quill-Marsh"),
        ("nia@example.org", "Nia@Example.org"),
        ("nia.qui", "nia.quill@example.org"),
        ("quill", "nia.quill@example.org"),
        ("example.org", "nia.quill@example.org"),
        ("ALM-7QX2M-00041", "ALM-7QX2M-00041"),
        ("000042", "ACME-000042"),
        ("山田", "山田太郎"),
        ("ивано", "Иванова"),
        ("trust harbour", "Harbour Trust"),
        ("extraordinarily", "Extraordinarily"),
        ("ja", "Ja"),
    ],
)
def test_a_word_its_parts_and_its_beginning_find(typed: str, text: str) -> None:
    assert finds(typed, text)


@pytest.mark.parametrize(
    ("typed", "text"),
    [("mu", "Müller"), ("uller", "Müller"), ("harbour gate", "Harbour Trust"), ("extraordinari", "Extraordinarily")],
)
def test_what_is_no_word_no_part_and_no_beginning_does_not_find(typed: str, text: str) -> None:
    assert not finds(typed, text)


def test_personal_terms_and_those_of_other_partners_are_others() -> None:
    assert finds("nia", "Nia", personal=True)
    assert not finds("nia", "Nia", personal=True, asked=False)
    assert not finds("nia", "Nia", partner=UUID(int=9))


def test_a_record_and_a_search_have_a_limit() -> None:
    assert len(split_query_into_words("one two three four five six")) == MOST_WORDS
    assert split_query_into_words(" \t ") == []
    long = " ".join(f"word{number}" for number in range(1000))
    assert len(hash_terms_of_record(SearchableRecord(PARTNER, "donation", PARTNER, (), (long,)))) < 500
