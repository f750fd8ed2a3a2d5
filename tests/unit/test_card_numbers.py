"""The scanner that looks for card numbers sees them, and little else (H5)."""

import pytest

from tests.support.card_numbers import found_in, in_lines


@pytest.mark.parametrize(
    "text",
    [
        "4242424242424242",
        'paid with "4000 0000 0000 0002".',
        "card=378282246310005&cvc=1",
        "номер 5555555555554444,",
        "(6011111111111117)",
    ],
)
def test_h5_card_numbers_are_seen(text: str) -> None:
    assert len(found_in(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "4242424242424241",  # the check digit is wrong
        "9007199254740991",  # the largest amount
        "tp_4242424242424242",
        "a4242424242424242b",
        "1763740000.123456",
        "424242424242424242424242",
        "sha256 424242424242424242424242424242424242424242424242",
        "2026-11-21T09:30:00.000Z",
    ],
)
def test_h5_what_is_no_card_number_is_left_alone(text: str) -> None:
    assert found_in(text) == []


def test_h5_lines_are_read_as_they_are() -> None:
    assert in_lines([b'{"event":"x"}', b'{"note":"4242 4242 4242 4242"}', b"\xff"]) == ["4242424242424242"]
