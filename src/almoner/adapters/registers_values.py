"""What registers write in many ways, read in one: days, websites, names, address lines without persons."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

_ISO: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ][0-9:.]*(?:Z|[+-][0-9:]+)?)?")
_SLASHED: Final = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})(?: [0-9:]+(?: ?[ap]m)?)?", re.IGNORECASE)
_COMPACT: Final = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_OLDEST: Final = 1000
"""Nothing is registered before this year: 0001-01-01 is how registers write that they do not know."""

_SCHEME: Final = re.compile(r"https?:/*", re.IGNORECASE)
_HOST: Final = re.compile(r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+[^\W\d_](?:[\w-]*[^\W_])(?::[0-9]{1,5})?")
_BETWEEN_SITES: Final = re.compile(r"[\s;,|]+")

_NO_LETTER: Final = re.compile(r"[\W_]+")

_CARE_OF: Final = re.compile(
    r"\s*(?:c\s*[/\\]\s*[o\-]|c/|c\.o\.|%|care\s+of\b|in\s+care\s+of\b|att(?:n|ention)?\b\s*[:.]|p[./]?a[.]?\s*[:.]|"
    r"t\.?a\.?v\.?\b|chez\b|aux\s+bons\s+soins\b|a/s\b|"
    r"(?:mr|mrs|ms|miss|dr|rev|revd|reverend|prof|professor|m\.|mm|mme|mlle|monsieur|madame|mademoiselle|dhr|mevr|mevrouw)"
    r"(?:[.:,\s]|$))",
    re.IGNORECASE,
)
"""How a line begins that names a person: care of, attention, a title; English, French, Dutch."""
_CARE_OF_BEHIND: Final = re.compile(
    r"[\s,;(]+(?:c\s?/\s?o\b|c\s?/-|care\s+of\b|att(?:n|ention)\s?[:.]|t\.a\.v\.|chez\s+(?:m|mr|mme|mlle|monsieur|madame)\b).*",
    re.IGNORECASE,
)
_MAIL: Final = re.compile(r"[^\s@,;<>()]+\s?@\s?[^\s@,;<>()]+")
_TELEPHONE: Final = re.compile(r"(?<![\w/-])(?:\+|\(?0)[0-9 ().\-]{7,18}[0-9](?![\w/])")


@lru_cache(maxsize=65536)
def iso_day(text: str) -> datetime | None:
    """``2013-06-17``, with a time or not."""
    return _day(_ISO.fullmatch(text.strip()), (1, 2, 3))


@lru_cache(maxsize=65536)
def slashed_day(text: str) -> datetime | None:
    """``17/06/2013``: day, month, year."""
    return _day(_SLASHED.fullmatch(text.strip()), (3, 2, 1))


@lru_cache(maxsize=65536)
def compact_day(text: str) -> datetime | None:
    """``20130617``."""
    return _day(_COMPACT.fullmatch(text.strip()), (1, 2, 3))


def _day(found: re.Match[str] | None, order: tuple[int, int, int]) -> datetime | None:
    if found is None:
        return None
    year, month, day = (int(found.group(nth)) for nth in order)
    if year < _OLDEST:
        return None
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def written_day(day: datetime | None) -> str | None:
    """A day as facts hold it: ``2013-06-17``."""
    return day.date().isoformat() if day else None


def websites(text: str) -> list[str]:
    """The web addresses of a column, each once, with a scheme; e-mail addresses and remarks are left out."""
    found: list[str] = []
    if "." not in text:
        return found
    for piece in _BETWEEN_SITES.split(text):
        bare = _SCHEME.sub("", piece, count=1)
        host, slash, path = bare.partition("/")
        if "@" in bare or not host.isprintable() or not _HOST.fullmatch(host) or len(piece) > 2000:
            continue
        scheme = "https" if piece[:5].lower() == "https" else "http"
        site = f"{scheme}://{host.lower()}{slash}{path}".removesuffix("/")
        if site not in found:
            found.append(site)
    return found


def without_persons(lines: Iterable[str]) -> list[str]:
    """Address lines without empty ones, those that name a person ("care of"), and what does so at the end of others."""
    tidy = [_CARE_OF_BEHIND.sub("", " ".join(each.split())) for each in lines if each]
    return [line for line in tidy if line and "@" not in line and not _CARE_OF.match(line)]


def without_contacts(text: str) -> str:
    """Free text without e-mail addresses and telephone numbers."""
    return _TELEPHONE.sub("", _MAIL.sub("", text)).strip() if "@" in text or "0" in text else text


def in_one_line(address: str) -> str | None:
    """An address that lies in one column: its pieces between commas, without persons."""
    return ", ".join(without_persons(address.split(","))) or None


def two_lines(lines: Iterable[str]) -> tuple[str | None, str | None]:
    """The address lines of a record: the first, and the rest together."""
    kept = without_persons(lines)
    return (kept[0] if kept else None), (", ".join(kept[1:]) or None)


def folded(name: str) -> str:
    """What equal names have in common: letters and digits in one case."""
    return _NO_LETTER.sub("", name.casefold())


def other_than(name: str, others: Iterable[str]) -> list[str]:
    """The names, each once, that do not repeat ``name``."""
    written = [tidy for each in others if (tidy := " ".join(each.split()))]
    if not written:
        return []
    seen = {folded(name), ""}
    kept = []
    for each in written:
        if (compared := folded(each)) not in seen:
            seen.add(compared)
            kept.append(each)
    return kept


def present(facts: dict[str, object]) -> dict[str, object]:
    """The facts that say something."""
    return {name: value for name, value in facts.items() if value}


def shown(**columns: str) -> str:
    """The content of a row for quarantine: only columns that hold no personal data."""
    return "; ".join(f"{name}={value[:200]}" for name, value in columns.items() if value)


def number_shown(text: str) -> str:
    """What stands in the place of a number, unless it may be anything else."""
    digits = sum(letter.isdecimal() for letter in text)
    return text[:40] if 2 * digits >= len(text) else "(no number)"
