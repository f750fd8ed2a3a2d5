"""What people type, and what a terminal may be given of it."""

import re
import unicodedata
from typing import Final

_UNTYPED: Final = ("Cc", "Cs")
_STEERING: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
_TABS: Final = re.compile(r"(?<! )(?> *)[\t\v\f][ \t\v\f]*")
_BREAKS: Final = re.compile(r"(?<! )(?> *)[\t\n\v\f\r\x85\u2028\u2029][ \t\n\v\f\r\x85\u2028\u2029]*")
"""Looked for from the first of several blanks only: from each of them it takes the square of how many there are."""
_UNSEEN_MARKS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Fillers and selectors that show as nothing, though they count as letters, marks or symbols."""
_WORD_JOINER: Final = "\u2060"
_DOT: Final = r"[.\u2024\u3002\ufe52\uff0e\uff61]"
_FOREIGN: Final = r"[^\x00-\x7f\s\xab\xbb\u2010-\u205e\u3001-\u3003\u3008-\u3011]"
"""Neither ASCII nor punctuation that follows a full stop, such as a closing quotation mark."""
_LINKING: Final = re.compile(
    rf"(?<!\s){_DOT}(?=[A-Za-z](?:[\w-]|{_FOREIGN})|{_FOREIGN})"  # the name of a host
    rf"|(?<=[Ww\uff37\uff57]{{3}}){_DOT}(?=\S)"
    r"|\.(?=\d{1,3}\.\d{1,3}\.\d{1,3}[:/])"  # IPv4 with a port or path
    r"|(?<=[^\W\d]|[+.-]):(?=\S)|(?<=\d):(?=[^\s\d])|[\ufe13\ufe55\uff1a](?=[/\\\u2044\u2215\uff0f])"  # a scheme
    r"|(?<=\S)[@\ufe6b\uff20](?=\S)"
    r"|[/\\\u2044\u2215\uff0f](?=[/\\\u2044\u2215\uff0f])"
)
"""What makes an address of what stands around it. The full stops of other scripts are read as dots."""
_JOINERS: Final = frozenset("\u200c\u200d")
_JOINED: Final = frozenset(
    "ARABIC SYRIAC MANDAIC NKO MONGOLIAN DEVANAGARI BENGALI GURMUKHI GUJARATI ORIYA TAMIL TELUGU KANNADA MALAYALAM "
    "SINHALA TIBETAN MYANMAR KHMER BALINESE JAVANESE".split()
)
"""Scripts in which a joiner between letters is spelling, as in Persian and Hindi (Unicode Standard Annex 31)."""


def clean_text(text: str, *, lines: bool = False) -> str:
    """Trimmed, without control characters; ``lines`` keeps line breaks, else they are blanks, as tabs always are.

    Joiners stay: some names need them.
    """
    text = text.replace("\r\n", "\n")
    text = (_TABS if lines else _BREAKS).sub(" ", text)
    return "".join(c for c in text if unicodedata.category(c) not in _UNTYPED or (lines and c == "\n")).strip()


def hidden_characters(text: str) -> list[str]:
    """What a reader does not see of it, or what turns its writing around, by name and in order, each once.

    A joiner between two letters of a script that is spelled with joiners hides nothing.
    """
    found: dict[str, None] = {}
    for at, sign in enumerate(text):
        unseen = unicodedata.category(sign) in _STEERING or sign in _UNSEEN_MARKS
        if unseen and not (sign in _JOINERS and _is_spelling_joiner(text[at - 1 : at], text[at + 1 : at + 2])):
            found[f"U+{ord(sign):04X} {unicodedata.name(sign, '')}".strip()] = None
    return list(found)


def _is_spelling_joiner(before: str, after: str) -> bool:
    return all(
        bool(side) and unicodedata.category(side)[0] in "LM" and unicodedata.name(side, "").split(" ")[0] in _JOINED
        for side in (before, after)
    )


def defuse_links(text: str) -> str:
    """For a mail, of what somebody else has typed: nothing turns the writing around, nothing becomes a link.

    Word joiners, which are neither seen nor read out, part what programs that show mails would take for an address.
    What is none stays as it is: figures, times, ``e.V.``, and a full stop before a space.
    """
    line = "".join(" " if c.isspace() else c for c in text)
    seen = "".join(c for c in line if unicodedata.category(c) not in _STEERING or c in _JOINERS)
    parted = _LINKING.sub(f"{_WORD_JOINER}\\g<0>{_WORD_JOINER}", seen)
    return parted.replace(_WORD_JOINER * 2, _WORD_JOINER)


def to_one_line(text: str) -> str:
    """For a terminal: what breaks a line, moves the cursor or turns the writing around is a space."""
    return "".join(" " if unicodedata.category(c) in _STEERING else c for c in text)
