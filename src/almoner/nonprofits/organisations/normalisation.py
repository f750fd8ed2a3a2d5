"""Words of names and of queries, in one form: ASCII, lower case, accents and other scripts transliterated."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from anyascii import anyascii

from almoner.kit.scripts import unicode_scripts_in_text
from almoner.kit.state_codes import STATE_CODES_BY_FULL_NAME
from almoner.kit.text import replace_pictographs

_APOSTROPHES: Final = re.compile(r"['`\u2018\u2019\u02bc]")
_NOT_A_WORD: Final = re.compile(r"[^a-z0-9]+")
_SIMPLE: Final = re.compile(r"[a-z0-9 ]*")
_HAN: Final = re.compile("([\u3400-\u9fff\uf900-\ufaff])")
_SPELT: Final = re.compile(
    r"(?<![a-z0-9])(?:[a-z](?: [a-z](?![a-z0-9]))+|[0-9] [a-z](?![a-z0-9]| [a-z0-9](?![a-z0-9])))"
)

_LONGEST_INDEXED_WORD: Final = 200
"""Letters of a word that are indexed; PostgreSQL allows 2,046 bytes."""
_TOO_LONG: Final = re.compile(rf"[^ ]{{{_LONGEST_INDEXED_WORD + 1},}} ?")

STOP_WORDS: Final = frozenset(
    "a an and at by co corp corporation for fund in inc incorporated limited llc ltd of on or the to with".split()
) - {"fund"}
"""Words that affect ranking only: a name may lack them and still match."""

_MAX_REQUIRED_WORDS: Final = 12
"""Words of a query that are looked up; further ones only affect ranking."""

MAX_INDEX_PATTERNS: Final = 8
"""Words of a query that a list looks up in its index; further ones filter those results."""

MAX_QUERY_WORDS: Final = 20
"""Words of a query that are read at all."""

MAX_WORD_LENGTH: Final = 100
"""Letters of a query word that are read; names are also found by the beginnings of their words."""

MAX_QUERY_LETTERS: Final = 500
"""Letters of a query that are read; one character of another script may become many."""

NOT_IN_INITIALS: Final = frozenset(("a", "and", "at", "for", "in", "inc", "of", "the", "to"))
"""Words that initials leave out, as ``search_lexemes`` does."""

INITIALS_LENGTHS: Final = range(3, 7)
"""Lengths of a word that may be initials."""

_MIN_PREFIX_LENGTH: Final = 2
"""Letters from which on the last word of a query may be incomplete."""


def split_words(text: str) -> list[str]:
    """``Crédit & Co. (O'Brien)`` -> ``credit and co obrien``, ``Y.M.C.A.`` -> ``ymca``, ``4-H`` -> ``4h``.

    Chinese: one word per character.
    """
    plain = text.lower()
    if not plain.isascii():
        plain = anyascii(_HAN.sub(r" \1 ", replace_pictographs(plain))).lower()
    if not _SIMPLE.fullmatch(plain):
        plain = _NOT_A_WORD.sub(" ", _APOSTROPHES.sub("", plain.replace("&", " and ")))
    found = plain.split()
    if sum(len(word) == 1 for word in found) > 1:
        return _SPELT.sub(lambda run: run[0].replace(" ", ""), " ".join(found)).split()
    return found


def normalise_search_text(text: str | None) -> str:
    """The words joined by single spaces, as stored."""
    return " ".join(split_words(text)) if text else ""


def normalise_indexed_text(text: str | None) -> str:
    """The indexed form of a text: like ``normalise_search_text``, without words that are not indexed."""
    words = normalise_search_text(text)
    return _TOO_LONG.sub("", words).strip() if len(words) > _LONGEST_INDEXED_WORD else words


def extract_search_terms(text: str) -> tuple[str, ...]:
    """The words that a text must contain, each once, longest first."""
    return tuple(sorted(dict.fromkeys(split_words(text)), key=len, reverse=True))


def _truncate_words(found: Iterable[str]) -> Iterator[str]:
    """The words cut to the maximum length, up to the maximum number of letters in total."""
    room = MAX_QUERY_LETTERS
    for word in found:
        if room > 0:
            yield word[: min(MAX_WORD_LENGTH, room)]
        room -= len(word)


_MAX_STATE_WORDS: Final = max(len(name.split()) for name in STATE_CODES_BY_FULL_NAME)


def _state_codes(words: Sequence[str], required: Sequence[str]) -> dict[str, str]:
    """For each required word of a state's name, its code: WYOMING -> WY, both NEW and YORK -> NY."""
    found: dict[str, str] = {}
    for length in range(min(_MAX_STATE_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            if (code := STATE_CODES_BY_FULL_NAME.get(" ".join(run))) and found.keys().isdisjoint(run):
                found |= dict.fromkeys(run, code)
    codes = {word: code for word, code in found.items() if word in required}
    return codes if len(codes) < len(required) else {}


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A parsed search query.

    ``required_words``: words that a result must have. ``incomplete_word``: the last word, if it may be incomplete.
    ``may_have_initials``: its letters are Latin. The few consonants of a romanised word are initials of many names.
    ``state_codes_by_word``: for each word of the name of a state or province that is typed beside other words, its
    code.
    """

    text: str
    words: tuple[str, ...]
    required_words: tuple[str, ...]
    incomplete_word: str | None
    may_have_initials: bool
    state_codes_by_word: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> "SearchQuery":
        """Parse a query. If it has only weak words, those are needed. A trailing space finishes the last word."""
        found = tuple(_truncate_words(split_words(text)[:MAX_QUERY_WORDS]))
        unfinished = found[-1] if found and not text[-1:].isspace() else None
        strong = [word for word in dict.fromkeys(found) if word not in STOP_WORDS]
        if len(strong) > 1 and len(found[-1]) < _MIN_PREFIX_LENGTH and unfinished == strong[-1]:
            strong.pop()
        needed = strong or list(dict.fromkeys(found))
        latin = text.isascii() or unicode_scripts_in_text(text[:MAX_QUERY_LETTERS]) <= {"LATIN"}
        required = tuple(needed[:_MAX_REQUIRED_WORDS])
        return cls(" ".join(found), found, required, unfinished, latin, _state_codes(found, required))

    @property
    def completable_prefix(self) -> str | None:
        """The beginning of a word that is long enough to look up."""
        word = self.incomplete_word
        return word if word is not None and word in self.required_words and len(word) >= _MIN_PREFIX_LENGTH else None
