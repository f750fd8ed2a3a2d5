"""Prepare a name for comparison: its words in one spelling, their weights, its legal forms."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Final, NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import OSA

from almoner.kit import abbreviations
from almoner.screening.matching import tables
from almoner.screening.matching.arabic_article import is_assimilated_article, strip_south_asian_articles
from almoner.screening.matching.domain import Kind, PreparedName
from almoner.screening.matching.nonprofit_forms import (
    separate_name_from_non_latin_legal_forms,
    strip_ambiguous_legal_form,
    strip_attached_legal_form,
)
from almoner.screening.matching.sounds import build_phonetic_name
from almoner.screening.matching.spelling import convert_number_words_to_digits, normalise_numerals, normalise_text

STOP_WORDS: Final = frozenset(
    "a al an and at by dba de del der des do du e el et for from fuer fur het in into la las le les los of on or s "
    "the to und van von with y".split()
)
"""Words that a name may lack and still be the same."""

_PHRASES: Final = {
    ("united", "states", "of", "america"): "usa",
    ("united", "states"): "usa",
    ("us",): "usa",
    ("health", "care"): "healthcare",
    ("non", "profit"): "nonprofit",
}
_DIRECTIONS: Final = {
    spelling: direction
    for direction in ("north", "south", "east", "west")
    for spelling in (direction, f"{direction}ern")
} | {
    spelling: first + second
    for first in ("north", "south")
    for second in ("east", "west")
    for spelling in (first + second, f"{first}{second}ern")
} | {one: one for one in ("upper", "lower")}  # fmt: skip
BRANCH_WORDS: Final = frozenset(
    "alumni auxiliary boosters booster endowment foundation friends fund guild pac ptas ptsa pta".split()
)
"""Words that name an organisation beside another one: a school and its foundation are two."""
_TRUNCATED_ENDINGS: Final = (" of", " for", " and")
_SHORTEST_ACRONYM: Final = 3
_FORMAL: Final = frozenset(("trust", "company", "corporation", "organization"))
_FORMAL_WEIGHT: Final = 0.15
_UNAMBIGUOUS_FORMS: Final = frozenset(
    "inc incorporated corp corporation llc llp ltd limited co gmbh kg sarl jsc ojsc pjsc cjsc oao ooo zao".split()
)
"""Legal forms anywhere in a name: MOTHER THEODORE CORP III."""
_FORM_WORDS: Final = frozenset(
    "liability joint stock obshchestvo obschestvo otvetstvennostyu ogranichennoi ogranichennoy ogranichenoi "
    "aktsionernoe aktsionernoye aktsionerne tovarystvo vidpovidalnistyu obmezhenoyu zakrytoe zakrytoye otkrytoe "
    "otkrytoye publichnoe publichnoye anonima sirketi limitada haftung responsabilidad responsabilite".split()
)
"""Words of long legal forms."""
_FORM_WORDS_BESIDE: Final = frozenset("limited company open closed public private corporation foreign".split())
_NONPROFIT: Final = frozenset("nonprofit profit religious benefit charitable".split())
"""Words of legal forms that follow a state: A CALIFORNIA NONPROFIT PUBLIC BENEFIT CORPORATION."""
_STATE_CODE: Final = 2
_LONG_LEGAL: Final = 6
_SHORT_LEGAL: Final = 4
_OF_SEVERAL: Final = 3
_MAX_FORM_WORDS: Final = 9
_GLUED_IN_FRONT: Final = tuple("pjsc ojsc cjsc jsc ooo oao zao pao tov fze llc ltd".split())
_GLUED_BEHIND: Final = tuple("gmbh jsc llc ltd limited sarl srl spa fze fzco corp corporation company inc".split())
_MIN_NUMBER_WEIGHT: Final = 0.9
_MIN_PLACE_WEIGHT: Final = 0.55
_PARTICLE_WEIGHT: Final = 0.3
"""The weight of a particle of a person's name beside its only other word."""
_LINK_WEIGHT: Final = 0.1
_PATRONYMIC_LINKS: Final = frozenset("ibn bin bint binti".split())
"""Words before a father's name, which people omit."""
_VOWELS: Final = re.compile("[aeiouy]+")
_BETWEEN_NAMES: Final = re.compile(r"[\s,;]+")
_YEAR: Final = re.compile(r"(?:18|19|20)\d\d")
_MAX_LETTERS: Final = 1_000
"""The maximum number of letters of a name that are read, before and after romanisation, which can multiply them."""

_MAX_WORDS: Final = 60
"""The maximum number of words of a name that are read: each is compared with each of another name."""


class NameTokens(NamedTuple):
    """A name's words, the kinds of its legal forms, all words joined, and the normalised text.

    ``joined_words_without_legal_form``: the words without one that may be a legal form, joined; "" if there is none.
    """

    words: tuple[str, ...]
    legal_form_kinds: frozenset[str]
    joined_words: str
    normalised_text: str
    joined_words_without_legal_form: str = ""


@lru_cache(maxsize=1)
def _form_edges() -> tuple[frozenset[str], frozenset[str]]:
    """(first words, last words) of legal forms."""
    known = tables.legal_form_kinds_by_words()
    return frozenset(form[0] for form in known), frozenset(form[-1] for form in known)


def _strip_form(words: list[str]) -> tuple[list[str], frozenset[str] | None]:
    """The words without the longest legal form at one end, and its kinds; None if there is none."""
    known = tables.legal_form_kinds_by_words()
    firsts, lasts = _form_edges()
    begins, ends = words[0] in firsts, words[-1] in lasts
    for length in range(min(_MAX_FORM_WORDS, len(words) - 1), 0, -1) if begins or ends else ():
        if ends and (kinds := known.get(tuple(words[-length:]))):
            return words[:-length], kinds
        if begins and (kinds := known.get(tuple(words[:length]))):
            return words[length:], kinds
    return words, None


@lru_cache(maxsize=1)
def _legal_form_words() -> frozenset[str]:
    """Words of several legal forms that are long enough to be recognised with a typo."""
    counts = Counter(
        word for form in tables.company_legal_form_kind_by_words() for word in form if len(word) >= _LONG_LEGAL
    )
    return frozenset(word for word, count in counts.items() if count >= _OF_SEVERAL)


@cache
def _legal_form_words_near(length: int, typos: int) -> tuple[str, ...]:
    """Those that a word of this length may be with so many typos."""
    return tuple(sorted(word for word in _legal_form_words() if abs(len(word) - length) <= typos))


@lru_cache(maxsize=8_192)
def _corrected_form_word(word: str) -> str:
    """The word of a legal form that this unknown word misspells (LIMITID, COMAPANY); else the word itself."""
    known = _legal_form_words()
    if (
        len(word) < _LONG_LEGAL - 1
        or tables.organisation_name_word_frequencies().count_by_text.get(word, 0) >= _OF_SEVERAL
        or word.removesuffix("s") in known
    ):
        return word
    typos = 2 if len(word) > _LONG_LEGAL + 2 else 1
    near = _legal_form_words_near(len(word), typos)
    return (process.extractOne(word, near, scorer=OSA.distance, score_cutoff=typos) or (word,))[0]


def _strip_misspelt_form(words: list[str]) -> tuple[list[str], frozenset[str] | None]:
    """Like ``_strip_form``, with typos corrected first."""
    firsts, lasts = _form_edges()
    if _corrected_form_word(words[0]) not in firsts and _corrected_form_word(words[-1]) not in lasts:
        return words, None
    repaired = [_corrected_form_word(word) for word in words]
    if repaired == words:
        return words, None
    rest, kinds = _strip_form(repaired)
    return words[: len(rest)] if rest == repaired[: len(rest)] else words[-len(rest) :], kinds


def _strip_state(words: list[str]) -> list[str]:
    """The words without the state that qualified a legal form: A WYOMING (nonprofit corporation), A NJ (...)."""
    for length in (2, 1):
        article, state = words[-length - 1 : -length], words[-length:]
        is_state = tuple(state) in tables.canonical_place_word_by_spelling() or (
            length == 1 and len(state[0]) == _STATE_CODE
        )
        if article in (["a"], ["an"]) and is_state and len(words) > length + 1:
            return words[: -length - 1]
    return words


def _strip_legal_forms(words: list[str], forms: set[str]) -> list[str]:
    """Strip legal forms from both ends as long as a word is left; adds their kinds to ``forms``."""
    while len(words) > 1:
        before = words
        words, kinds = _strip_form(words)
        if not kinds:
            words, kinds = _strip_misspelt_form(words)
        if kinds:
            forms |= kinds
            if not _NONPROFIT.isdisjoint(before[len(words) :]):
                words = _strip_state(words)
        if len(words) > 1 and words[-1] in ("the", "and"):
            words = words[:-1]
        elif not kinds:
            break
    return words


def _is_legal_word(word: str, legal: frozenset[str]) -> bool:
    """Whether a word is one of these words, or an unknown word that misspells one."""
    if word in legal or len(word) < _SHORT_LEGAL or tables.organisation_name_word_frequencies().is_known_word(word):
        return word in legal
    typos = 2 if len(word) > _LONG_LEGAL else 1
    return any(OSA.distance(word, one, score_cutoff=typos) <= typos for one in legal)


def _remove_legal_words(words: list[str], *, beside: bool) -> list[str]:
    """Remove a long legal form in the middle of a name, or one with typos: JOINT STCOK COMPANY.

    ``beside``: part of a legal form was stripped already: LIMITED of LIMITED LIABILITY.
    """
    if _FORM_WORDS.isdisjoint(words) and _FORM_WORDS_BESIDE.isdisjoint(words):
        return words
    core = {word for word in words if _is_legal_word(word, _FORM_WORDS)}
    legal = core | {word for word in words if _is_legal_word(word, _FORM_WORDS_BESIDE)}
    rest = [word for word in words if word not in legal]
    return rest if core and (beside or len(legal) > 1) and rest else words


@lru_cache(maxsize=1)
def _phrases() -> Mapping[str, Mapping[tuple[str, ...], str]]:
    """Phrases and places that become one word, by their first word."""
    found: dict[str, dict[tuple[str, ...], str]] = {}
    for phrase, one in (tables.canonical_place_word_by_spelling() | _PHRASES).items():
        found.setdefault(phrase[0], {})[phrase] = one
    return found


def _join_phrases(words: Sequence[str]) -> list[str]:
    """Join places and a few phrases of several words into one word."""
    known = _phrases()
    found: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        length = 1
        for phrase, one in known.get(word, {}).items():
            if len(phrase) >= length and tuple(words[place : place + len(phrase)]) == phrase:
                word, length = one, len(phrase)
        found.append(word)
        place += length
    return found


def tokenise_name(name: str, *, is_person: bool = False) -> NameTokens:
    """The words of a name in one spelling. ``is_person``: a single letter is an initial, not a stop word."""
    forms: set[str] = set()
    name = given = name[:_MAX_LETTERS]
    if not name.isascii():
        name, kinds = separate_name_from_non_latin_legal_forms(name)
        forms |= kinds
    written = normalise_text(name)[:_MAX_LETTERS].rstrip()
    words = _strip_legal_forms(normalise_numerals(written).split()[:_MAX_WORDS], forms)
    words = _remove_legal_words(words, beside=bool(forms))
    if not words:
        return NameTokens((), frozenset(forms), "", written)
    words = convert_number_words_to_digits(words)
    words = _join_phrases(words if is_person else abbreviations.expand_abbreviations_in_context(words))
    words = [word for place, word in enumerate(words) if not place or not _is_form_inside(words, place)]
    bare = strip_ambiguous_legal_form(words) or _strip_damaged_form(words)
    if bare is None and not given.isascii() and (rest := strip_attached_legal_form(given)):
        bare = normalise_text(rest).split()
    if is_person:
        return NameTokens(
            tuple(_words_of_person(words, given, written.split())), frozenset(forms), "".join(words), written
        )
    return NameTokens(
        _unify_spelling(words),
        frozenset(forms),
        "".join(words),
        written,
        "" if bare is None else "".join(_unify_spelling(bare)),
    )


@lru_cache(maxsize=1)
def _cut_forms() -> frozenset[str]:
    """Truncated words that are a legal form by themselves: COMP, CORPORAT."""
    words = (form[0] for form in tables.company_legal_form_kind_by_words() if len(form) == 1)
    return frozenset(word[:end] for word in words for end in range(_SHORT_LEGAL, len(word)))


def _strip_damaged_form(words: Sequence[str]) -> Sequence[str] | None:
    """The words without a truncated form at the end, or one glued to a word; None if there is none.

    The word may be no form, so names without it are equal but not merely similar: ARGUMENT COMP, JSCARGUMENT.
    """
    if len(words) > 1 and words[-1] in _cut_forms():
        return words[:-1]
    first, last = words[0], words[-1]
    for form in _GLUED_IN_FRONT if first.startswith(_GLUED_IN_FRONT) else ():
        if first.startswith(form) and _is_glued(first, first[len(form) :]):
            return [first[len(form) :], *words[1:]]
    for form in _GLUED_BEHIND if last.endswith(_GLUED_BEHIND) else ():
        if last.endswith(form) and _is_glued(last, last[: -len(form)]):
            return [*words[:-1], last[: -len(form)]]
    return None


def _is_glued(word: str, rest: str) -> bool:
    """Whether a word is unknown, and long enough without the form."""
    return len(rest) >= _SHORT_LEGAL and not tables.organisation_name_word_frequencies().is_known_word(word)


def _is_form_inside(words: Sequence[str], place: int) -> bool:
    """Whether a word after the first is a legal form. CO between others may be a county: BUTLER CO HISTORICAL SOC."""
    inside = 0 < place < len(words) - 1 and words[place - 1] != "and" and words[place + 1] not in _UNAMBIGUOUS_FORMS
    return words[place] in _UNAMBIGUOUS_FORMS and not (inside and words[place] in abbreviations.WORDS)


def _unify_spelling(words: Sequence[str]) -> tuple[str, ...]:
    """The words without stop words, each in one spelling."""
    strong = _without_weak(words, initials=False)
    return tuple(_DIRECTIONS.get(word) or abbreviations.expand_abbreviation(word) for word in strong)


def _without_weak(words: Sequence[str], *, initials: bool) -> Sequence[str]:
    return [
        word
        for word, following in zip_longest(words, words[1:], fillvalue="")
        if not (word in STOP_WORDS or is_assimilated_article(word, following)) or (initials and len(word) == 1)
    ] or words


def _words_of_person(words: Sequence[str], given: str, written: Sequence[str]) -> Sequence[str]:
    """The words without particles and legal forms, unless these are one of two names: VAN NGUYEN, AL GORE, SA KIM."""
    strong = _without_weak(strip_south_asian_articles(words), initials=True)
    several = len(strong) == 1 and sum(any(map(str.isalpha, part)) for part in _BETWEEN_NAMES.split(given)) > 1
    return written if several else strong


def words_without_numbers(name: PreparedName) -> tuple[str, ...]:
    """The words of a name that are no numbers."""
    return tuple(word for word, kind in zip(name.words, name.word_kinds, strict=True) if kind not in ("number", "year"))


def strip_name_particles(words: Sequence[str]) -> Sequence[str]:
    """The words of a person's name that are no particles; all if it has no others."""
    return [word for word in words if len(word) == 1 or word not in STOP_WORDS] or words


def _kind(word: str) -> Kind:
    if any(map(str.isdigit, word)):
        return "year" if _YEAR.fullmatch(word) else "number"
    if word in _DIRECTIONS:
        return "direction"
    return "place" if word in _place_words() else "word"


@lru_cache(maxsize=1)
def _place_words() -> frozenset[str]:
    return frozenset(tables.canonical_place_word_by_spelling().values())


@lru_cache(maxsize=8_192)
def _weigh_word(word: str) -> tuple[float, Kind]:
    kind = _kind(word)
    frequencies = tables.organisation_name_word_frequencies()
    likely = max((word, *abbreviations.WORDS.get(word, ())), key=lambda one: frequencies.count_by_text.get(one, 0))
    weight = frequencies.compute_rarity_weight(likely)
    if kind in ("number", "year"):
        weight = max(weight, _MIN_NUMBER_WEIGHT)
    elif kind in ("direction", "place"):
        weight = max(weight, _MIN_PLACE_WEIGHT)
    return weight, kind


def _acronyms(written: list[str], words: Sequence[str]) -> tuple[str, ...]:
    """Words that are the initials of others: PEOPLE UPLIFTING PEOPLE IN LIFE (PUPIL)."""
    if len(written) <= _SHORTEST_ACRONYM:
        return ()
    initials = "".join(word[0] for word in written)
    return tuple(
        word
        for word in words
        if len(word) >= _SHORTEST_ACRONYM
        and word in initials
        and word in "".join(other[0] if other != word else " " for other in written)
    )


def prepare_name(name: str, *, is_person: bool = False) -> PreparedName:
    """Prepare a name for comparison. ``is_person``: the name of a person."""
    words, forms, whole, written, bare = tokenise_name(name, is_person=is_person)
    read = [_weigh_word(word) for word in words]
    weights = [weight for weight, _ in read]
    if is_person and len(strong := strip_name_particles(words)) < len(words):
        weights = [weight if word in strong else _PARTICLE_WEIGHT for word, weight in zip(words, weights, strict=True)]
    if is_person:
        for place in range(1, len(words) - 1):
            if _is_patronymic_link(words, place):
                weights[place] = _LINK_WEIGHT
    if len(words) > 1 and words[-1] in _FORMAL:
        weights[-1] = _FORMAL_WEIGHT
    return PreparedName(
        name,
        words,
        tuple(weights),
        tuple(kind for _, kind in read),
        forms,
        "".join(words),
        whole,
        sum(weights),
        tables.organisation_name_frequencies().count_by_text.get(" ".join(words), 0),
        written.endswith(_TRUNCATED_ENDINGS),
        _acronyms(written.split(), words),
        bare,
        build_phonetic_name(name[:_MAX_LETTERS]),
    )


def _is_patronymic_link(words: Sequence[str], place: int) -> bool:
    """Whether a word stands for "son of"; BIN between words of one syllable is a Chinese given name."""
    if words[place] != "bin":
        return words[place] in _PATRONYMIC_LINKS
    return any(len(_VOWELS.findall(word)) > 1 for word in (words[place - 1], words[place + 1]))
