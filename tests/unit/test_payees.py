"""Accounts of nonprofits: numbers as people type them, and who may approve."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from schwifty import IBAN

from almoner.giving.disbursing.payee_bank_accounts import account_numbers as numbers
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import (
    MIN_MATCHING_SCORE,
    MIN_PLAUSIBLE_SCORE,
    AccountNumbers,
    AccountReview,
    Address,
    PayeeAccount,
    PayeeAccountError,
    account_warnings,
    ensure_may_approve,
    find_proposal_problems,
    is_sepa_account,
)
from almoner.nonprofits.countries.domain import ALPHA3_BY_ALPHA2
from almoner.screening.matching.service import best_name_similarity

RIGHT: list[tuple[Mapping[str, str], AccountNumbers]] = [
    ({"iban": "de89 3704 0044 0532 0130 00"}, AccountNumbers("iban", "DE89370400440532013000")),
    ({"iban": "\u202aDE89 3704\u200b 0044 0532 0130 00\u202c"}, AccountNumbers("iban", "DE89370400440532013000")),
    ({"iban": "IBAN: DE89 3704 0044 0532 0130 00"}, AccountNumbers("iban", "DE89370400440532013000")),
    ({"iban": "ＤＥ８９ ３704 0044 0532 0130 00"}, AccountNumbers("iban", "DE89370400440532013000")),
    ({"iban": "NL91ABNA0417164300", "bic": "ABNANL2A"}, AccountNumbers("iban", "NL91ABNA0417164300", None, "ABNANL2A")),
    ({"sort_code": "20-00-00", "account": "5577 9911"}, AccountNumbers("gb", "55779911", "200000")),
    ({"routing": "011000015", "account": "000123456789"}, AccountNumbers("us", "000123456789", "011000015")),
    ({"bsb": "082-902", "account": "123456789"}, AccountNumbers("au", "123456789", "082902")),
    ({"account": "01-902-0068389-00"}, AccountNumbers("nz", "0109020068389000")),
    ({"institution": "003", "transit": "12345", "account": "1234567"}, AccountNumbers("ca", "1234567", "00312345")),
]
WRONG: list[tuple[Mapping[str, str], str]] = [
    ({"iban": "DE88370400440532013000"}, "iban is not valid"),
    ({"iban": "DE8937040044053201300"}, "iban is not valid"),
    ({"iban": "NL91ABNA0417164300", "bic": "ABN"}, "bic is not valid"),
    ({"sort_code": "2000", "account": "1"}, "sort code must have 6 digits; account must have 8 digits"),
    ({"routing": "011000016", "account": "12345"}, "routing must be a valid routing number"),
    ({"routing": "٠١١٠٠٠٠١٥", "account": "12345"}, "routing must be a valid routing number"),
    ({"bsb": "08290", "account": "1"}, "bsb must have 6 digits; account must have 4 to 9"),
    ({"account": "01-902-0068389-01-9"}, "valid New Zealand account"),
    ({"iban": "DE89370400440532013000", "account": "1"}, "specify the numbers of one account type"),
    ({}, "specify the numbers of one account type: iban / sort code and account"),
]
OF_COUNTRIES = {
    "AE": "070331234567890123456", "AT": "611904300234573201", "BE": "68539007547034", "BG": "80BNBG96611020345678",
    "BR": "1800360305000010009795493C1", "CH": "9300762011623852957", "CY": "17002001280000001200527600",
    "CZ": "6508000000192000145399", "DE": "89370400440532013000", "DK": "5000400440116243", "EE": "382200221020145685",
    "EG": "380019000500000000263180002", "ES": "9121000418450200051332", "FI": "2112345600000785",
    "FR": "1420041010050500013M02606", "GB": "29NWBK60161331926819", "GR": "1601101250000000012300695",
    "HR": "1210010051863000160", "HU": "42117730161111101800000000", "IE": "29AIBK93115212345678",
    "IL": "620108000000099999999", "IS": "140159260076545510730339", "IT": "60X0542811101000000123456",
    "JO": "94CBJO0010000000000131000302", "KW": "81CBKU0000000000001234560101", "LB": "62099900000001001901229114",
    "LI": "21088100002324013AA", "LT": "121000011101001000", "LU": "280019400644750000", "LV": "80BANK0000435195001",
    "MC": "5811222000010123456789030", "MT": "84MALT011000012345MTLCAST001S", "NL": "91ABNA0417164300",
    "NO": "9386011117947", "PK": "36SCBL0000001123456702", "PL": "61109010140000071219812874",
    "PT": "50000201231234567890154", "QA": "58DOHB00001234567890ABCDEFG", "RO": "49AAAA1B31007593840000",
    "RS": "35260005601001611379", "SA": "0380000000608010167519", "SE": "4550000000058398257466",
    "SI": "56191000000123438", "SK": "3112000000198742637541", "TR": "330006100519786457841326",
    "UA": "213223130000026007233566001",
}  # fmt: skip
"""One account of each country with IBANs, as the register of IBANs shows it."""
NOW = datetime(2026, 3, 2, tzinfo=UTC)
ACCOUNT = PayeeAccount(
    UUID(int=1), UUID(int=2), "EUR", "iban", "Holder", b"", "DE89", Address("Berlin", "DEU"), 90, False, "proposed",
    AccountReview("one", "letter", NOW), None, None, None, None, None,
)  # fmt: skip


@pytest.mark.parametrize(("typed", "known"), RIGHT)
def test_numbers_are_read_in_every_spelling(typed: Mapping[str, str], known: AccountNumbers) -> None:
    read = payee_bank_accounts.parse_account_numbers(typed)
    assert read == known
    assert read.account[-4:] in read.masked_number
    assert read.account not in read.masked_number


@pytest.mark.parametrize(("typed", "known"), RIGHT)
def test_a_number_typed_anew_is_the_same_in_every_spelling(typed: Mapping[str, str], known: AccountNumbers) -> None:
    again = " ".join(typed[name] for name in numbers.NEEDED[known.scheme])
    assert numbers.is_same_account_number(known, again)
    assert not numbers.is_same_account_number(known, again + "7")
    assert not numbers.is_same_account_number(known, again.replace("0", "1"))
    assert not numbers.is_same_account_number(known, "")


@pytest.mark.parametrize(("typed", "why"), WRONG)
def test_wrong_numbers_are_told_all_at_once(typed: Mapping[str, str], why: str) -> None:
    with pytest.raises(PayeeAccountError) as refused:
        payee_bank_accounts.parse_account_numbers(typed)
    assert why in str(refused.value)


@pytest.mark.parametrize("country", OF_COUNTRIES)
def test_each_countrys_iban_is_told_from_a_mistyped_one(country: str) -> None:
    check, number = OF_COUNTRIES[country][:2], OF_COUNTRIES[country][2:]
    whole = {"iban": f"{country}{check}{number}"}
    assert (
        payee_bank_accounts.parse_account_numbers({**whole, "bic": f"AAAA{country}22"}).country
        == ALPHA3_BY_ALPHA2[country]
    )
    sepa = bool(IBAN(whole["iban"]).in_sepa_zone)
    assert is_sepa_account("iban", whole["iban"]) is sepa
    if not sepa:
        with pytest.raises(PayeeAccountError, match=f"bic is required: .* bank in {country}"):
            payee_bank_accounts.parse_account_numbers(whole)
    mistyped = f"{int(check) % 97 + 2:02d}"
    swapped = number[-1] + number[1:-1] + number[0]
    for wrong in (f"{mistyped}{number}", f"{check}{number}0", f"{check}{number[:-1]}", f"{check}{swapped}"):
        if wrong != check + number:
            with pytest.raises(PayeeAccountError, match="iban is not valid"):
                payee_bank_accounts.parse_account_numbers({"iban": country + wrong})


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ({"routing": "000000000", "account": "12345"}, "routing must be a valid routing number"),
        ({"routing": "011000015", "account": "00000"}, "account must not be all zeros"),
        ({"sort_code": "000000", "account": "00000000"}, "sort code must not be all zeros; account must not be"),
        ({"iban": "GB82WEST12345698765432", "bic": "A", "account": "1"}, "one account type: iban / sort code"),
        ({"bic": "A"}, "bic is not valid"),
    ],
)
def test_what_forms_are_tried_out_with_is_no_account(typed: Mapping[str, str], why: str) -> None:
    with pytest.raises(PayeeAccountError) as refused:
        payee_bank_accounts.parse_account_numbers(typed)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("holder", "register", "minimum", "most"),
    [
        ("Société de Secours", "Societe de Secours", MIN_MATCHING_SCORE, 100),
        ("ÄRZTE OHNE GRENZEN E.V.", "Aerzte ohne Grenzen", MIN_MATCHING_SCORE, 100),
        ("Olive Relief Ltd", "OLIVE RELIEF LIMITED", MIN_MATCHING_SCORE, 100),
        ("Olive Relief, Inc.", "Olive Relief", MIN_MATCHING_SCORE, 100),
        ("Stichting Olijf", "OLIJF, STICHTING", MIN_MATCHING_SCORE, 100),
        ("The Olive Relief", "Olive Relief", MIN_MATCHING_SCORE, 100),
        ("Красный Крест", "Красный Крест", 100, 100),
        ("Mr John Smith", "Olive Relief", 0, MIN_PLAUSIBLE_SCORE - 1),
        ("Olive Holdings", "Olive Relief", 0, MIN_MATCHING_SCORE - 1),
        ("ＯＬＩＶＥ Relief", "Olive Relief", MIN_MATCHING_SCORE, 100),
    ],
)
def test_a_holder_is_compared_with_the_registers_name(holder: str, register: str, minimum: int, most: int) -> None:
    assert minimum <= round(100 * best_name_similarity([holder], [register]).score) <= most


def test_what_is_unusual_of_an_account_is_told() -> None:
    numbers = payee_bank_accounts.parse_account_numbers({"iban": "DE89370400440532013000", "bic": "COBADEFFXXX"})
    assert account_warnings(ACCOUNT, numbers, "DEU") == []
    elsewhere = replace(ACCOUNT, name_match_score=MIN_MATCHING_SCORE - 1)
    assert account_warnings(elsewhere, replace(numbers, bic="ABNANL2A"), "FRA") == [
        f"the holder matches the name in the register by only {MIN_MATCHING_SCORE - 1} %",
        "the account is in DEU, but the nonprofit is in FRA",
        "the holder's address is in DEU, but the nonprofit is in FRA",
        "the BIC belongs to a bank in NLD",
    ]


def test_all_problems_of_a_proposal_are_told_at_once() -> None:
    assert find_proposal_problems("", Address("", "DE"), "USD", "gb") == [
        "holder is required",
        "town is required",
        "country must have three letters such as DEU, not 'DE'",
        "an account of this type must be in GBP, not in USD",
    ]
    assert find_proposal_problems("Ελπίδα", Address("北京", "CHN", "Søndre gate"), "EUR", None) == [
        "holder must be in Latin letters, as the bank writes it",
        "town must be in Latin letters, as the bank writes it",
    ]
    assert find_proposal_problems("Bread 🍞 Trust", Address("Łódź", "POL", "??"), "PLN", None) == [
        "holder has characters that banks do not take: 🍞. Write it as the bank does",
        "street has no letter or digit that banks take: write it as the bank does",
    ]
    assert find_proposal_problems("ß" * 36, Address("Berlin", "DEU"), "EUR", None) == [
        "holder must have at most 70 characters"
    ]
    assert find_proposal_problems("x" * 71, Address("Berlin", "DEU"), "EURO", None) == [
        "holder must have at most 70 characters",
        "currency must have three letters such as EUR, not 'EURO'",
    ]


def test_who_proposed_an_account_does_not_approve_it_and_nobody_looks_twice() -> None:
    ensure_may_approve(ACCOUNT, "two")
    with pytest.raises(PayeeAccountError, match="You proposed this account, so"):
        ensure_may_approve(ACCOUNT, "one")
    change = replace(ACCOUNT, requires_second_approval=True, first_review=AccountReview("two", "called", NOW))
    ensure_may_approve(change, "three")
    with pytest.raises(PayeeAccountError, match="a second person must approve"):
        ensure_may_approve(change, "two")
    with pytest.raises(PayeeAccountError, match="The account is refused"):
        ensure_may_approve(replace(ACCOUNT, status="refused"), "two")
    assert (ACCOUNT.required_review_count, change.required_review_count, change.completed_review_count) == (1, 2, 1)
