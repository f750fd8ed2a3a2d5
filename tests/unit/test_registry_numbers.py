"""Numbers of registers in every spelling; the EIN rules are those of the register itself."""

import pytest

from almoner.nonprofits.registries import domain as registries_domain

EIN = "530196605"


@pytest.mark.parametrize(
    "spelling",
    [
        "530196605",
        "53-0196605",
        "53\u20130196605",
        "53\u20110196605",
        "53\u22120196605",
        " 53 0196605 ",
        "53\u00a00196605",
        "53\u202f0196605",
        "5 3 0 1 9 6 6 0 5",
        "53-019\u200b6605",
        "EIN 53-0196605",
        "ein: 53-0196605",
        "US-EIN-530196605",
        "53.0196605",
        "\ufeff530196605",
        '="530196605"',
    ],
)
def test_an_ein_is_one_number_in_every_spelling(spelling: str) -> None:
    assert registries_domain.parse_number_key("IRS", spelling) == EIN
    assert EIN in registries_domain.possible_number_keys(spelling)


@pytest.mark.parametrize("ein", ["000000001", "000123456", "690000001", "780000001", "960000001", "970000001"])
def test_prefixes_that_the_register_uses_are_numbers(ein: str) -> None:
    assert registries_domain.parse_number_key("IRS", ein) == ein


@pytest.mark.parametrize(
    "text",
    [
        "000000000",
        "00-0000000",
        "",
        " ",
        "-",
        "53019660",
        "5301966055",
        "53O196605",
        "A30196605",
        "\u0665\u0663\u0660\u0661\u0669\u0666\u0666\u0660\u0665",
        "\uff15\uff13\uff10\uff11\uff19\uff16\uff16\uff10\uff15",
        "\u00b930196605",
    ],
)
def test_what_is_no_ein_has_no_key(text: str) -> None:
    assert registries_domain.parse_number_key("IRS", text) is None


@pytest.mark.parametrize(
    ("code", "text", "key"),
    [
        ("CCEW", "1173575", "1173575"),
        ("CCEW", "1173575-1", "1173575-1"),
        ("CCEW", "GB-CHC-1173575", "1173575"),
        ("CCEW", "117357", "117357"),
        ("CCEW", "11735", None),
        ("OSCR", "sc042386", "SC042386"),
        ("OSCR", "42386", None),
        ("CCNI", "NIC100019", "100019"),
        ("CCNI", "100019", "100019"),
        ("ACNC", "52 093 617 380", "52093617380"),
        ("CRA", "119219814 RR 0001", "119219814RR0001"),
        ("CRI", "20015763", "20015763"),
        ("NZCS", "cc12345", "CC12345"),
        ("RNA", "W751001234", "W751001234"),
        ("CNPJ", "02.326.629/0001-51", "02326629000151"),
        ("NPO", "181-465", "181465"),
        ("NPO", "181-465-NPO", "181465"),
        ("HMRC", "X6243", "X6243"),
    ],
)
def test_each_register_has_its_own_form(code: str, text: str, key: str | None) -> None:
    assert registries_domain.parse_number_key(code, text) == key


def test_people_see_an_ein_with_its_hyphen() -> None:
    assert registries_domain.format_registry_number("IRS", EIN) == "53-0196605"
    assert registries_domain.format_registry_number("CCEW", "1173575") == "1173575"
