"""The donor's form, and the amounts it offers."""

import pytest
from babel import Locale

from almoner.giving.checkout.donations.domain import DonationDetails
from almoner.giving.checkout.hosted_page import domain as hosted_page_domain
from almoner.giving.checkout.hosted_page.schemas import DonationForm
from almoner.giving.checkout.hosted_page.views import mask_email
from almoner.giving.checkout.payments.domain import FeeSchedule
from almoner.giving.gift_aid.declarations.domain import Declarer
from almoner.kit.money import EXPONENTS, MAX_MINOR, Money
from almoner.nonprofits.countries.domain import COUNTRIES

ENGLISH = Locale("en")
USD = hosted_page_domain.donation_amounts_for("USD")
TARIFF = FeeSchedule(basis_points=250)
FULL = {"amount": "2500", "first_name": "Amina", "last_name": "El-Sayed", "email": "amina@example.org"}


def read(**changes: str) -> DonationDetails | dict[str, str]:
    return DonationForm.from_fields(FULL | changes).parse(USD, ENGLISH, TARIFF)


def test_a_full_form_is_a_gift() -> None:
    expected = DonationDetails(
        Money(2500, "USD"), "Amina", "El-Sayed", "amina@example.org", consented=False, anonymous=False
    )
    assert read() == expected
    chosen = read(anonymous="yes", contact="yes")
    assert isinstance(chosen, DonationDetails)
    assert (chosen.anonymous, chosen.consented) == (True, True)


def test_all_problems_are_told_at_once_in_the_order_of_the_page() -> None:
    assert DonationForm.from_fields({}).parse(USD, ENGLISH, TARIFF) == {
        "amount-1000": "give.problem.amount.missing",
        "first_name": "give.problem.name.missing",
        "email": "give.problem.email.missing",
    }


@pytest.mark.parametrize("names", [("Suharto", ""), ("", "Suharto")])
def test_u8_one_name_is_enough(names: tuple[str, str]) -> None:
    gift = read(first_name=names[0], last_name=names[1])
    assert isinstance(gift, DonationDetails)
    assert (gift.first_name, gift.last_name) == names
    assert declared(first_name="Suharto", last_name="") == {"last_name": "give.problem.last_name.missing"}


@pytest.mark.parametrize("postcode", ["sw1y  4jh", "SW1Y\u00a04JH", "SW1Y-4JH", " sw1y4jh\u200b", "ＳＷ１Ｙ　４ＪＨ"])
def test_m12_a_pasted_postcode_is_tidied(postcode: str) -> None:
    gift = declared(postcode=postcode)
    assert isinstance(gift, DonationDetails)
    assert gift.declarer is not None
    assert gift.declarer.postcode == "SW1Y 4JH"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"last_name": "x" * 39}, {"last_name": "give.problem.giftaid.last_name"}),
        ({"first_name": "John & Mary"}, {"first_name": "give.problem.giftaid.one_person"}),
        ({"title": "Mr & Mrs"}, {"title": "give.problem.giftaid.one_person"}),
        ({"last_name": "Widgets Ltd"}, {"last_name": "give.problem.giftaid.company"}),
        ({"first_name": "n/a"}, {"first_name": "give.problem.giftaid.real_name"}),
        ({"title": "."}, {"title": "give.problem.title.missing"}),
        ({"house": "-"}, {"house": "give.problem.house.missing"}),
        ({"road": "n/a"}, {"road": "give.problem.road.missing"}),
    ],
)
def test_m10_m11_what_no_claim_takes_is_told_while_the_donor_is_there(
    typed: dict[str, str], told: dict[str, str]
) -> None:
    assert declared(aid=True, **typed) == told


@pytest.mark.parametrize(
    ("amount", "typed", "minor"),
    [("other", "12.34", 1234), ("", "12.34", 1234), ("2500", "99", 2500), ("other", "1", 100)],
)
def test_the_amount_is_the_chosen_or_the_typed_one(amount: str, typed: str, minor: int) -> None:
    gift = read(amount=amount, typed=typed)
    assert isinstance(gift, DonationDetails)
    assert gift.money == Money(minor, "USD")


@pytest.mark.parametrize(
    ("amount", "typed", "problem"),
    [
        ("other", "", {"typed": "give.problem.amount.missing"}),
        ("other", "0.99", {"typed": "give.problem.amount.too_small"}),
        ("other", "100000.01", {"typed": "give.problem.amount.too_large"}),
        ("other", "1,5", {"typed": "give.problem.amount.not_a_number"}),
        ("other", "1.555", {"typed": "give.problem.amount.too_many_decimals"}),
        ("2501", "", {"amount-1000": "give.problem.amount.missing"}),
        ("-2500", "", {"amount-1000": "give.problem.amount.missing"}),
    ],
)
def test_h6_an_amount_outside_the_limits_is_refused(amount: str, typed: str, problem: dict[str, str]) -> None:
    assert read(amount=amount, typed=typed) == problem


def test_a_covered_fee_leaves_the_gift_whole() -> None:
    gift = read(cover="yes")
    assert isinstance(gift, DonationDetails)
    assert (gift.money, gift.cover_minor) == (Money(2564, "USD"), 64)
    assert gift.money - TARIFF.fee_for(gift.money) == Money(2500, "USD")
    without = read(cover="no")
    assert isinstance(without, DonationDetails)
    assert (without.money, without.cover_minor) == (Money(2500, "USD"), 0)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", None),
        (" \r\n\t ", None),
        ("For the café.\r\nThank you!\x07", "For the café.\nThank you!"),
        ("x" * 500, "x" * 500),
    ],
)
def test_a_message_keeps_its_lines_and_nothing_else_that_is_unseen(typed: str, message: str | None) -> None:
    gift = read(message=typed)
    assert isinstance(gift, DonationDetails)
    assert gift.message == message


def test_a_message_has_at_most_500_characters() -> None:
    assert read(message="🦁" * 501) == {"message": "give.problem.message.too_long"}
    assert isinstance(read(message="🦁" * 500), DonationDetails)


@pytest.mark.parametrize("name", ["李", "Nguyễn Thị", "O'Brien-Smith", "سلمى", "Ægir 3rd", "X" * 255])
def test_h9_names_are_free(name: str) -> None:
    gift = read(first_name=f" {name}\x00 ")
    assert isinstance(gift, DonationDetails)
    assert gift.first_name == name


@pytest.mark.parametrize(
    "email", ["a", "a@", "@b.c", "a@b", "a b@c.d", "a@b..c", "a@b.c\r\nBcc: x@y.z", "<a@b.c>", "a@b.c,d@e.f", "a@@b.c"]
)
def test_an_address_that_is_none_is_refused(email: str) -> None:
    assert read(email=email) == {"email": "give.problem.email.wrong"}


@pytest.mark.parametrize("email", ["a@b.co", "amina+gift@sub.example.org", "user@例子.中国", "o'brien@example.org"])
def test_addresses_that_exist_are_taken(email: str) -> None:
    assert isinstance(read(email=email), DonationDetails)


def test_long_texts_are_refused() -> None:
    assert read(first_name="x" * 256, last_name="y" * 256, email="a@" + "b" * 250 + ".org") == {
        "first_name": "give.problem.first_name.too_long",
        "last_name": "give.problem.last_name.too_long",
        "email": "give.problem.email.too_long",
    }


@pytest.mark.parametrize("currency", sorted(EXPONENTS))
def test_h6_every_currency_has_amounts_that_can_be_given(currency: str) -> None:
    found = hosted_page_domain.donation_amounts_for(currency)
    assert 0 < found.minimum <= found.suggested[0]
    assert sorted(set(found.suggested)) == list(found.suggested)
    assert len(found.suggested) == 4
    assert found.suggested[-1] <= found.maximum <= MAX_MINOR


def test_h6_the_minimum_in_the_currency_of_every_country_is_worth_about_a_dollar() -> None:
    """Nobody's money has the minimum of another currency."""
    assert {one.currency for one in COUNTRIES.values()} - {None} <= hosted_page_domain.CURRENCIES_OF_KNOWN_WORTH
    assert hosted_page_domain.donation_amounts_for("XOF").minimum == 500
    assert hosted_page_domain.donation_amounts_for("PYG").minimum == 5000
    assert hosted_page_domain.donation_amounts_for("CNY").suggested == (5000, 12_500, 25_000, 50_000)


def test_an_address_is_shown_to_its_owner_only() -> None:
    assert mask_email("amina@example.org") == "a•••@example.org"


POUNDS = hosted_page_domain.donation_amounts_for("GBP")
HOME = {"title": "Ms", "house": "12", "road": "St James's Square", "city": "London", "postcode": "sw1y 4jh"}


def declared(*, aid: bool = True, **changes: str) -> DonationDetails | dict[str, str]:
    return DonationForm.from_fields({**FULL, "gift_aid": "yes", **HOME, **changes}).parse(
        POUNDS, ENGLISH, TARIFF, offers_gift_aid=aid
    )


def test_gift_aid_takes_the_name_and_the_address() -> None:
    gift = declared()
    assert isinstance(gift, DonationDetails)
    assert gift.declarer == Declarer(
        "Ms", "Amina", "El-Sayed", "12", "St James's Square", "London", "United Kingdom", "SW1Y 4JH"
    )


def test_where_gift_aid_is_not_offered_or_not_wanted_its_fields_do_not_count() -> None:
    for gift in (declared(aid=False, postcode="none"), declared(gift_aid="", postcode="none")):
        assert isinstance(gift, DonationDetails)
        assert gift.declarer is None


def test_what_gift_aid_lacks_is_told_after_the_rest_of_the_form() -> None:
    problems = declared(title=" ", house="", road="", city="", postcode="", message="x" * 501, email="")
    assert isinstance(problems, dict)
    assert list(problems) == ["email", "message", "title", "house", "road", "city", "postcode"]
    assert declared(title="x" * 21, house="x" * 41) == {
        "title": "give.problem.giftaid.too_long",
        "house": "give.problem.giftaid.too_long",
    }


@pytest.mark.parametrize("postcode", ["12345", "SW1Y", "SW1Y 4J", "٤SW 1AA", "QW1Y 4JH"])
def test_a_postcode_that_is_none_is_refused(postcode: str) -> None:
    assert declared(postcode=postcode) == {"postcode": "give.problem.postcode.wrong"}
