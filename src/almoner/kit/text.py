"""Cleaning of typed text, and of text for terminals."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

_STEERING: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
_TABS: Final = re.compile(r"(?<! )(?> *)[\t\v\f][ \t\v\f]*")
_BREAKS: Final = re.compile(r"(?<! )(?> *)[\t\n\v\f\r\x85\u2028\u2029][ \t\n\v\f\r\x85\u2028\u2029]*")
"""Looked for from the first of several blanks only: from each of them it takes the square of how many there are."""
_LINE_ENDS: Final = re.compile("\r\n?|[\x85\u2028\u2029]")
_UNSEEN_MARKS: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0\ufff0\ufff1\ufff2"
    "\ufff3\ufff4\ufff5\ufff6\ufff7\ufff8"
)
"""Fillers and selectors that show as nothing, though they count as letters, marks or symbols."""
_SEEN_FORMATS: Final = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
"""Signs of numbers, verses and abbreviations that count as formats and are seen."""
_WORD_JOINER: Final = "\u2060"
_UNBROKEN_SPACES: Final = "\u00a0\u202f"
_PLAIN_SPACES: Final = str.maketrans(dict.fromkeys(_UNBROKEN_SPACES, " "))
_ISOLATIONS: Final = "\u2066\u2067\u2068"
_END_OF_ISOLATION: Final = "\u2069"
_DIRECTIONS: Final = frozenset(f"\u061c\u200e\u200f{_ISOLATIONS}{_END_OF_ISOLATION}")
"""Marks of direction and isolations, which move nothing outside themselves; embeddings and overrides do."""
_DOT: Final = r"[.\u2024\u3002\ufe52\uff0e\uff61]"
_FOREIGN: Final = r"[^\x00-\x7f\s\xab\xbb\u2010-\u205e\u3001-\u3003\u3008-\u3011]"
"""Neither ASCII nor punctuation that follows a full stop, such as a closing quotation mark."""
_OCTET: Final = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_LINKING: Final = re.compile(
    rf"(?<!\s){_DOT}(?=[A-Za-z](?:[\w-]|{_FOREIGN})|{_FOREIGN})"  # the name of a host
    rf"|(?<=[Ww\uff37\uff57]{{3}}){_DOT}(?=\S)"
    rf"|(?<=\d)\.(?={_OCTET}\.{_OCTET}\.{_OCTET}(?!\d))"  # IPv4
    r"|(?<=[^\W\d]|[+.-]):(?=\S)|(?<=\d):(?=[^\s\d])|[\ufe13\ufe55\uff1a](?=[/\\\u2044\u2215\uff0f])"  # a scheme
    r"|(?<=\S)[@\ufe6b\uff20](?=\S)"
    r"|[/\\\u2044\u2215\uff0f](?=[/\\\u2044\u2215\uff0f])"
)
"""What joins the surrounding text to a link. Full stops of other scripts count as dots."""
_PHONE: Final = re.compile(
    r"[+\uff0b](?:[ ().-]{0,2}\d){7,15}"
    r"|(?<![0-9A-Za-z])(?<!\d[ -])(?<![A-Z]{2}\d\d [A-Z]{4} )(?:"  # nor the groups of an IBAN
    r"(?:1[ .-]{1,2})?\(?\d{3}\)?[ .-]{1,2}\d{3}[ .-]\d{4}"  # North America
    r"|\(?0\d{2,4}\)?[ ./-]{1,2}\d(?:[ .-]?\d){3,9}"
    r"|0\d(?:[ .-]\d\d){4}"
    r"|00[ ./-](?!\d{7}(?!\d))\d{1,3}(?:[ ./-]?\d){6,12}"  # 00 44 ..., but no EIN such as 00-1234567
    r"|\(0\) ?\d{2,5}[ ./-]\d(?:[ .-]?\d){2,9}"
    r"|[6-9]\d{4} \d{5}"  # India
    r")(?![0-9A-Za-z])"
)
"""Telephone numbers as people group them. Figures without groups, dates and numbers of registers are none."""
_JOINERS: Final = frozenset("\u200c\u200d")
_JOINED: Final = frozenset(
    "ARABIC SYRIAC MANDAIC NKO MONGOLIAN DEVANAGARI BENGALI GURMUKHI GUJARATI ORIYA TAMIL TELUGU KANNADA MALAYALAM "
    "SINHALA TIBETAN MYANMAR KHMER BALINESE JAVANESE".split()
)
"""Scripts in which a joiner between letters is spelling, as in Persian and Hindi (Unicode Standard Annex 31)."""
_JOINED_BLOCKS: Final = (range(0x0600, 0x08FF), range(0x0900, 0x1100), range(0x1780, 0x18B0), range(0x1B00, 0x1B80),
                         range(0xA8E0, 0xA900), range(0xA980, 0xA9E0))  # fmt: skip
_HALF_FORMS: Final = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
"""The viramas of India and Sri Lanka: a U+200D behind one is spelling at the end of a word, too, as in Malayalam."""
_SELECTED: Final = (
    "\u1000-\u109f\u2000-\u33ff\u3400-\u9fff\ua840-\ua87f\uf900-\ufaff\U0001f000-\U0001faff\U00020000-\U0003ffff"
)
"""Characters that a variation selector may follow: symbols, and East Asian letters."""
_SELECTORS: Final = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_LONGEST_TYPED: Final = 20_000
_MOST_MARKS: Final = 30
"""On one letter: no language has more (UAX 15), and to order them takes the square of their number."""
_PLAIN_SIGNS: Final = str.maketrans(
    {chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}
    | dict.fromkeys("\u2018\u2019\u02bc\u2032", "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63", "-")
    | dict.fromkeys(_JOINERS)
)
"""Typographic variants of ASCII characters, replaced where only ASCII is valid."""

_NO_PART_OF_CODES: Final = re.compile(r"[\W_]+")
_LATIN_LOOK_ALIKES: Final = str.maketrans(
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0405\u0422\u0425"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "ABCEHIJKMOPSTXABEZHIKMNOPTYX",
)
"""Cyrillic and Greek capitals that look like Latin ones."""


def _class_of(signs: Iterable[int]) -> str:
    """The signs as they stand within brackets of a pattern."""
    runs: list[list[int]] = []
    for sign in signs:
        if runs and sign == runs[-1][1] + 1:
            runs[-1][1] = sign
        else:
            runs.append([sign, sign])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in runs)


def _is_unseen(sign: str) -> bool:
    """Whether a sign is taken out of what people type: controls, formats, halves of characters, fillers."""
    if sign in _UNSEEN_MARKS:
        return True
    return unicodedata.category(sign) in ("Cc", "Cf", "Cs") and sign not in _SEEN_FORMATS and sign not in _JOINERS


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Anything of the following; what goes but line ends, joiners that join nothing, more marks than a letter has.

    Made on first use.
    """
    planes = (*range(0x3400), *range(0xA000, 0xAC00), *range(0xD800, 0xE000), *range(0xFE00, 0x1_4000),
              *range(0x1_B000, 0x1_F000), *range(0xE_0000, 0xE_0200))  # fmt: skip
    unseen = _class_of(code for code in planes if chr(code) != "\n" and _is_unseen(chr(code)))
    marks = _class_of(code for code in planes if unicodedata.combining(chr(code)))
    letters = _class_of(
        code
        for block in _JOINED_BLOCKS
        for code in block
        if unicodedata.category(chr(code))[0] in "LM" and unicodedata.name(chr(code), "").split(" ")[0] in _JOINED
    )
    return (
        re.compile(f"[{unseen}{marks}{_SELECTORS}\u200c\u200d]"),
        re.compile(f"[{unseen}]+"),
        re.compile(
            f"(?<![{letters}])[\u200c\u200d]+|(?<![{_HALF_FORMS}])[\u200c\u200d]+(?![{letters}\u200c\u200d])"
            f"|(?<=[{_HALF_FORMS}])(?!\u200d(?!\u200c|\u200d))[\u200c\u200d]+(?![{letters}\u200c\u200d])"
            f"|(?<![{_SELECTED}])[{_SELECTORS}]+"
        ),
        re.compile(f"([{marks}]{{{_MOST_MARKS}}})[{marks}]+"),
    )


def clean_text(text: str, *, keep_line_breaks: bool = False) -> str:
    r"""Clean entered text: composed (NFC), trimmed, without invisible characters; used for all fields (U6).

    ``keep_line_breaks`` keeps line breaks of any system, as ``\n``; else they are blanks, as tabs always are. Joiners
    stay between letters of scripts that are spelled with them.
    """
    if text.isascii() and text.isprintable():
        return text.strip()  # neither controls nor anything to compose
    text = _TABS.sub(" ", _LINE_ENDS.sub("\n", text)) if keep_line_breaks else _BREAKS.sub(" ", text)
    if not text.isascii() or not text.isprintable():
        suspect, unseen, joining_nothing, too_many_marks = _patterns()
        if suspect.search(text):
            text = too_many_marks.sub(r"\1", joining_nothing.sub("", unseen.sub("", text)))
        text = unicodedata.normalize("NFC", text)
    return text.strip()


def clean_line(text: str) -> str:
    """Clean a value of a published file: like entered text, with single spaces."""
    return " ".join((text if text.isascii() and text.isprintable() else clean_text(text)).split())


def clean_ascii_code(text: str) -> str:
    """Clean an ASCII code such as a postcode: wide letters become narrow, with single spaces."""
    plain = clean_text(text)
    return " ".join((plain if plain.isascii() else plain.translate(_PLAIN_SIGNS)).split())


def normalise_code_for_search(text: str) -> str:
    """The letters and digits of a text in capitals, for finding codes that people copied or typed.

    Spaces, punctuation and invisible characters go; Cyrillic and Greek capitals become the Latin ones that they look
    like.
    """
    signs = _NO_PART_OF_CODES.sub("", text)  # before they are composed: sorting many marks of a letter is slow
    if not signs.isascii():
        composed = unicodedata.normalize("NFKC", signs).upper().translate(_LATIN_LOOK_ALIKES)
        signs = _NO_PART_OF_CODES.sub("", composed)
    return signs.upper()


def clean_text_keeping_hidden_characters(text: str) -> str:
    """A name that is validated, on one line: hidden characters are evidence and stay, control characters go."""
    return "".join(c for c in _BREAKS.sub(" ", text) if unicodedata.category(c) not in ("Cc", "Cs")).strip()


def clean_json_texts(json_value: object) -> object:
    """JSON with all texts cleaned by ``clean_text``.

    What is longer than any field, or holds NUL, is refused by whoever takes it, and so left as it is.
    """
    if isinstance(json_value, str):
        plain = (
            (json_value.isascii() and json_value.isprintable())
            or len(json_value) > _LONGEST_TYPED
            or "\x00" in json_value
        )
        return json_value if plain else clean_text(json_value, keep_line_breaks=True)
    if isinstance(json_value, list | tuple):
        return [clean_json_texts(item) for item in json_value]
    if isinstance(json_value, dict):
        return {name: clean_json_texts(item) for name, item in json_value.items()}
    return json_value


def hidden_character_names(text: str) -> list[str]:
    """The names of invisible and direction-changing characters in a text, in order, each once.

    A joiner between two letters of a script that is spelled with joiners hides nothing, nor one that ends a word there.
    """
    found: dict[str, None] = {}
    for at, sign in enumerate(text):
        unseen = unicodedata.category(sign) in _STEERING or sign in _UNSEEN_MARKS
        if unseen and not (sign in _JOINERS and _is_spelling_joiner(sign, text[at - 1 : at], text[at + 1 : at + 2])):
            found[f"U+{ord(sign):04X} {unicodedata.name(sign, '')}".strip()] = None
    return list(found)


def _is_spelling_joiner(sign: str, before: str, after: str) -> bool:
    if sign == "\u200d" and before and before in _HALF_FORMS:
        return True
    return all(
        bool(side) and unicodedata.category(side)[0] in "LM" and unicodedata.name(side, "").split(" ")[0] in _JOINED
        for side in (before, after)
    )


def prevent_autolinking(text: str) -> str:
    """The text made safe for emails: nothing in it becomes a link.

    Word joiners, which are neither seen nor read out, part what programs that show mails would take for an address or a
    telephone number. What is none stays as it is: figures, times, ``e.V.``, and a full stop before a space. So do the
    direction marks of amounts in Arabic and Hebrew; what turns the writing around, or would end an isolation of ours,
    goes.
    """
    seen = ""
    marks: list[tuple[int, str]] = []  # each with its place in what is seen
    for sign in text:
        if sign in _DIRECTIONS:
            marks.append((len(seen), sign))
        elif sign.isspace():
            seen += sign if sign in _UNBROKEN_SPACES else " "
        elif unicodedata.category(sign) not in _STEERING or sign in _JOINERS:
            seen += sign
    spaced = seen.translate(_PLAIN_SPACES)
    parted = [place for found in _LINKING.finditer(spaced) for place in found.span()]
    parted += [place for found in _PHONE.finditer(spaced) for place in range(found.start() + 1, found.end())]
    added = dict.fromkeys(parted, _WORD_JOINER)
    for place, sign in reversed(_harmless_directions(seen, marks)):
        added[place] = sign + added.get(place, "")
    return "".join(added.get(place, "") + seen[place : place + 1] for place in range(len(seen) + 1))


def _harmless_directions(seen: str, marks: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The marks, in order, that part nothing a program would link, and isolations that begin and end."""
    kept: set[int] = set()
    begun: list[int | None] = []
    for at, (place, sign) in enumerate(marks):
        around = seen[max(place - 1, 0) : place + 1]
        harmless = place in (0, len(seen)) or around[0].isalnum() or around[0].isspace() or around[1].isspace()
        if sign in _ISOLATIONS:
            begun.append(at if harmless else None)
        elif sign == _END_OF_ISOLATION:
            start = begun.pop() if begun else None
            if start is not None and harmless:
                kept |= {start, at}
        elif harmless:
            kept.add(at)
    return [marks[at] for at in sorted(kept)]


def sanitise_for_terminal(text: str) -> str:
    """For a terminal: what breaks a line, moves the cursor or turns the writing around is a space."""
    return "".join(" " if unicodedata.category(c) in _STEERING else c for c in text)


def count_terminal_columns(text: str) -> int:
    """How many columns a terminal needs for a text: two for each wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(one) in "WF" else unicodedata.category(one) not in ("Mn", "Me", "Cf")
        for one in text
    )


_FORMULA: Final = re.compile(r"\s*[=+@|%\uff1d\uff0b\uff20\uff0d-]|[\t\r\n]")


def is_spreadsheet_formula(cell: str) -> bool:
    """Whether a spreadsheet would run the cell of a CSV file as a formula.

    Spreadsheets pass over blanks before a formula, and take wide signs for their ASCII ones.
    """
    return _FORMULA.match(cell) is not None


def escape_spreadsheet_formula(cell: str) -> str:
    """The cell of a CSV file, with an apostrophe before it if a spreadsheet would run it as a formula."""
    return f"'{cell}" if is_spreadsheet_formula(cell) else cell


_PICTURES: Final = re.compile(
    "[\u00a9\u00ae\u2120\u2122\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\ufe0e\ufe0f\u200d\u20e3"
    "\U0001f000-\U0001f10f\U0001f18b-\U0001faff\U000e0020-\U000e007f]+"
)
"""Emoji, dingbats and arrows, with what joins and colours them; letters in squares and circles are letters."""


def replace_pictographs(text: str) -> str:
    """The text with each run of emoji and other pictographs replaced by a space."""
    return text if text.isascii() else _PICTURES.sub(" ", text)
