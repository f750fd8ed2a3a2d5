"""The terms by which the search finds a record; pure.

A term is an 8-byte hash of a word or of its beginning, keyed by the partner, the type of the record and whether it is
personal data. Members who may not see donors search without personal terms, so they do not find records by them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Final
from uuid import UUID

_BETWEEN: Final = re.compile(r"[^\w]+|_+")
_SHORTEST: Final = 3
"""The minimum number of letters at the start of a word. Two for non-Latin letters, which carry more information."""
_LONGEST: Final = 10
_TEXT: Final = 500
_WORD: Final = 200
MOST_WORDS: Final = 4
"""The maximum number of words in a search; further words are ignored."""
_MOST_TERMS: Final = 1000


@dataclass(frozen=True, slots=True)
class SearchableRecord:
    """A record with its searchable texts."""

    partner_id: UUID
    record_type: str
    record_id: UUID
    personal_texts: Sequence[str | None]
    other_texts: Sequence[str | None]


class TermHasher:
    """Hashes search words of one partner's records of one type."""

    def __init__(self, partner_id: UUID, record_type: str) -> None:
        self._begun = {
            (personal, beginning): blake2b(
                digest_size=8,
                key=partner_id.bytes,
                person=bytes([2 * personal + beginning]) + record_type[:15].encode(),
            )
            for personal in (False, True)
            for beginning in (False, True)
        }

    def __call__(self, word: str, *, personal: bool, beginning: bool) -> int:
        """The term, as a bigint of PostgreSQL."""
        hashed = self._begun[personal, beginning].copy()
        hashed.update(word.encode())
        return int.from_bytes(hashed.digest(), "big", signed=True)


@lru_cache(maxsize=64)
def _hasher(partner_id: UUID, record_type: str) -> TermHasher:
    return TermHasher(partner_id, record_type)


def hash_terms_of_record(record: SearchableRecord) -> list[int]:
    """The terms of a record, each once, in order."""
    hashed = _hasher(record.partner_id, record.record_type)
    found: dict[int, None] = {}
    for personal, texts in ((True, record.personal_texts), (False, record.other_texts)):
        for word in dict.fromkeys(word for text in texts if text for word in _words(text)):
            found[hashed(word, personal=personal, beginning=False)] = None
            for beginning in _beginnings(word):
                found[hashed(beginning, personal=personal, beginning=True)] = None
    return sorted(list(found)[:_MOST_TERMS])


def hash_terms_of_query(
    partner_id: UUID, record_type: str, query: str, *, includes_personal_terms: bool
) -> list[list[int]]:
    """The possible term hashes of each entered word."""
    hashed = _hasher(partner_id, record_type)
    classes = (False, True) if includes_personal_terms else (False,)
    return [
        [
            hashed(word, personal=one, beginning=beginning)
            for one in classes
            for beginning in ((False, True) if _least(word) <= len(word) <= _LONGEST else (False,))
        ]
        for word in split_query_into_words(query)
    ]


def split_query_into_words(query: str) -> list[str]:
    """The words of a search."""
    return list(dict.fromkeys(word[:_WORD] for word in _fold(query).split()))[:MOST_WORDS]


def _words(text: str) -> Iterator[str]:
    """The words of a text, whole and in parts; of an email address, the parts of its local part and its domain."""
    for token in _fold(text).split():
        yield token[:_WORD]
        before, at, domain = token.partition("@")
        parts = _pieces(before)
        if at or len(parts) > 1:
            yield from parts
        if at and domain:
            yield domain[:_WORD]


def _pieces(token: str) -> list[str]:
    return [part[:_WORD] for part in _BETWEEN.split(token) if part]


def _beginnings(word: str) -> Iterable[str]:
    return (word[:length] for length in range(_least(word), min(len(word), _LONGEST + 1)))


def _least(word: str) -> int:
    return _SHORTEST if word.isascii() else _SHORTEST - 1


def _fold(text: str) -> str:
    """Without case, accents and letter variants."""
    if text.isascii():
        return text[:_TEXT].lower()
    apart = unicodedata.normalize("NFKD", text[:_TEXT].casefold())
    return unicodedata.normalize("NFC", "".join(sign for sign in apart if not unicodedata.combining(sign)))
