"""Language tags (RFC 5646), and choosing among offered languages (RFC 9110 12.5.4, RFC 4647 look-up)."""

import re
from collections.abc import Collection, Iterator

# Language, script, region, variants, extensions, private use: the well-formed tags of RFC 5646 2.1.
_TAG = re.compile(
    r"[a-z]{2,3}(-[a-z]{3}){0,3}(-[a-z]{4})?(-([a-z]{2}|\d{3}))?(-([a-z\d]{5,8}|\d[a-z\d]{3}))*"
    r"(-[a-wy-z\d](-[a-z\d]{2,8})+)*(-x(-[a-z\d]{1,8})+)?",
    re.IGNORECASE | re.ASCII,
)
_WEIGHT = re.compile(r"\s*;\s*q\s*=\s*(0(\.\d{0,3})?|1(\.0{0,3})?)\s*", re.IGNORECASE | re.ASCII)
_MOST_TAGS = 50

_SUCCESSORS = {"iw": "he", "ji": "yi", "in": "id", "mo": "ro", "sh": "sr", "tl": "fil"}
"""Deprecated subtags that old systems still send (IANA's registry, Preferred-Value)."""

# What readers of a language that is not offered mostly read, too (CLDR's languageMatching, its closest pairs alone).
_NEIGHBOURS = {
    neighbour: language
    for language, neighbours in {
        "ar": "arz apc ajp acm afb ary arq aeb ckb",
        "de": "gsw lb nds rm bar",
        "es": "ast ay ca eu gl gn qu",
        "fr": "br co ht oc wa",
        "it": "fur lij lmo nap pms sc scn vec",
        "nl": "fy li",
        "pl": "csb szl",
    }.items()
    for neighbour in neighbours.split()
}


def is_language_tag(tag: str) -> bool:
    """Whether the text is a well-formed language tag of at most 35 characters."""
    return len(tag) <= 35 and _TAG.fullmatch(tag) is not None


def nearest_offered_language(tag: str, offered_languages: Collection[str]) -> str | None:
    """The offered language that a tag falls back to, or None.

    Itself, then with subtags cut off its end (RFC 4647 3.4), then another region's form of the same language
    (``pt-PT`` reads ``pt-BR``), then a neighbour (``ca`` reads ``es``).
    """
    by_lower = {language.lower(): language for language in offered_languages}
    primary, rest = primary_language_of_tag(tag), tag.lower().split("-")[1:]
    for known in (primary, _NEIGHBOURS.get(primary)):
        if known is None:
            return None
        parts = [known, *rest]
        while parts:
            if found := by_lower.get("-".join(parts)):
                return found
            parts.pop()
        if others := sorted(lower for lower in by_lower if lower.split("-")[0] == known):
            return by_lower[others[0]]
    return None


def primary_language_of_tag(tag: str) -> str:
    """The language of a tag without script and region, by its current code: ``he`` for ``iw-IL``."""
    primary = tag.lower().split("-")[0]
    return _SUCCESSORS.get(primary, primary)


def region_of_language_tag(tag: str) -> str | None:
    """The two-letter region of a language tag in upper case: ``GB`` for ``en-GB``."""
    for part in tag.split("-")[1:]:
        if len(part) == 1:
            return None
        if len(part) == 2 and part.isascii() and part.isalpha():
            return part.upper()
    return None


def preferred_language_tags(accept_language: str | None) -> list[str]:
    """The well-formed tags of an Accept-Language header, most wanted first; refused (q=0) and ``*`` are left out."""
    weighted = list(_weighted_tags(accept_language or ""))
    return [tag for _, tag in sorted(weighted, key=lambda pair: -pair[0])]


def _weighted_tags(header: str) -> Iterator[tuple[float, str]]:
    for item in header[:2000].split(",")[:_MOST_TAGS]:
        tag, _, rest = item.partition(";")
        weight = _WEIGHT.fullmatch(";" + rest) if rest else None
        quality = 1.0 if not rest else float(weight[1]) if weight else 0.0
        if quality > 0 and is_language_tag(tag.strip()):
            yield quality, tag.strip()


def negotiate_language(accept_language: str | None, offered_languages: Collection[str]) -> str | None:
    """The offered language that the header likes best, or None when it likes none."""
    for tag in preferred_language_tags(accept_language):
        if found := nearest_offered_language(tag, offered_languages):
            return found
    return None
