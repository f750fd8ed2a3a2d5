"""Names and parties to compare, and the results of comparing them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Finding = Literal[
    "same", "spelling", "meaning", "together", "initials", "initial", "nickname", "cut", "asked_only", "listed_only",
    "replaced", "letters", "contained",
    "number", "direction", "place", "form", "branch", "unnamed", "second_line", "other_name", "name",
    "street", "postcode", "city", "state", "country", "address_unknown",
    "sound", "common", "rare", "weak", "identifier", "bounds",
]  # fmt: skip
"""The reason for a part of a score: words that are equal, misspelt, synonyms, ..."""


ScreeningObstacle = Literal["script_uncertain", "script_not_supported", "no_words"]
"""Why a name without matches is not proof: its script is compared by sound only, not supported, or it has no words."""
PersonScreeningObstacle = Literal[ScreeningObstacle, "single_name"]
"""The same of a person, who is listed with several names, so that a single name without matches is no proof either."""

Kind = Literal["word", "number", "year", "direction", "place"]
"""The kind of a word."""

_SEPARATOR: Final = "\0"
"""What no text in the database contains."""


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One reason for a score. The points of all parts add up to the score."""

    finding: Finding
    points: float
    asked: str = ""
    listed: str = ""


@dataclass(frozen=True, slots=True)
class Party:
    """An organisation as somebody describes it: its names, the main one first, and its address.

    ``name_second_line``: the second line of the main name, if any. ``shares_first_line``: other organisations in its
    register have the same first line; None if unknown.
    """

    names: Sequence[str]
    street: str | None = None
    city: str | None = None
    state: str | None = None
    postcode: str | None = None
    country: str | None = None
    name_second_line: str | None = None
    shares_first_line: bool | None = None


@dataclass(frozen=True, slots=True)
class NameSimilarity:
    """How alike two names are, from 0 to 1. ``vetoes``: differences that rule out a match."""

    score: float
    parts: tuple[ScorePart, ...]
    vetoes: tuple[Finding, ...]
    searched_name: str
    listed_name: str


@dataclass(frozen=True, slots=True)
class PartyAgreement:
    """How well a searched party and a listed one agree, from 0 to 1.

    ``name_score``: the score of the names alone, the sum of ``name_parts``. ``is_exact_name``: the words are equal.
    ``matches_main_name``: the main name with its first line agrees, not just another name of the organisation.
    ``differs_in_distinctive_word``: the one distinctive word only nearly agrees. ``is_same_place``: street, postcode or
    city agree. ``address_differs``: a part that both sides state differs. ``both_have_street_or_po_box``: both have a
    street or a PO box, so addresses count. ``is_likely_match``: the names alone indicate the same organisation.
    ``is_certain_match``: good enough to be accepted without review.
    """

    score: float
    name_score: float
    both_have_street_or_po_box: bool
    is_likely_match: bool
    is_certain_match: bool
    parts: tuple[ScorePart, ...]
    vetoes: tuple[Finding, ...]
    name_parts: tuple[ScorePart, ...]
    is_exact_name: bool
    matches_main_name: bool
    differs_in_distinctive_word: bool
    is_same_place: bool
    is_same_state: bool
    address_differs: bool


@dataclass(frozen=True, slots=True)
class PhoneticName:
    """The sound of a name in a non-Latin script: keys of each word, and coarse spellings of the name.

    ``script``: the script of most letters. ``merges_l_and_r``: it does not distinguish L and R. ``spells_all_sounds``:
    it writes all sounds, so letters can be compared too. ``sorted_letters``: its letters in that script, sorted.
    ``legal_forms``: the meanings of legal forms around the name.
    """

    script: str
    word_sound_keys: tuple[frozenset[str], ...]
    word_texts: tuple[str, ...]
    coarse_spellings: frozenset[str]
    merges_l_and_r: bool
    spells_all_sounds: bool
    sorted_letters: str
    legal_forms: frozenset[str]


@dataclass(frozen=True, slots=True)
class PreparedName:
    """A name in normalised words without stop words, with the weight and kind of each.

    ``joined_words``: the words without blanks. ``joined_words_with_stop_words``: the same with stop words.
    ``name_frequency``: how many registered organisations have this name. ``is_truncated``: it ends in OF, FOR or AND,
    so it was cut off. ``acronyms``: words that are the initials of others. ``joined_words_without_legal_form``:
    ``joined_words`` without a word that may be a legal form. ``phonetic_name``: how it sounds, if in a non-Latin
    script.
    """

    name: str
    words: tuple[str, ...]
    word_weights: tuple[float, ...]
    word_kinds: tuple[Kind, ...]
    legal_forms: frozenset[str]
    joined_words: str
    joined_words_with_stop_words: str
    total_weight: float
    name_frequency: int
    is_truncated: bool
    acronyms: tuple[str, ...]
    joined_words_without_legal_form: str = ""
    phonetic_name: PhoneticName | None = None


class PreparedEntry:
    """A watchlist entry. Its texts are joined, because tens of thousands of entries are held in memory.

    ``names``: as written. ``countries`` and ``identifiers`` have the same form as those of subjects. ``concerns``:
    countries that the entry was listed because of; agreement counts, a difference does not. ``weak_names``: names that
    the list itself marks as too weak to search by.
    """

    __slots__ = ("_addresses", "_identifiers", "_names", "_weak", "concerns", "countries")

    def __init__(
        self,
        entry_id: str,
        names: Iterable[str],
        countries: frozenset[str] = frozenset(),
        identifiers: Iterable[str] = (),
        address_parties: Iterable[Party] = (),
        concerns: frozenset[str] = frozenset(),
        weak_names: Collection[str] = (),
    ) -> None:
        texts = tuple(names)
        self._names = _join((entry_id, *texts))
        self._weak = sum(1 << place for place, name in enumerate(texts) if name in weak_names)
        self._identifiers = _join(identifiers)
        lines = (line for at in address_parties for line in (at.street, at.city, at.state, at.postcode, at.country))
        self._addresses = _join(line or "" for line in lines)
        self.countries, self.concerns = countries, concerns

    @property
    def id(self) -> str:
        """Its ID."""
        return self._names.partition(_SEPARATOR)[0]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, as written."""
        return tuple(self._names.split(_SEPARATOR)[1:])

    @property
    def weak_names(self) -> tuple[str, ...]:
        """The names that are too weak to search by."""
        return tuple(name for place, name in enumerate(self.names) if self.is_weak_name(place))

    def is_weak_name(self, name_position: int) -> bool:
        """Whether the name at a position is too weak to search by."""
        return bool(self._weak >> name_position & 1)

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Its identifiers."""
        return tuple(self._identifiers.split(_SEPARATOR)) if self._identifiers else ()

    @property
    def address_parties(self) -> Iterator[Party]:
        """Its addresses; a missing part is empty."""
        lines = iter(self._addresses.split(_SEPARATOR) if self._addresses else ())
        for street, city, state, postcode, country in zip(lines, lines, lines, lines, lines, strict=True):
            yield Party((), street, city, state, postcode, country)


def _join(texts: Iterable[str]) -> str:
    return _SEPARATOR.join(text.replace(_SEPARATOR, " ") for text in texts)


@dataclass(frozen=True, slots=True)
class PreparedSubject:
    """A subject to screen. ``are_countries_incomplete``: its countries may be incomplete, so only agreement counts."""

    names: tuple[PreparedName, ...]
    countries: frozenset[str] = frozenset()
    identifiers: frozenset[str] = frozenset()
    address_party: Party | None = None
    are_countries_incomplete: bool = False


@dataclass(frozen=True, slots=True)
class EntryMatch:
    """How likely a subject and an entry are the same. ``requires_review``: a reviewer must decide."""

    entry_id: str
    score: float
    requires_review: bool
    parts: tuple[ScorePart, ...]
    vetoes: tuple[Finding, ...]
    searched_name: str
    listed_name: str
