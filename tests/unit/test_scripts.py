"""What cannot be compared is known to be so: every script that is not read, and names without letters."""

import sys
import unicodedata

import pytest
from anyascii import anyascii

from almoner.screening.matching.service import find_person_screening_obstacle, find_screening_obstacle

UNREAD = {
    "Khmer": "អង្គការ ជំនួយ",
    "Tibetan": "བོད་ཀྱི་རོགས་ཚོགས",
    "Lao": "ມູນນິທິ ລາວ",
    "Burmese": "မြန်မာ ကြက်ခြေနီ",
    "Sinhala": "ශ්‍රී ලංකා පදනම",
    "Mongolian": "ᠮᠣᠩᠭᠣᠯ ᠤᠯᠤᠰ",
    "Thaana": "ދިވެހި ފައުންޑޭޝަން",
    "Syriac": "ܥܕܬܐ ܕܡܕܢܚܐ",
    "Cherokee": "ᏣᎳᎩ ᎠᏰᎵ",
    "Tifinagh": "ⵜⴰⵎⴰⵣⵉⵖⵜ",
    "N'Ko": "ߒߞߏ ߘߎߡߓߎ",
    "Inuktitut": "ᐃᓄᐃᑦ ᑕᐱᕇᑦ",
    "Adlam": "𞤀𞤣𞤤𞤢𞤥",
    "Javanese": "ꦗꦮ",
    "Ol Chiki": "ᱥᱟᱱᱛᱟᱲᱤ",
    "Yi": "ꆈꌠ",
    "private signs": "Relief \ue000\ue001 Fund",
}


@pytest.mark.parametrize("name", UNREAD.values(), ids=UNREAD)
def test_a_script_that_is_not_read_is_an_obstacle_alone_and_among_letters_that_are(name: str) -> None:
    assert find_screening_obstacle([name]) == "script_not_supported"
    assert find_screening_obstacle([f"Relief {name} Fund"]) == "script_not_supported"
    assert find_screening_obstacle(["Relief Fund", name]) == "script_not_supported"


@pytest.mark.parametrize("name", ["***", "❤", "–", "  ", "", "\u200b", "🙏🕊️", "؟", "「」"])
def test_signs_alone_are_no_name(name: str) -> None:
    assert find_screening_obstacle([name]) == "no_words"
    assert find_screening_obstacle(["Relief Fund", name]) == "no_words"


def test_without_any_name_nothing_is_compared() -> None:
    assert find_screening_obstacle([]) == "no_words"


@pytest.mark.parametrize(
    "name",
    [
        "Relief Fund",
        "Łódź Çağrı Vakfı",
        "Nguyễn Thị Minh Khai",
        "Фонд «Помощь детям»",
        "Ίδρυμα Ιατρικής Αρωγής",
        "Ｒｅｌｉｅｆ　Ｆｕｎｄ",
        "𝐑𝐞𝐥𝐢𝐞𝐟",
        "Fond Помощь",
        "Relief Fund ❤ №5",
        "Kanaka Māoli ʻŌiwi",
        "1st ⅔ ② ٣",
        "O’Brien & Cº",
    ],
)
def test_what_is_read_is_no_obstacle(name: str) -> None:
    assert find_screening_obstacle([name]) is None


@pytest.mark.parametrize(
    "name",
    ["ΗAMAS", "HАMAS Relief", "НEZВОLLAH", "Usаma", "HΛMΛS", "Casper СОСОА Fund", "Casper ΑΜΑΝΑ Fund"],
)
def test_letters_that_stand_for_those_of_another_alphabet_are_not_read_as_they_look(name: str) -> None:
    assert find_screening_obstacle([name]) == "script_uncertain"
    assert find_screening_obstacle(["Relief Fund", name]) == "script_uncertain"


@pytest.mark.parametrize(
    "name",
    [
        "Ha\u05b8mas",
        "Ha\u064emas Relief",
        "H\u0364am\u0363as",
        "Ha\u0488mas",
        "Ha\u02e9mas",
        "H\u20b3M\u20b3S",
        "Ham\u20acs",
        "\u0265\u0250\u026f\u0250s",
        "\U0001f1ed\U0001f1e6\U0001f1f2\U0001f1e6\U0001f1f8 Charity",
        "Charity \U0001f1ed \U0001f1e6 \U0001f1f2",
    ],
)
def test_what_hides_in_a_word_makes_it_uncertain(name: str) -> None:
    assert find_screening_obstacle([name]) == "script_uncertain"


@pytest.mark.parametrize(
    "name",
    [
        "\U0001f1fa\U0001f1f8 Friends \U0001f1ec\U0001f1e7\U0001f1eb\U0001f1f7",
        "€5 Fund",
        "Cafe\u0301 H\u0337elp",
        "Nǝl\u0301a",
        "Ca$h 4 £10",
    ],
)
def test_flags_accents_and_prices_hide_nothing(name: str) -> None:
    assert find_screening_obstacle([name]) is None


@pytest.mark.parametrize(
    "name",
    [
        "Бехарад",
        "Аль-Кармана",
        "Фонд «Помощь»",
        "Ίδρυμα Αρωγής",
        "Ντουμπάγκορ",
        "ООО «Таджана»",
        "БЕХАРАД 1",
        "Фонд Бехарад 2024",
        "№ 5 Бехарад",
        "Ντουμπάγκορ II",
    ],
)
def test_one_word_of_another_script_may_be_spelt_otherwise_or_translated(name: str) -> None:
    assert find_screening_obstacle([name]) == "script_uncertain"
    assert find_screening_obstacle(["Relief Fund", name]) == "script_uncertain"


@pytest.mark.parametrize(
    ("names", "obstacle"),
    [
        (["Van Nguyen", "Al Gore", "La Toya", "In Kim", "An Vo", "Thi Van", "Sa Kim", "Jean-Luc"], None),
        (["Karajine", "Al-Haddar", "Karajine 5", "Karajine, 1", "Karajine ❤"], "single_name"),
    ],
)
def test_a_person_with_two_written_names_has_no_single_name(names: list[str], obstacle: str | None) -> None:
    assert {name: find_person_screening_obstacle(name) for name in names} == dict.fromkeys(names, obstacle)


@pytest.mark.parametrize("name", ["ООО Casper", "НКО «Open Door»", "Τράπεζα Casper", "СОВЕТ ТРЕСТ"])
def test_words_of_two_alphabets_side_by_side_are_read(name: str) -> None:
    assert find_screening_obstacle([name]) is None


def test_every_letter_of_unicode_is_read_or_an_obstacle() -> None:
    """None is passed over: a name that is left out in part would be found clear."""
    for number in range(0x80, sys.maxunicode + 1):
        sign = chr(number)
        if unicodedata.category(sign) in ("Lu", "Ll", "Lt", "Lo") and find_screening_obstacle([sign]) is None:
            assert anyascii(sign).strip(), hex(number)
