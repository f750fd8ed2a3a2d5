"""Scripts of letters, by which words are noticed that look like others: ``Аid`` with a Cyrillic first letter."""

import unicodedata
from collections.abc import Set as AbstractSet
from typing import Final

_WRITTEN_TOGETHER: Final = dict.fromkeys(
    ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "KATAKANA-HIRAGANA"), "EAST ASIAN"
)
_OF_NO_SCRIPT: Final = "MODIFIER"
"""Apostrophes that count as letters: ʻOkina, ʼ."""


def unicode_scripts_in_text(text: str) -> AbstractSet[str]:
    """The writing systems of a text's letters.

    Japanese, Korean and Chinese names may have Latin words in them.
    """
    found = set()
    for letter in unicodedata.normalize("NFKC", text):
        if letter.isalpha():
            script = unicodedata.name(letter, "UNKNOWN").split()[0]
            found.add(_WRITTEN_TOGETHER.get(script, script))
    found.discard(_OF_NO_SCRIPT)
    return found - {"LATIN"} if "EAST ASIAN" in found else found
