"""Emoji and other pictures are no words of a name."""

import pytest

from almoner.kit.text import replace_pictographs
from almoner.nonprofits.organisations.normalisation import normalise_search_text
from almoner.screening.matching.spelling import normalise_text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Paws \U0001f43e for Life", "paws for life"),
        ("\U0001f463 Little Feet", "little feet"),
        ("\u2764\ufe0f Heart", "heart"),
        ("\U0001f1fa\U0001f1f8 Vets", "vets"),
        ("1\ufe0f\u20e3 First", "1 first"),
        ("Zo\u00eb\u2122 Fund\u00ae", "zoe fund"),
        ("\U0001f469\u200d\U0001f467 Family", "family"),
        ("Fund \u2192 Future \u2605", "fund future"),
    ],
)
def test_pictures_are_no_words(text: str, words: str) -> None:
    assert normalise_text(text) == normalise_search_text(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f137\U0001f13e\U0001f13f\U0001f134",
        "\U0001f157\U0001f15e\U0001f15f\U0001f154",
        "\U0001f177\U0001f17e\U0001f17f\U0001f174",
        "\u24bd\u24c4\u24c5\u24ba",
    ],
)
def test_letters_in_squares_and_circles_are_letters(text: str) -> None:
    assert normalise_text(f"Relief {text}") == normalise_search_text(f"Relief {text}") == "relief hope"


@pytest.mark.parametrize("text", ["\u0645\u0624\u0633\u0633\u0629", "\u6148\u5584", "\u0baa\u0bb3", "caf\u00e9", "4-H"])
def test_letters_of_any_script_are_left(text: str) -> None:
    assert replace_pictographs(text) == text
