"""References of bank transfers: ISO 11649, found however people and banks write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import iso11649

from almoner.kit import iso11649 as rf

BODIES = st.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", min_size=rf.LENGTH, max_size=rf.LENGTH)


@given(BODIES)
def test_a_reference_is_one_of_the_standard(body: str) -> None:
    reference = rf.build_creditor_reference(body)
    assert iso11649.is_valid(reference)
    assert rf.format_creditor_reference(reference).replace(" ", "") == reference
    assert rf.find_creditor_references(reference) == [reference]


@given(BODIES, st.integers(4, 13), st.sampled_from("0123456789ABCDEFGHJKMNPQRSTVWXYZ"))
def test_one_digit_for_another_is_noticed_and_so_are_letters(body: str, place: int, other: str) -> None:
    reference = rf.build_creditor_reference(body)
    wrong = reference[:place] + other + reference[place + 1 :]
    of_one_kind = other.isdigit() == reference[place].isdigit()
    assert wrong == reference or not of_one_kind or not rf.is_valid_creditor_reference(wrong)


@pytest.mark.parametrize(
    "written",
    ["{}", "gift {} thank you", "for the children:{}", "R{}"],
)
def test_it_is_found_in_any_spacing_and_case(written: str) -> None:
    reference = rf.build_creditor_reference("7ZQ3K9M0B1")
    for form in (
        reference,
        rf.format_creditor_reference(reference),
        reference.lower(),
        "-".join(reference),
        reference.replace("0", "o"),
        "_".join(reference),
        f"{reference[:4]}, {reference[4:]}",
        f"{reference[:5]}\u200b{reference[5:9]}\u2013{reference[9:]}\ufeff",
        reference.replace("K", "\u041a").replace("M", "\u039c"),
        "".join(chr(ord(one) + 0xFEE0) for one in reference),
    ):
        assert reference in rf.find_creditor_references(written.format(form)), form


def test_what_only_looks_like_one_is_not_found() -> None:
    assert rf.find_creditor_references("RF00 1234 5678 90 and RF18 539") == []
