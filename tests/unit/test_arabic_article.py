"""The Arabic article between the words of a name."""

from hypothesis import given
from hypothesis.strategies import text

from almoner.screening.matching.arabic_article import (
    possible_spellings_joined_by_article,
    shorten_abdul,
    shorten_abdul_prefix,
)


@given(text("abdlr", max_size=12), text("abdl", min_size=1, max_size=4), text("lra", min_size=1, max_size=3))
def test_two_words_are_joined_where_the_name_has_the_article_between_them(before: str, first: str, second: str) -> None:
    for middle in ("", "al", "ar", "ur", "bl", "e"):
        written = f"{before}{first}{middle}{second}"
        ways = [f"{first}{vowel}{end}{second}" for vowel in "aeu" for end in ("", "l", second[0])]
        between = [f"{first}{vowel}{end}{second}" for vowel in "aeu" for end in ("l", second[0])]
        expected = ways if any(way in written for way in between) else []
        assert [*possible_spellings_joined_by_article(written, first, second)] == expected


def test_abdul_is_abd_and_the_article_of_the_next_word() -> None:
    assert {shorten_abdul(word) for word in ("abd", "abdu", "abdul", "abdur", "abdoul")} == {"abd"}
    assert [shorten_abdul(word) for word in ("abdulla", "abdication", "zaid")] == ["abdulla", "abdication", "zaid"]
    assert [shorten_abdul_prefix(word) for word in ("abdulrahman", "abdlrahman", "abdul")] == [
        "abdrahman",
        "abdrahman",
        "abdul",
    ]
    joined = possible_spellings_joined_by_article("abdurrahman", "abdur", "rahman")
    assert joined == possible_spellings_joined_by_article("abdalrahman", "abd", "rahman")
    assert {"abdurahman", "abdulrahman", "abderrahman"} <= {*joined}
    assert "abdulah" in possible_spellings_joined_by_article("abdallah", "abd", "allah")
