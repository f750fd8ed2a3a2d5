"""The identifier check: every spelling of a number is one number, a mistyped one is never in order, no text raises."""

import string

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from almoner.nonprofits.registries import check_digits
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries.number_formats import NUMBER_FORMATS

DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2212\uff0d"
BLANKS = " \u00a0\u202f\u2009\t\u200b\ufeff"
LABELS = {
    "IRS": ["", "EIN ", "ein: ", "EIN #", "Tax ID ", "US-EIN-", "us-ein-", "Federal Tax ID No. "],
    "CCEW": ["", "Charity no. ", "Registered Charity Number: ", "RCN ", "Reg. Charity No ", "№ ", "n° ", "GB-CHC-"],
    "OSCR": ["", "Scottish Charity No. ", "GB-SC-", "Charity number ("],
    "CCNI": ["", "NIC", "NIC ", "NI ", "Charity no. NIC", "GB-NIC-"],
    "ACNC": ["", "ABN ", "ABN: ", "abn", "AU-ABN-"],
    "CRA": ["", "BN ", "Charity registration number ", "CA-CRA_ACR-", "ca-cra_acr-"],
    "CRI": ["", "RCN ", "Registered Charity Number ", "IE-CHY-"],
    "NZCS": ["", "Reg. no. ", "NZ-CR-"],
    "ANBI": ["", "RSIN ", "RSIN: ", "fiscaal nummer "],
    "RNA": ["", "RNA ", "RNA n° "],
    "CNPJ": ["", "CNPJ ", "CNPJ: ", "BR-CNPJ-"],
    "RFC": ["", "RFC ", "MX-RFC-"],
    "COC": ["", "UEN ", "SG-COC-"],
    "NPO": ["", "NPO ", "ZA-NPO-"],
    "FCRA": ["", "FCRA ", "IN-MHA-"],
}
DIGITS = string.digits
of_each = settings(max_examples=settings().max_examples // 4)
"""Examples of each register, of which there are many."""


@st.composite
def valid(draw: st.DrawFn, code: str) -> str:
    """A number of the register, with its check digit where it has one."""
    if code in check_digits._RULES:
        texts = st.from_regex(NUMBER_FORMATS[code].pattern, fullmatch=True).filter(str.isascii)
        number = draw(texts)
        places = {"ACNC": 2, "CNPJ": 12, "CRA": 8, "ANBI": 8, "RFC": 11, "COC": len(number) - 1}
        tails = {"ACNC": [f"{n:02d}" for n in range(11, 100)], "CNPJ": [f"{n:02d}" for n in range(100)]}
        alphabet = string.digits + string.ascii_uppercase if code in ("RFC", "COC") else DIGITS
        at = places[code]
        before, after = (number[:at], number[at + 1 :]) if code != "ACNC" else ("", number[2:])
        candidates = (before + tail + (after if code != "CNPJ" else "") for tail in tails.get(code, alphabet))
        number = next(
            (candidate for candidate in candidates if check_digits.has_valid_check_digits(code, candidate)), ""
        )
        assume(number and registries_domain.parse_number_key(code, number) == number)
        return number
    number = draw(st.from_regex(NUMBER_FORMATS[code].pattern, fullmatch=True))
    assume(number not in NUMBER_FORMATS[code].refused and not number.endswith("NPO"))
    return number


@st.composite
def spelled(draw: st.DrawFn, code: str, number: str) -> str:
    """The number with hyphens, blanks, dots and a label, as people type it."""
    label = draw(st.sampled_from(LABELS[code]))
    marks = BLANKS + ("" if code == "CCEW" else DASHES)  # there a hyphen has a meaning
    gaps = draw(st.lists(st.text(marks, max_size=2), min_size=len(number), max_size=len(number)))
    text = label + "".join(character + gap for character, gap in zip(number, gaps, strict=True))
    return draw(st.sampled_from([text, text.lower(), f" {text} "]))


@pytest.mark.parametrize("code", LABELS)
@of_each
@given(data=st.data())
def test_every_spelling_of_a_number_is_the_same_number(code: str, data: st.DataObject) -> None:
    number = data.draw(valid(code))
    text = data.draw(spelled(code, number))
    result = registries_domain.check_registry_number(code, text)
    assert (result.verdict, result.number_key) == ("ok", number)
    assert registries_domain.parse_number_key(code, text) == number
    assert number in registries_domain.possible_number_keys(text)
    assert result.formatted_number is not None
    assert registries_domain.parse_number_key(code, result.formatted_number) == number


@pytest.mark.parametrize("code", ["ACNC", "CRA", "ANBI", "CNPJ", "COC"])
@of_each
@given(data=st.data())
def test_one_wrong_digit_is_never_in_order(code: str, data: st.DataObject) -> None:
    number = data.draw(valid(code))
    covered = number[:9] if code == "CRA" else number
    place = data.draw(st.integers(0, len(covered) - 1).filter(lambda at: number[at].isdigit()))
    digit = data.draw(st.sampled_from([digit for digit in DIGITS if digit != number[place]]))
    mistyped = number[:place] + digit + number[place + 1 :]
    # There the rule itself is blind: both sums may move between 0 and 10, which are written alike.
    assume(code != "CNPJ" or place not in (0, 4, 8))
    result = registries_domain.check_registry_number(code, mistyped)
    assert result.verdict in ("wrong_check_digit", "malformed", "refused")


@pytest.mark.parametrize("code", NUMBER_FORMATS)
@of_each
@given(text=st.text(max_size=120) | st.text("0123456789EINSCRNOWABCHY-./_+ ,'\u0661\u00b2\u2460", max_size=20))
@example(text="\ud800")
@example(text="\u00b2\u00b3\u00b9")
@example(text="\u0967\u0968")
@example(text="N" * 100)
@example(text="REGNO" * 20)
def test_no_text_raises_and_only_numbers_have_keys(code: str, text: str) -> None:
    result = registries_domain.check_registry_number(code, text)
    assert result.number_key == registries_domain.parse_number_key(code, text)
    assert result.explanation.endswith(".")
    assert (
        (result.number_key is None) == (result.formatted_number is None) == (result.verdict in ("malformed", "refused"))
    )
    if result.number_key is not None:
        assert registries_domain.parse_number_key(code, result.number_key) == result.number_key
        assert registries_domain.check_registry_number(code, result.number_key).verdict == result.verdict
    registries_domain.possible_number_keys(text)


@pytest.mark.parametrize(
    ("code", "text", "verdict", "words", "hint"),
    [
        ("IRS", "12345678", "malformed", "nine digits", "a leading zero may be missing: 012345678?"),
        ("IRS", "123456", "malformed", "nine digits", None),
        ("IRS", "53O196605", "malformed", "nine digits", "a letter may stand for a digit: 530196605?"),
        ("IRS", "\u0665\u0663\u0660\u0661\u0669\u0666\u0666\u0660\u0665", "refused", "another script", "53-0196605?"),
        ("IRS", "5.3E+08", "malformed", "spreadsheet", None),
        ("IRS", "5.30196605E8", "malformed", "spreadsheet", None),
        ("IRS", "530196605.0", "malformed", "spreadsheet", "53-0196605?"),
        ("IRS", "00-0000000", "refused", "never given", None),
        ("IRS", "US-EIN-000000000", "malformed", "nine digits", None),
        ("IRS", "GB-CHC-1173575", "refused", "GB-CHC is the prefix of numbers of CCEW", None),
        ("IRS", "", "malformed", "no number", None),
        ("IRS", "5" * 200, "malformed", "longer than any", None),
        ("CCEW", "117357.0", "malformed", "spreadsheet", "117357?"),
        ("CCEW", "117357/1", "malformed", "six or seven", "a linked charity is written with a hyphen: 117357-1?"),
        ("CCEW", "0117357", "malformed", "six or seven", "numbers of this register do not begin with 0: 117357?"),
        ("CCEW", "SC042386", "malformed", "six or seven", "this is how OSCR writes its numbers"),
        ("CCEW", "GB-SC-SC042386", "refused", "OSCR", None),
        ("OSCR", "SCO42386", "malformed", "SC and six", "a letter may stand for a digit: SC042386?"),
        ("OSCR", "42386", "malformed", "SC and six", "a leading zero may be missing: SC042386?"),
        ("OSCR", "042386", "malformed", "SC and six", "its letters may be missing: SC042386?"),
        ("NZCS", "12345", "malformed", "CC and five", "its letters may be missing: CC12345?"),
        ("ACNC", "52 093 617 381", "wrong_check_digit", "check digit", None),
        ("ACNC", "093617380", "refused", "ACN", None),
        ("CRA", "119219815 RR 0001", "wrong_check_digit", "check digit", None),
        ("CRA", "119219814", "malformed", "RR", "the account is missing, RR and four digits: 119219814RR0001?"),
        ("CRA", "119219814RC0001", "refused", "another account", None),
        ("CRI", "CHY 12345", "refused", "tax office", None),
        ("CRI", "IE-CHY-CHY12345", "refused", "tax office", None),
        ("ANBI", "123456783", "wrong_check_digit", "check digit", None),
        ("ANBI", "000000000", "refused", "never given", None),
        ("ANBI", "NL-KVK-12345678", "refused", "NL-KVK is the prefix of another list", None),
        ("CNPJ", "02.326.629/0001-52", "wrong_check_digit", "check digit", None),
        ("CNPJ", "2326629000151", "malformed", "twelve", "a leading zero may be missing: 02326629000151?"),
        ("RFC", "GODE561231GR8", "refused", "person", None),
        ("RFC", "VAE460910SX7", "wrong_check_digit", "check digit", "some numbers in use break the rule"),
        ("RNA", "130025265", "refused", "SIREN", None),
    ],
)
def test_what_is_no_number_is_told_with_its_reason(
    code: str, text: str, verdict: str, words: str, hint: str | None
) -> None:
    result = registries_domain.check_registry_number(code, text)
    assert result.verdict == verdict
    assert words in result.explanation
    assert (hint is None and result.suggested_numbers == ()) or (
        hint is not None and result.suggested_numbers[0].startswith(hint)
    )


@pytest.mark.parametrize(
    ("code", "text", "key"),
    [
        ("CCEW", "1173575\u20131", "1173575-1"),
        ("CCEW", "GB-CHC-1173575-12", "1173575-12"),
        ("CCEW", "1173575-0", "1173575"),
        ("CCEW", "1-173-575", "1173575"),
        ("CCEW", "1.173.575", "1173575"),
        ("CCEW", "1,173,575", "1173575"),
        ("CNPJ", "12.ABC.345/01DE-35", "12ABC34501DE35"),
        ("HMRC", "GB-REV-x6243", "X6243"),
        ("NPO", "181-465 NPO", "181465"),
        ("CCEW", "Registered charity in England and Wales (1173575)", "1173575"),
        ("CCEW", "Registered Charity Number 1173575-1 (England & Wales)", "1173575-1"),
        ("CCEW", "Elusen gofrestredig 1173575", "1173575"),
        ("OSCR", "Registered charity in Scotland: SC042386", "SC042386"),
        ("CCNI", "Charity Commission for Northern Ireland NIC100019", "100019"),
        ("IRS", "530196605 (EIN)", "530196605"),
        ("ACNC", "52 093 617 380 (ABN)", "52093617380"),
        ("CRA", "NE 119219814 RR 0001", "119219814RR0001"),
        ("ANBI", "RSIN-nummer 123456782", "123456782"),
        ("ANBI", "NL 123456782", "123456782"),
        ("HMRC", "HMRC ref: X6243", "X6243"),
        ("HMRC", "HMRC ID1234", "ID1234"),
    ],
)
def test_numbers_with_forms_of_their_own(code: str, text: str, key: str) -> None:
    assert registries_domain.check_registry_number(code, text).verdict == "ok"
    assert registries_domain.check_registry_number(code, text).number_key == key


@pytest.mark.parametrize("ein", ["00-0000001", "69-0000001", "78-0000001", "96-0000001", "97-0000001"])
def test_rare_prefixes_of_eins_are_in_order_with_a_hint(ein: str) -> None:
    result = registries_domain.check_registry_number("IRS", ein)
    assert result.verdict == "ok"
    assert result.suggested_numbers == (f"few EINs begin with {ein[:2]}",)


def test_a_number_grouped_like_a_persons_is_flagged() -> None:
    result = registries_domain.check_registry_number("IRS", "123-45-6789")
    assert result.verdict == "ok"
    assert "social security" in result.suggested_numbers[0]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("US-EIN-530196605", ["530196605"]),
        ("gb-sc-SC042386", ["SC042386"]),
        ("NZ-CR-CC12345", ["CC12345"]),
        ("US-EIN-53019660", []),
    ],
)
def test_an_org_id_stands_for_one_number(text: str, keys: list[str]) -> None:
    assert registries_domain.possible_number_keys(text) == keys


def test_an_org_id_names_its_register() -> None:
    assert registries_domain.parse_org_id("CA-CRA_ACR-119219814RR0001") == ("CRA", "CA-CRA_ACR-119219814RR0001")
    assert registries_domain.parse_org_id("NL-KVK-12345678") is None
    assert registries_domain.parse_org_id("53-0196605") is None


def test_of_a_register_that_a_mapping_declares_any_number_has_the_form() -> None:
    assert registries_domain.check_registry_number("NOBODY", "ab-1").number_key == "AB1"
    assert registries_domain.check_registry_number("NOBODY", "ab-1").verdict == "ok"
    assert {registries_domain.check_registry_number("NOBODY", text).verdict for text in ("", " - ", "1" * 101)} == {
        "malformed"
    }
