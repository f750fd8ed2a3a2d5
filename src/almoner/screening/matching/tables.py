"""Frozen tables about words: frequencies, legal forms, synonyms, places, nicknames, translations."""

import lzma
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from gzip import decompress
from importlib.resources import files
from math import log
from typing import Final

from almoner.screening.matching.nonprofit_forms import latin_legal_forms
from almoner.screening.matching.spelling import normalise_text

_DATA: Final = files("almoner.screening.matching") / "data"
_MIN_WEIGHT: Final = 0.12
_KNOWN_WORD_COUNT: Final = 12
_ARABIC: Final = re.compile("[\u0620-\u06ff]")
_ARABIC_BEFORE: Final = re.compile("^(?:و?[بكف]?ال|و?لل|و?[بل]|و)(?=...)")
"""The article, prepositions and conjunctions that Arabic joins to the next word: and, in, as, for."""
_ARABIC_ENDING: Final = re.compile("(?<=...)(?:ييه|ييت|يين|يون|يات|يه|يت|ين|ون|ان|ات|ه|ي|ت|ء)$")
"""Feminine, adjective and plural endings: تجاري and تجارية of تجارة. The stem keeps three letters."""
_ARABIC_LETTERS: Final = str.maketrans("ةۀىیئکأإآٱؤ", "ههيييكااااو")
_CASED: Final = re.compile("[\u0370-\u04ff]")
_INFLECTED: Final = re.compile(
    r"(?<=[\u0400-\u04ff]{3})(?:[оеёыи]го|[оеы]му|[ыияа]ми|и[еяюи]|і[яєюій]|[ыио]й|[аяуюое][яюе]|[ыио][емх]|[ыі]х|[ая][мх]|[оеі]в|"
    r"ен|[аяоеёиыіуюьй])$"
    r"|(?<=[\u0370-\u03ff]{3})(?:ματο[σς]|ματα|μα|ου[σς]|εω[σς]|[οηαει][σς]|ει[σς]|ου|ον|ων|οι|[οηαιυ])$"
)
"""Endings of Cyrillic and Greek words, without accents."""
_ORDINARY_WORD_COUNT: Final = 3
_SHORTEST_PART: Final = 4


@dataclass(frozen=True, slots=True)
class TextFrequencies:
    """How often words occur among ``name_count`` names; missing words are rare."""

    name_count: int
    count_by_text: Mapping[str, int]

    def compute_rarity_weight(self, word: str) -> float:
        """The weight of a matching word: from 0.12 for the most frequent to 1 for unknown ones."""
        return max(_MIN_WEIGHT, 1 - log(1 + self.count_by_text.get(word, 0)) / log(self.name_count))

    def is_known_word(self, word: str) -> bool:
        """Whether a word is frequent enough not to be a misspelling."""
        return self.count_by_text.get(word, 0) >= _KNOWN_WORD_COUNT


def _data_lines(name: str) -> Iterator[str]:
    content = (_DATA / name).read_bytes()
    text = decompress(content).decode() if name.endswith(".gz") else content.decode()
    return (line for line in text.splitlines() if line and not line.startswith("#"))


def _load_frequencies(name: str) -> TextFrequencies:
    first, *lines = _data_lines(name)
    pairs = (line.rpartition("\t") for line in lines)
    return TextFrequencies(int(first), {word: int(count) for word, _, count in pairs})


@cache
def organisation_name_word_frequencies() -> TextFrequencies:
    """How many organisations' names contain each word."""
    return _load_frequencies("words.tsv.gz")


@cache
def registered_name_word_frequencies() -> TextFrequencies:
    """How many registered organisations' names contain each word; watchlists are not counted."""
    return _load_frequencies("registered.tsv.gz")


@cache
def organisation_name_frequencies() -> TextFrequencies:
    """How many organisations have the same name, such as KNIGHTS OF COLUMBUS."""
    return _load_frequencies("names.tsv.gz")


@cache
def company_legal_form_kind_by_words() -> Mapping[tuple[str, ...], str]:
    """Words of a company's legal form -> its kind: (``gesellschaft``, ``mit``, ...) -> ``LLC``."""
    lines = (line.partition("\t") for line in _data_lines("legal_forms.tsv"))
    return {tuple(form.split()): kind for form, _, kind in lines}


@cache
def legal_form_kinds_by_words() -> Mapping[tuple[str, ...], frozenset[str]]:
    """Words of a legal form -> its kinds: (``sa``,) -> ``JSC`` and, in Estonia, ``FOUNDATION``."""
    found: dict[tuple[str, ...], frozenset[str]] = {}
    for form in latin_legal_forms():
        if not form.is_ambiguous:
            found[form.words] = found.get(form.words, frozenset()) | {form.kind}
    for words, kind in company_legal_form_kind_by_words().items():
        # The table of companies knows a nonprofit's form only as NGO.
        own = frozenset() if words in found and kind == "NGO" else frozenset((kind,))
        found[words] = found.get(words, frozenset()) | own
    for form in latin_legal_forms():
        if form.words in found:
            found[form.words] |= {form.kind}
    return found


@cache
def canonical_word_by_synonym() -> Mapping[str, str]:
    """Synonyms in several languages -> one word: ``internacional`` -> ``intl``."""
    return dict(line.split("\t") for line in _data_lines("senses.tsv"))


@cache
def canonical_place_word_by_spelling() -> dict[tuple[str, ...], str]:
    """Spellings of a place -> one word for it: (``new``, ``york``) -> ``newyork``."""
    found = {}
    for line in _data_lines("places.txt"):
        spellings = [tuple(normalise_text(one).split()) for one in line.split(",")]
        for one in spellings:
            found[one] = "".join(spellings[0])
    return found


@cache
def street_word_by_abbreviation() -> Mapping[str, str]:
    """Other spellings of words in addresses -> the word: ``blvd`` -> ``boulevard``."""
    lines = (line.split(":") for line in _data_lines("streets.txt"))
    return {spelling: word for word, spellings in lines for spelling in spellings.split()}


@cache
def _han_lines() -> bytes:
    """One bytes object: an object for each of 40,000 characters would take 8 MB."""
    return "\n".join(("", *_data_lines("han.tsv.gz"), "")).encode()


@lru_cache(maxsize=2_048)
def mandarin_and_cantonese_readings(character: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The Mandarin (Pinyin) and Cantonese (Jyutping) readings of a Han character, without tones; None for others."""
    lines, wanted = _han_lines(), f"\n{character}\t".encode()
    if (start := lines.find(wanted)) < 0:
        return None
    mandarin, cantonese = lines[start + len(wanted) : lines.index(b"\n", start + 1)].decode().split("\t")
    return tuple(filter(None, mandarin.split(","))), tuple(filter(None, cantonese.split(",")))


@cache
def nicknames_by_name() -> Mapping[str, frozenset[str]]:
    """First names -> other forms of them, in both directions: JON and JOHN."""
    found: dict[str, set[str]] = {}
    for line in _data_lines("nicknames.txt"):
        name, _, short = line.partition(":")
        for one in short.split():
            found.setdefault(name, set()).add(one)
            found.setdefault(one, set()).add(name)
    return {name: frozenset(others) for name, others in found.items()}


@cache
def _english_words() -> bytes:
    return b"\n" + lzma.decompress((_DATA / "english.txt.xz").read_bytes())


@lru_cache(maxsize=4_096)
def is_ordinary_word(word: str) -> bool:
    """Whether a word is an ordinary word and no name, by registered names and the dictionary."""
    if registered_name_word_frequencies().count_by_text.get(word, 0) >= _ORDINARY_WORD_COUNT:
        return True
    words = _english_words()
    return any(b"\n%s\n" % form.encode() in words for form in (word, word.removesuffix("s"), word.removesuffix("es")))


def is_compound_of_ordinary_words(word: str) -> bool:
    """Whether a word is two ordinary words of four letters or more: HEADLAMP."""
    places = range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
    return any(is_ordinary_word(word[:place]) and is_ordinary_word(word[place:]) for place in places)


@cache
def translations_by_word() -> Mapping[str, frozenset[str]]:
    """Translations of words in organisations' names, by the word and by its stem."""
    found: dict[str, frozenset[str]] = {}
    for line in _data_lines("translations.txt"):
        meant, _, words = line.partition(":")
        for word in words.split():
            for form in {_in_one_spelling(word), _without_ending(word)}:
                found[form] = found.get(form, frozenset()) | frozenset(meant.split())
    return found


@lru_cache(maxsize=4_096)
def find_translations(word: str) -> frozenset[str]:
    """The translations of a word in another script, with or without article, preposition and ending."""
    known = translations_by_word()
    bare = _ARABIC_BEFORE.sub("", word)
    forms = (_in_one_spelling(word), _in_one_spelling(bare), _without_ending(word), _without_ending(bare))
    return next((known[form] for form in forms if form in known), frozenset())


def _in_one_spelling(word: str) -> str:
    """An Arabic word in one spelling, marked with ``$`` as unstemmed; other words unchanged."""
    return f"{word.translate(_ARABIC_LETTERS)}$" if _ARABIC.match(word) else word


def _without_ending(word: str) -> str:
    """The stem that all cases and genders of an Arabic, Cyrillic or Greek word share; other words unchanged."""
    if _ARABIC.match(word):
        return _ARABIC_ENDING.sub("", word.translate(_ARABIC_LETTERS))
    if not _CASED.match(word):
        return word
    plain = "".join(filter(_is_not_combining, unicodedata.normalize("NFD", word.casefold().replace("й", "\ue000"))))
    return _INFLECTED.sub("", plain.replace("\ue000", "й"))


def _is_not_combining(sign: str) -> bool:
    return not unicodedata.combining(sign)
