"""A readable case for names that a register keeps in capitals: ``ST MARYS PTA INC`` is shown as ``St Marys PTA Inc``.

The register's own name stays what is stored and compared; this is for reading only, so a rare abbreviation that it
does not
know is shown as a word and nothing else depends on it.
"""

import re
from typing import Final

_SMALL: Final = frozenset("AND AS AT BY DA DE DEL DO DOS FOR FROM IN INTO OF ON OR THE TO WITH".split())
_CAPITALS: Final = frozenset(
    """
    aa aarp abc afl ahepa aids amvets asl aspca atv au bpoe bsa cdc cio cpa eaa eeo er esl fbo fc ffa fop gfwc hiv
    hoa iaff
    iam ibew ibt ii iii iv ix ko lgbt lgbtq mlk naacp nami nasa nato ncaa ne nea nfl nfp npo nyc oes pfa pta
    pto ptsa
    rotc sda seiu spca uaw ubc uc uk ummc un unesco unicef us usa usaf usmc usn uss usta va vfw vi vii viii wwi
    wwii
    xi xii xiii xiv xv ymca ywca
    """.split()
)
_AS_WORDS: Final = frozenset(
    """
    ave bldg blvd bros cntr co corp cr ct ctr dept dr fdn fdtn fndn ft hrs inc jr ln ltd mfg mr mrs ms mt natl pk pkwy
    pl pt pty rd sr sq st ste sts tr twp wm
    """.split()
)
_PIECE: Final = re.compile(r"[^\-/&@,.()]+")
_ORDINAL: Final = re.compile(r"\d+(ST|ND|RD|TH)")
_SCOTTISH: Final = re.compile(r"MC[B-DF-HJ-NP-TV-Z][A-Z]{2,}")

_known: dict[str, str] = {}
_MOST_WORDS: Final = 500_000


def to_title_case(name: str) -> str:
    """The name in a readable case; a name that already has small letters is left alone."""
    if not name.isupper():
        return name
    words = name.split(" ")
    shown = [_known.get(word) or _convert_and_cache(word) for word in words]
    for place in range(1, len(words) - 1):
        if words[place] in _SMALL:
            shown[place] = words[place].lower()
    return " ".join(shown)


def join_name_lines(name: str, second: str | None) -> str:
    """Both lines of a name in a readable case: ``KIWANIS INTERNATIONAL INC``, ``K01036 SEAFORD``.

    A second line that the first one says already is left out.
    """
    first = to_title_case(name)
    if not second or f" {second.upper()} " in f" {name.upper()} ":
        return first
    return f"{first}, {to_title_case(second)}"


def _convert_and_cache(word: str) -> str:
    shown = _PIECE.sub(lambda piece: _convert_piece(piece.group()), word)
    if len(_known) < _MOST_WORDS:
        _known[word] = shown
    return shown


def _convert_piece(word: str) -> str:
    lower = word.lower()
    if lower in _AS_WORDS:
        return word.capitalize()
    if lower in _CAPITALS or len(word) == 1:
        return word
    if _ORDINAL.fullmatch(word) or word[0].isdigit():
        return lower if _ORDINAL.fullmatch(word) else word
    if not set("AEIOUY") & set(word):
        return word  # no vowel: an abbreviation
    if _SCOTTISH.fullmatch(word):
        return "Mc" + word[2:].capitalize()
    return word.capitalize()
