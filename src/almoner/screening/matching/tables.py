"""What is known of words beforehand: how often they occur, legal forms, words of one meaning, places. Frozen files."""

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

from almoner.screening.matching.nonprofit_forms import latin_forms
from almoner.screening.matching.spelling import normalise_text

_DATA: Final = files("almoner.screening.matching") / "data"
_LEAST: Final = 0.12
_KNOWN_TO_MANY: Final = 12
_ARABIC: Final = re.compile("[\u0620-\u06ff]")
_ARABIC_BEFORE: Final = re.compile("^(?:و?[بكف]?ال|و?لل|و?[بل]|و)(?=...)")
"""The article and what is written together with the word behind it: and, in, as, for."""
_ARABIC_ENDING: Final = re.compile("(?<=...)(?:ييه|ييت|يين|يون|يات|يه|يت|ين|ون|ان|ات|ه|ي|ت|ء)$")
"""Endings of feminine, adjective and plural: تجاري and تجارية of تجارة. What is left has three letters."""
_ARABIC_LETTERS: Final = str.maketrans("ةۀىیئکأإآٱؤ", "ههيييكااااو")
_CASED: Final = re.compile("[\u0370-\u04ff]")
_INFLECTED: Final = re.compile(
    r"(?<=[\u0400-\u04ff]{3})(?:[оеёыи]го|[оеы]му|[ыияа]ми|и[еяюи]|і[яєюій]|[ыио]й|[аяуюое][яюе]|[ыио][емх]|[ыі]х|[ая][мх]|[оеі]в|"
    r"ен|[аяоеёиыіуюьй])$"
    r"|(?<=[\u0370-\u03ff]{3})(?:ματο[σς]|ματα|μα|ου[σς]|εω[σς]|[οηαει][σς]|ει[σς]|ου|ον|ων|οι|[οηαιυ])$"
)
"""Endings of Cyrillic and Greek words, without accents."""
_OF_SEVERAL: Final = 3


@dataclass(frozen=True, slots=True)
class WordFrequencies:
    """How often words occur among ``total`` names; missing words are rare."""

    total: int
    of: Mapping[str, int]

    def rarity_weight(self, word: str) -> float:
        """The weight of a matching word: 0.12 for the most frequent to 1 for unknown ones."""
        return max(_LEAST, 1 - log(1 + self.of.get(word, 0)) / log(self.total))

    def is_known_word(self, word: str) -> bool:
        """Whether a word is frequent enough not to be a misspelling."""
        return self.of.get(word, 0) >= _KNOWN_TO_MANY


def _data_lines(name: str) -> Iterator[str]:
    content = (_DATA / name).read_bytes()
    text = decompress(content).decode() if name.endswith(".gz") else content.decode()
    return (line for line in text.splitlines() if line and not line.startswith("#"))


def _load_frequencies(name: str) -> WordFrequencies:
    first, *lines = _data_lines(name)
    pairs = (line.rpartition("\t") for line in lines)
    return WordFrequencies(int(first), {word: int(count) for word, _, count in pairs})


@cache
def word_frequencies() -> WordFrequencies:
    """How many names of organisations contain each word."""
    return _load_frequencies("words.tsv.gz")


@cache
def registered_word_frequencies() -> WordFrequencies:
    """How many registered organisations' names contain each word; listed names are not counted."""
    return _load_frequencies("registered.tsv.gz")


@cache
def name_frequencies() -> WordFrequencies:
    """How many organisations have the same name, such as KNIGHTS OF COLUMBUS."""
    return _load_frequencies("names.tsv.gz")


@cache
def company_forms() -> Mapping[tuple[str, ...], str]:
    """Words of a legal form of companies -> its kind: (``gesellschaft``, ``mit``, ...) -> ``LLC``."""
    lines = (line.partition("\t") for line in _data_lines("legal_forms.tsv"))
    return {tuple(form.split()): kind for form, _, kind in lines}


@cache
def legal_forms() -> Mapping[tuple[str, ...], frozenset[str]]:
    """Words of a legal form -> its kinds: (``sa``,) -> ``JSC`` and, in Estonia, ``FOUNDATION``."""
    found: dict[tuple[str, ...], frozenset[str]] = {}
    for form in latin_forms():
        if not form.doubtful:
            found[form.words] = found.get(form.words, frozenset()) | {form.kind}
    for words, kind in company_forms().items():
        # A table of companies says of a nonprofit's form only that it is one.
        own = frozenset() if words in found and kind == "NGO" else frozenset((kind,))
        found[words] = found.get(words, frozenset()) | own
    for form in latin_forms():
        if form.words in found:
            found[form.words] |= {form.kind}
    return found


@cache
def word_meanings() -> Mapping[str, str]:
    """Words of one meaning in several languages -> that meaning: ``internacional`` -> ``intl``."""
    return dict(line.split("\t") for line in _data_lines("senses.tsv"))


@cache
def place_spellings() -> dict[tuple[str, ...], str]:
    """Spellings of a place -> one word for it: (``new``, ``york``) -> ``newyork``."""
    found = {}
    for line in _data_lines("places.txt"):
        spellings = [tuple(normalise_text(one).split()) for one in line.split(",")]
        for one in spellings:
            found[one] = "".join(spellings[0])
    return found


def _load_spellings(name: str) -> Mapping[str, str]:
    lines = (line.split(":") for line in _data_lines(name))
    return {spelling: word for word, spellings in lines for spelling in spellings.split()}


@cache
def street_abbreviations() -> Mapping[str, str]:
    """Other spellings of words in addresses -> the word: ``blvd`` -> ``boulevard``."""
    return _load_spellings("streets.txt")


@cache
def _han_lines() -> bytes:
    """In one: an object for each of 40,000 signs would be 8 MB."""
    return "\n".join(("", *_data_lines("han.tsv.gz"), "")).encode()


@lru_cache(maxsize=2_048)
def han_readings(sign: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """How a Han sign is read in Mandarin (Pinyin) and Cantonese (Jyutping), without tones; None for other signs."""
    lines, wanted = _han_lines(), f"\n{sign}\t".encode()
    if (start := lines.find(wanted)) < 0:
        return None
    mandarin, cantonese = lines[start + len(wanted) : lines.index(b"\n", start + 1)].decode().split("\t")
    return tuple(filter(None, mandarin.split(","))), tuple(filter(None, cantonese.split(",")))


@cache
def nicknames() -> Mapping[str, frozenset[str]]:
    """First names -> others that may be the same person's: JON and JOHN, either way round."""
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
    """Whether a word is an ordinary word and not a name, by registered names and the dictionary."""
    if registered_word_frequencies().of.get(word, 0) >= _OF_SEVERAL:
        return True
    words = _english_words()
    return any(b"\n%s\n" % form.encode() in words for form in (word, word.removesuffix("s"), word.removesuffix("es")))


@cache
def translations() -> Mapping[str, frozenset[str]]:
    """The translations of words in organisations' names: of the words, and of what is left of them without endings."""
    found: dict[str, frozenset[str]] = {}
    for line in _data_lines("translations.txt"):
        meant, _, words = line.partition(":")
        for word in words.split():
            for form in {_in_one_spelling(word), _without_ending(word)}:
                found[form] = found.get(form, frozenset()) | frozenset(meant.split())
    return found


@lru_cache(maxsize=4_096)
def meanings(word: str) -> frozenset[str]:
    """The translations of a word in another script, also after its article or a preposition, or inflected."""
    known = translations()
    bare = _ARABIC_BEFORE.sub("", word)
    forms = (_in_one_spelling(word), _in_one_spelling(bare), _without_ending(word), _without_ending(bare))
    return next((known[form] for form in forms if form in known), frozenset())


def _in_one_spelling(word: str) -> str:
    """An Arabic word as others write it, marked as one that has its ending; other words as they are."""
    return f"{word.translate(_ARABIC_LETTERS)}$" if _ARABIC.match(word) else word


def _without_ending(word: str) -> str:
    """An Arabic, Cyrillic or Greek word as all its cases and genders have it; other words as they are."""
    if _ARABIC.match(word):
        return _ARABIC_ENDING.sub("", word.translate(_ARABIC_LETTERS))
    if not _CASED.match(word):
        return word
    plain = "".join(filter(_is_no_mark, unicodedata.normalize("NFD", word.casefold().replace("й", "\ue000"))))
    return _INFLECTED.sub("", plain.replace("\ue000", "й"))


def _is_no_mark(sign: str) -> bool:
    return not unicodedata.combining(sign)
