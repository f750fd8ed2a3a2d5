"""Fonts of the scripts that names can have besides the expected ones, one folder each, read when a document needs them.

``characters.txt`` lists each font's family, its folder, and hexadecimal ranges (``tools/fonts.py``).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent
_SIMPLIFIED, _TRADITIONAL, _KOREAN = "Noto Sans CJK SC", "Noto Sans CJK TC", "Noto Sans CJK KR"
_JAPANESE: Final = "Noto Sans CJK JP"
_HAN: Final = (_SIMPLIFIED, _TRADITIONAL, _KOREAN, _JAPANESE)
_HANGUL: Final = re.compile("[\u1100-\u11ff\u3130-\u318f\ua960-\ua97c\uac00-\ud7fb]")
_KANA: Final = re.compile("[\u3041-\u30ff]")


@dataclass(frozen=True, slots=True)
class _ScriptFont:
    family: str
    folder: Path
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def has_glyph(self, code_point: int) -> bool:
        at = bisect_right(self.starts, code_point) - 1
        return at >= 0 and code_point <= self.ends[at]


def has_glyph(code_point: int) -> bool:
    """Whether one of the fonts has a glyph for the character."""
    return any(font.has_glyph(code_point) for font in _fonts().values())


def find_fonts_with_glyphs(code_points: Iterable[int], text: str, language: str) -> dict[str, Path]:
    """The font families, best first, with their folders, that have glyphs for these characters."""
    left, chosen = set(code_points), dict[str, Path]()
    if not left:
        return chosen
    for font in sorted(_fonts().values(), key=lambda font: _place(font.family, text, language)):
        if found := {code for code in left if font.has_glyph(code)}:
            chosen[font.family] = font.folder
            left -= found
    return chosen


def _place(family: str, text: str, language: str) -> int:
    """The rank of a font. Han characters are drawn as in the text's region.

    The region is that of its Hangul or kana, or of characters that only one of two standards has.
    """
    if family not in _HAN:
        return len(_HAN)
    if _HANGUL.search(text):
        order = (_KOREAN, _SIMPLIFIED, _TRADITIONAL, _JAPANESE)
    elif language == "ja" or _KANA.search(text):
        order = (_JAPANESE, _TRADITIONAL, _SIMPLIFIED, _KOREAN)
    elif language == "zh-Hant" or _only_in(text, "big5", "gb2312") > _only_in(text, "gb2312", "big5"):
        order = (_TRADITIONAL, _SIMPLIFIED, _KOREAN, _JAPANESE)
    else:
        order = (_SIMPLIFIED, _TRADITIONAL, _KOREAN, _JAPANESE)
    return order.index(family)


def _only_in(text: str, one: str, other: str) -> int:
    return sum(_encodes(character, one) and not _encodes(character, other) for character in set(text))


def _encodes(character: str, codec: str) -> bool:
    try:
        character.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


@cache
def _fonts() -> dict[str, _ScriptFont]:
    found = {}
    for line in (_FOLDER / "characters.txt").read_text("ascii").splitlines():
        family, folder, ranges = line.split("\t")
        pairs = [part.partition("-") for part in ranges.split()]
        starts = tuple(int(first, 16) for first, _, _ in pairs)
        ends = tuple(int(last or first, 16) for first, _, last in pairs)
        found[family] = _ScriptFont(family, _FOLDER / folder, starts, ends)
    return found
