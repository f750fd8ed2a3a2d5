"""Romanise Cyrillic and Greek names by sound, as lists write foreign names, not letter by letter.

Both alphabets lack letters of other languages: Х is H as well as KH, ΜΠ is B, ΝΤ is D, a Φ at the end V. Korean and
Chinese names are written by syllables.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

from anyascii import anyascii

from almoner.screening.matching.cyrillic_syllables import possible_hangul_or_pinyin_spellings
from almoner.screening.matching.nonprofit_forms import separate_name_from_non_latin_legal_forms

_CYRILLIC: Final[Mapping[str, str]] = {"дж": "j", "х": "h", "ҳ": "h"}
_GREEK: Final[Mapping[str, str]] = {
    "μπ": "b", "ντ": "d", "γκ": "g", "τζ": "j", "τσ": "ch", "ου": "u", "χ": "h",
}  # fmt: skip
_BY_SOUND: Final = {**_CYRILLIC, **_GREEK, "φ": "v"}
_WRITTEN_OTHERWISE: Final = re.compile(rf"{'|'.join((*_CYRILLIC, *_GREEK))}|φ\b")


def alternative_romanisations(name: str) -> Iterator[str]:
    """Romanisations by sound that differ from the letter-by-letter one."""
    if name.isascii():
        return
    letters = filter(_is_no_accent, unicodedata.normalize("NFD", separate_name_from_non_latin_legal_forms(name)[0]))
    plain = unicodedata.normalize("NFC", "".join(letters)).lower()
    if _WRITTEN_OTHERWISE.search(plain):
        yield anyascii(_WRITTEN_OTHERWISE.sub(lambda found: _BY_SOUND[found[0]], plain))
    yield from possible_hangul_or_pinyin_spellings(plain)


def _is_no_accent(sign: str) -> bool:
    """Whether a combining mark is no Greek accent: ΟΥ is one sound with it and without."""
    return sign not in "\u0301\u0342\u0300"
