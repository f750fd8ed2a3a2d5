"""The Arabic article in Latin letters, which people write apart, joined, assimilated to the next word, or not at all.

ABD AL-RAHMAN, ABDUL RAHMAN, ABDUR RAHMAN, ABD UR RAHMAN, ABDURRAHMAN and, from other scripts, ABD RAHMAN are one name.
"""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

_CASE_ARTICLES: Final = frozenset("ud ul ur us uz".split())
"""The article with the case ending before it, as South Asian spellings write it apart."""
_ENDS: Final = "dlnrstz"
"""L, and the letters to which it is assimilated."""
_ABDUL: Final = re.compile(f"^abd(?:[aeu]|ou)[{_ENDS}]$")
_ABDUL_OR_ABDU: Final = re.compile(f"^abd[aeou]{{1,2}}[{_ENDS}]?$")
_ABDUL_BEFORE: Final = re.compile("^abd(?:[aeou]+l?|l)(?=.{2})")
_SHORTEST_WITH_ARTICLE: Final = 5
"""The fewest letters of a word that may begin with the article."""


def strip_south_asian_articles(words: Sequence[str]) -> Sequence[str]:
    """The words without the article in South Asian spelling: ABD UR RAHMAN, ZIA UL HAQ."""
    return [
        word
        for word, following in zip_longest(words, words[1:], fillvalue="")
        if not (word in _CASE_ARTICLES and following and word[-1] in ("l", following[0]))
    ]


def is_assimilated_article(word: str, next_word: str) -> bool:
    """Whether a word is the article assimilated to the next word: AN-NUSRA, ASCH-SCHABAB."""
    return len(word) > 1 and word[0] in "ae" and next_word.startswith(word[1:]) and next_word != word[1:]


def shorten_abdul(word: str) -> str:
    """ABD for ABDUL, ABDUR or ABDU alone: other scripts write the article with the next word."""
    return "abd" if _ABDUL_OR_ABDU.match(word) else word


def shorten_abdul_prefix(word: str) -> str:
    """ABDRAHMAN for ABDULRAHMAN."""
    return _ABDUL_BEFORE.sub("abd", word)


def possible_spellings_joined_by_article(joined_name: str, first_word: str, second_word: str) -> tuple[str, ...]:
    """Two words as people join them, if the name has the article between them: ABDULRAHMAN, ABDERRAHMAN."""
    if first_word.startswith("abd"):
        first_word = _ABDUL.sub("abd", first_word)
    if (
        second_word.startswith("al")
        and len(second_word) >= _SHORTEST_WITH_ARTICLE
        and first_word + second_word in joined_name
    ):
        second_word = second_word[2:]  # ALLAH is AL and LAH
    elif not _has_article_between(joined_name, first_word, second_word):
        return ()
    return tuple(f"{first_word}{vowel}{end}{second_word}" for vowel in "aeu" for end in ("", "l", second_word[0]))


def _has_article_between(written: str, first: str, second: str) -> bool:
    """Whether a text has the first word, a vowel with L or the second word's first letter, and the second word."""
    place = written.find(second, len(first) + 2)
    while place >= 0:
        if (
            written[place - 1] in ("l", second[0])
            and written[place - 2] in "aeu"
            and written.endswith(first, 0, place - 2)
        ):
            return True
        place = written.find(second, place + 1)
    return False
