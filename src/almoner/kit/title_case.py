"""Title case for names that a register has in capitals: ``ST MARYS PTA INC`` is shown as ``St Marys PTA Inc``.

The register's spelling is still stored and compared; this form is only displayed, so it does no harm that an unknown
abbreviation is shown as a word.
"""

import re
import unicodedata
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
    ave bldg blvd bros cntr co corp cr ct ctr ctrs cwm dept dr fdn fdtn fndn ft hrs inc jr ln ltd mfg mgmt mr mrs ms
    msgr mt natl pk pkwy pl pt pty rd sgt sr sq st ste sts tr twp wm
    """.split()
)
_APOSTROPHES: Final = "'\u2019\u2018\u02bb\u02bc`\u00b4"
_PIECE: Final = re.compile(rf"(?![{_APOSTROPHES}])[^\W_](?:[^\W_]|[\u0300-\u036f]|[{_APOSTROPHES}](?=[^\W_]))*")
"""A word: letters, digits, and apostrophes between them, without quotation marks."""
_INITIALS: Final = re.compile(r"\W*[^\W\d_]{1,2}(?:&[^\W\d_]{1,2})+\W*")
"""Initials joined by an ampersand: AT&T, B&O, R&B."""
_PARTS: Final = re.compile(f"([{_APOSTROPHES}])")
_ORDINAL: Final = re.compile(r"\d+(?:ST|ND|RD|TH|S)")
_SCOTTISH: Final = re.compile(r"MC[A-Z]{3,}|MAC[BDFGLMNPQT][A-Z]{3,}")
_SCOTTISH_WITHOUT_RULE: Final = frozenset(
    """
    macalister macallister macalpine macarthur macaskill maccallum maccormack maceachern macewan macewen macinnes
    macinnis macintosh macintyre maciver mackellar mackenzie mackinlay mackinnon macrae macritchie macsween macsweeney
    """.split()
)
_NOT_SCOTTISH: Final = frozenset("macbeth maclure macmillan macduff mcse mcast".split())
_ELIDED: Final = frozenset("d dall dell l m n nell o qu sant t".split())
"""Prefixes before the apostrophe of a name: O'Brien, D'Arcy, L'Arche, Dell'Arte, N'Dour, Qu'Appelle."""
_ROMAN: Final = re.compile(
    r"(?=.)X{0,3}(?:IX|IV|V?I{0,3})|XL(?:IX|IV|V?I{0,3})|(?:MCM|MM)(?:X{0,3}|XL|LX{0,3}|XC)(?:IX|IV|V?I{0,3})"
)
_MIXED: Final = {"phd": "PhD", "ijssel": "IJssel", "ijmuiden": "IJmuiden"}

_known: dict[str, str] = {}
_MOST_WORDS: Final = 500_000


def to_title_case(name: str) -> str:
    """The name in title case; a name that already has lower-case letters is unchanged."""
    if not name.isupper():
        return name
    words = name.split(" ")
    shown = [_known.get(word) or _convert_and_cache(word) for word in words]
    for place in range(1, len(words) - 1):
        if words[place] in _SMALL:
            shown[place] = words[place].lower()
    return " ".join(shown)


def join_name_lines(name: str, second_line: str | None) -> str:
    """Both lines of a name in title case: ``KIWANIS INTERNATIONAL INC``, ``K01036 SEAFORD``.

    A second line that repeats the first is omitted.
    """
    first = to_title_case(name)
    if not second_line or f" {second_line.upper()} " in f" {name.upper()} ":
        return first
    return f"{first}, {to_title_case(second_line)}"


def _convert_and_cache(word: str) -> str:
    spelled = _INITIALS.fullmatch(word) is not None
    shown = word if spelled else _PIECE.sub(lambda piece: _convert_piece(piece.group()), word)
    if len(_known) < _MOST_WORDS:
        _known[word] = shown
    return shown


def _convert_piece(piece: str) -> str:
    """Convert one word, including the parts of a name between apostrophes."""
    first, *rest = _PARTS.split(piece)
    shown, before = _convert_word(first), first
    for mark, word in zip(rest[::2], rest[1::2], strict=True):
        is_name = len(word) > 1 and before.lower() in _ELIDED
        shown += mark + (_convert_word(word) if is_name else _lower(word))
        before = word
    return shown


def _convert_word(word: str) -> str:
    lower = _lower(word)
    if lower in _AS_WORDS:
        return word.capitalize()
    if lower in _MIXED:
        return _MIXED[lower]
    if lower in _CAPITALS or len(word) == 1 or _ROMAN.fullmatch(word):
        return word
    if _ORDINAL.fullmatch(word) or word[0].isdigit():
        return lower if _ORDINAL.fullmatch(word) else word
    if lower in _SCOTTISH_WITHOUT_RULE or (_SCOTTISH.fullmatch(word) and lower not in _NOT_SCOTTISH):
        at = 2 if word[1] == "C" else 3
        return word[:1] + lower[1:at] + word[at:].capitalize()
    if not set("AEIOUY") & set(unicodedata.normalize("NFD", word)) and word.isascii():
        return word  # no vowel: an abbreviation
    return word[0].title() + _lower(word)[1:]


def _lower(word: str) -> str:
    """In lower case; a Turkish capital with a dot becomes an ``i``, without a second dot on it."""
    return word.lower().replace("i\u0307", "i")
