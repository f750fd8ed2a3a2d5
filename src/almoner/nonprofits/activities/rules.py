"""Maps register codes to sub-tags by the tables in ``mappings.json``; pure.

Every rule has a name that states its basis, so that partners can look it up: ``ntee:B25``, ``ntee:B2* (B2Z unknown)``,
``classification:03:7``, ``foundation:10``, ``name:church``, ``ccew:102``. How each code is read, and how certain it is:
``docs/guides/activities.md``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from almoner.nonprofits.activities import domain
from almoner.nonprofits.activities.domain import NO_TAGS, AssignedTags, build_assigned_tags, load_data_file
from almoner.nonprofits.registers.domain import RegisterEntry


class AssignedSubTag(NamedTuple):
    """A sub-tag's code, and the rule that assigned it."""

    sub_tag_code: str
    rule: str


class NteeClassification(NamedTuple):
    """The sub-tags of an NTEE code, and the rule that assigned them."""

    sub_tag_codes: list[str]
    rule: str


SubTagRules = tuple[AssignedSubTag, ...]
"""The assigned sub-tags, the most certain first."""
_Table = Mapping[str, list[str]]

_MAPPINGS: Final = load_data_file("mappings.json")
VERSION: Final = max(domain.VERSION, datetime.fromisoformat(_MAPPINGS["version"])).date().isoformat()
"""The date of the last change of tags or rules."""
NTEE: Final[_Table] = _MAPPINGS["ntee"]["codes"]
NTEE_LETTERS: Final[_Table] = _MAPPINGS["ntee"]["letters"]
_SUBSECTION: Final[_Table] = _MAPPINGS["subsection"]
_CLASSIFICATION: Final[_Table] = _MAPPINGS["classification"]
_FOUNDATION: Final[_Table] = _MAPPINGS["foundation"]
_CODE_LENGTH: Final = 3


def _folded(label: str) -> str:
    return " ".join(label.split()).casefold()


_EVERY_GENDER: Final = frozenset(("females", "males", "other_gender_identities"))
"""Ticked together they mean everybody, and do not say whom a body serves."""


def _name_phrases() -> dict[str, list[tuple[tuple[str, ...], str, list[str]]]]:
    """By first word: the words that must follow, the whole phrase, its sub-tags."""
    found: dict[str, list[tuple[tuple[str, ...], str, list[str]]]] = {}
    for phrase, codes in _MAPPINGS["names"].items():
        first, *rest = phrase.split()
        found.setdefault(first, []).append((tuple(rest), phrase, codes))
    return found


_NAMES: Final = _name_phrases()
_PLAIN: Final = {ord(mark): " " for mark in '!"#$%&()*+,-./:;<=>?@[\\]^_{|}~'} | {ord(mark): "" for mark in "'`\u2019"}


def classify_ntee_code(ntee_code: str) -> NteeClassification:
    """The sub-tags of an NTEE code."""
    short = ntee_code[:_CODE_LENGTH]
    if (found := NTEE.get(short)) is not None:
        return NteeClassification(found, f"ntee:{short}")
    decile = short[:2] + "0"
    if len(short) > 1 and (found := NTEE.get(decile)) is not None:
        return NteeClassification(found, f"ntee:{short[:2]}* ({short} unknown)")
    return NteeClassification(NTEE_LETTERS.get(short[:1], []), f"ntee:{short[:1]}* ({short} unknown)")


@lru_cache(maxsize=65536)
def _tags_of_irs_codes(
    ntee: str, subsection: str, classification: str, foundation: str
) -> AssignedTags | tuple[SubTagRules, SubTagRules]:
    """The tags from the codes of one body.

    If NTEE gives none: two lists of sub-tags, the second for bodies without any other basis. The first digit of
    CLASSIFICATION is why a body is exempt. The others are further boxes that it ticked, three in four of which do not
    match its activities (docs/evidence/activities.md).
    """
    if ntee:
        codes, rule = classify_ntee_code(ntee)
        if codes:
            return build_assigned_tags(dict.fromkeys(codes, rule))
    given = [AssignedSubTag(code, f"foundation:{foundation}") for code in _FOUNDATION.get(foundation, ())]
    digits = [(digit, _CLASSIFICATION.get(f"{subsection}:{digit}", [])) for digit in classification]
    given += [
        AssignedSubTag(code, f"classification:{subsection}:{digit}") for digit, codes in digits[:1] for code in codes
    ]
    given += [AssignedSubTag(code, f"subsection:{subsection}") for code in _SUBSECTION.get(subsection, ())]
    further = [
        AssignedSubTag(code, f"classification:{subsection}:{digit} (further)")
        for digit, codes in digits[1:]
        for code in codes
    ]
    return tuple(given), tuple(further)


def classify_organisation_name(organisation_name: str) -> Iterator[AssignedSubTag]:
    """The sub-tags from words in a name."""
    words = organisation_name.lower().translate(_PLAIN).split()
    for place, word in enumerate(words):
        for rest, phrase, codes in _NAMES.get(word, ()):
            if not rest or tuple(words[place + 1 : place + 1 + len(rest)]) == rest:
                for code in codes:
                    yield AssignedSubTag(code, f"name:{phrase}")


@lru_cache(maxsize=65536)
def _assign(given: SubTagRules) -> AssignedTags:
    rules: dict[str, str] = {}
    for code, rule in given:
        rules.setdefault(code, rule)
    return build_assigned_tags(rules) if rules else NO_TAGS


def _tags_of_irs_entry(entry: RegisterEntry) -> AssignedTags:
    fact: Callable[[str, Any], Any] = entry.facts.get
    found = _tags_of_irs_codes(
        fact("NTEE_CD", ""), fact("SUBSECTION", ""), fact("CLASSIFICATION", ""), fact("FOUNDATION", "")
    )
    if isinstance(found, AssignedTags):
        return found
    given, further = found
    return _assign((*given, *classify_organisation_name(entry.name)) or further)


class _LabelTagger:
    """The tagger of a register whose bodies tick codes or labels of a list."""

    def __init__(self, prefix: str, *facts: str, flags: Iterable[str] = ()) -> None:
        self._prefix = prefix
        self._facts = facts
        self._flags = tuple(flags)
        self._table = {_folded(label): codes for label, codes in _MAPPINGS[prefix].items()}
        self._given = lru_cache(maxsize=65536)(self._rules_for)

    def __call__(self, entry: RegisterEntry) -> AssignedTags:
        """The tags from the ticked labels; without any, from the name."""
        stated = [label for fact in self._facts for label in _as_labels(entry.facts.get(fact))]
        stated += [flag for flag in self._flags if entry.facts.get(flag)]
        return _assign(self._given(tuple(stated)) or tuple(classify_organisation_name(entry.name)))

    def _rules_for(self, stated: tuple[str, ...]) -> SubTagRules:
        folded = {_folded(label) for label in stated}
        of_some = not folded >= _EVERY_GENDER
        return tuple(
            AssignedSubTag(code, f"{self._prefix}:{' '.join(label.split())}")
            for label in stated
            if of_some or _folded(label) not in _EVERY_GENDER
            for code in self._table.get(_folded(label), ())
        )


def _as_labels(value: object) -> list[str]:
    if value is None:
        return []
    return [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]


def _tags_of_name(entry: RegisterEntry) -> AssignedTags:
    return _assign(tuple(classify_organisation_name(entry.name)))


_TAGGERS: Final[Mapping[str, Callable[[RegisterEntry], AssignedTags]]] = {
    "IRS": _tags_of_irs_entry,
    "CCEW": _LabelTagger("ccew", "classification"),
    "OSCR": _LabelTagger("oscr", "purposes", "beneficiaries", "activities"),
    "CCNI": _LabelTagger("ccni", "purposes", "beneficiaries", "activities"),
    "ACNC": _LabelTagger("acnc", "purposes", "beneficiaries", flags=("PBI", "HPC")),
    "CRA": _tags_of_name,
    "CRI": _tags_of_name,
    "NZCS": _tags_of_name,
}
"""By registry code. Names are matched in English only, so that registers in other languages give no tags from names."""


def derive_tags_of_register_entry(registry_code: str, entry: RegisterEntry) -> AssignedTags:
    """The tags that follow from a register entry's codes."""
    read = _TAGGERS.get(registry_code)
    return read(entry) if read else NO_TAGS


def matching_name_rules_by_sub_tag(registry_code: str, organisation_name: str) -> Mapping[str, str]:
    """The rule for each sub-tag assigned by a word in the name."""
    if registry_code not in _TAGGERS:
        return NO_TAGS.rules_by_sub_tag
    return _assign(tuple(classify_organisation_name(organisation_name))).rules_by_sub_tag
