"""The test provider's reading of cards, and the wait between its notices (settled 9)."""

from datetime import UTC, datetime, timedelta

import pytest

from almoner.provider_test import domain as provider_test_domain
from almoner.provider_test.domain import Card, CardForm, CardOutcome

NOW = datetime(2026, 3, 31, 23, 59, tzinfo=UTC)


def read(number: str = "4242424242424242", expiry: str = "12/30", cvc: str = "123", name: str = "A") -> object:
    return CardForm(number, expiry, cvc, name).parse_card_or_field_errors(NOW)


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        ("4242 4242 4242 4242", CardOutcome.SUCCEEDS),
        ("4000-0000-0000-0002", CardOutcome.DECLINED),
        ("4000000000009995", CardOutcome.INSUFFICIENT_FUNDS),
        ("4000 0000 0000 3220", CardOutcome.CHALLENGED),
        ("4000000000000259", CardOutcome.DISPUTED_LATER),
        ("4000000000000341", CardOutcome.DECLINED_LATER),
        ("4000 0027 6000 3184", CardOutcome.ALWAYS_CHALLENGED),
        ("5555555555554444", None),
    ],
)
def test_settled_9_the_test_cards(number: str, outcome: CardOutcome | None) -> None:
    card = read(number)
    assert isinstance(card, Card)
    assert card.outcome is outcome


@pytest.mark.parametrize("expiry", ["03/26", "3/26", "0326", "03 / 2026", "03-26", "12/2099"])
def test_a_card_is_good_to_the_end_of_its_month(expiry: str) -> None:
    assert isinstance(read(expiry=expiry), Card)


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"expiry": "02/26"}, {"expiry": "test_provider.expiry.past"}),
        ({"expiry": "13/30"}, {"expiry": "test_provider.expiry.wrong"}),
        ({"expiry": "00/30"}, {"expiry": "test_provider.expiry.wrong"}),
        ({"expiry": " "}, {"expiry": "test_provider.expiry.missing"}),
        ({"number": ""}, {"number": "test_provider.number.missing"}),
        ({"number": "4242424242424243"}, {"number": "test_provider.number.wrong"}),
        ({"number": "42424242426"}, {"number": "test_provider.number.wrong"}),
        ({"cvc": "12"}, {"cvc": "test_provider.cvc.wrong"}),
        ({"cvc": "12a"}, {"cvc": "test_provider.cvc.wrong"}),
        ({"name": " "}, {"name": "test_provider.name.missing"}),
    ],
)
def test_a_wrong_card_is_told_by_field(changes: dict[str, str], problems: dict[str, str]) -> None:
    assert read(**changes) == problems


def test_h9_digits_of_any_script_are_read() -> None:
    assert read("٤٢٤٢ ٤٢٤٢ ٤٢٤٢ ٤٢٤٢", "٠٩/٣٠", "١٢٣") == Card("4242424242424242", (2030, 9))


def test_h5_a_card_shows_its_number_in_no_text() -> None:
    typed = CardForm("4242424242424242", "12/30", "123", "A")
    card = typed.parse_card_or_field_errors(NOW)
    assert isinstance(card, Card)
    assert (card.brand, card.last_four) == ("visa", "4242")
    assert "4242424242424242" not in f"{typed!r} {card!r}"
    assert "123" not in repr(typed)


@pytest.mark.parametrize("number", ["79927398713", "4242424242424242", "0"])
def test_luhn_takes_right_check_digits_alone(number: str) -> None:
    assert provider_test_domain.is_luhn_valid(number)
    for place, digit in enumerate(number):
        for other in set("0123456789") - {digit}:
            assert not provider_test_domain.is_luhn_valid(number[:place] + other + number[place + 1 :])


def test_the_waits_between_notices_grow_and_then_stay() -> None:
    waits = [provider_test_domain.retry_delay(attempts) for attempts in range(1, 10)]
    assert waits == sorted(waits)
    assert waits[-1] == waits[-2] == timedelta(hours=1)
