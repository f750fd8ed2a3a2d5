"""Normalise values that registers write in many ways: dates, websites, names, address lines without persons."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from html.entities import html5
from typing import Final, TypeVar

from almoner.kit.text import clean_line
from almoner.nonprofits.registers.domain import UnreadableValue

_Known = TypeVar("_Known")

_ISO: Final = re.compile(
    r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})(?:[T ][0-9:.]*(?: ?[ap]m)?(?: ?(?:Z|UTC|GMT)|[+-][0-9:]+)?)?",
    re.IGNORECASE,
)
_SLASHED: Final = re.compile(r"([0-9]{1,2})([/.])([0-9]{1,2})\2([0-9]{4})(?: [0-9:]+(?: ?[ap]m)?)?", re.IGNORECASE)
_COMPACT: Final = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_OLDEST, _LATEST = 1000, 2200
_NO_DAY: Final = re.compile(r"0001-01-01.*|0?1/0?1/0001.*|00010101|0+")
"""How registers write an unknown date."""
_WORDED: Final = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?[ -]([^\W\d_]{3,9}),?[ -]([0-9]{4})", re.IGNORECASE)
_MONTH_FIRST: Final = re.compile(r"([^\W\d_]{3,9}) ([0-9]{1,2})(?:st|nd|rd|th)?,? ([0-9]{4})", re.IGNORECASE)
_MONTHS: Final = {
    name[:length]: number
    for number, name in enumerate(
        "january february march april may june july august september october november december".split(), 1
    )
    for length in (3, len(name))
} | {"sept": 9}
_AMOUNT: Final = re.compile(
    r"(-?)[£$€]? ?(-?)([0-9]{1,3}(?:[, \u00a0\u202f][0-9]{3})+|[0-9]{1,15})(?:\.[0-9]*)?", re.ASCII
)
_NO_DIGIT: Final = re.compile(r"[^0-9]")
_ENTITY: Final = re.compile(r"&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_NOTHING: Final = frozenset(("", "-", "--", ".", "?", "n/a", "nan", "nil", "none", "null", "#n/a", "(null)", "\\n"))
"""Texts that registers use for an empty value."""
_DAY_LIKE: Final = re.compile(r"[0-9]{1,4}([-/.])[0-9]{1,2}\1[0-9]{1,4}", re.ASCII)
_SHOWN: Final = re.compile(r"[^\s@]{1,20}")

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
"""The start of a line that names a person: care of, attention, a title; English, French, Dutch."""
_CARE_OF_BEHIND: Final = re.compile(
    r"[\s,;(]+(?:c\s?/\s?o\b|c\s?/-|care\s+of\b|att(?:n|ention)\s?[:.]|t\.a\.v\.|chez\s+(?:m|mr|mme|mlle|monsieur|madame)\b).*",
    re.IGNORECASE,
)
_MAIL: Final = re.compile(r"[^\s@,;<>()]+\s?@\s?[^\s@,;<>()]+")
_TELEPHONE: Final = re.compile(r"(?<![\w/-])(?:\+|\(?0)[0-9 ().\-]{7,18}[0-9](?![\w/])")


@lru_cache(maxsize=65536)
def parse_iso_date(text: str) -> datetime | None:
    """Parse ``2013-06-17`` or ``2013/6/17``, with a time or without; None if it is neither."""
    return _date_of_match(_ISO.fullmatch(text.strip()), (1, 3, 4))


@lru_cache(maxsize=65536)
def parse_day_month_year_date(text: str) -> datetime | None:
    """Parse ``17/06/2013`` or ``17.06.2013`` (day, month, year); None if it is neither."""
    return _date_of_match(_SLASHED.fullmatch(text.strip()), (4, 3, 1))


@lru_cache(maxsize=65536)
def parse_compact_date(text: str) -> datetime | None:
    """Parse ``20130617``; None if it is not one."""
    return _date_of_match(_COMPACT.fullmatch(text.strip()), (1, 2, 3))


@lru_cache(maxsize=65536)
def parse_month_name_date(text: str) -> datetime | None:
    """Parse ``17 June 2013``, ``17-JUN-2013`` or ``June 17, 2013``; None if it is none of them."""
    if found := _WORDED.fullmatch(text.strip()):
        day, month, year = found.groups()
    elif found := _MONTH_FIRST.fullmatch(text.strip()):
        month, day, year = found.groups()
    else:
        return None
    number = _MONTHS.get(month.casefold())
    return _date_of(int(year), number, int(day)) if number else None


@lru_cache(maxsize=65536)
def parse_date(text: str) -> datetime | None:
    """A date in any format that registers use; in numeric dates with slashes, the day comes first."""
    return (
        parse_iso_date(text)
        or parse_day_month_year_date(text)
        or parse_month_name_date(text)
        or parse_compact_date(text)
    )


def _date_of_match(found: re.Match[str] | None, order: tuple[int, int, int]) -> datetime | None:
    if found is None:
        return None
    year, month, day = (int(found.group(nth)) for nth in order)
    return _date_of(year, month, day)


def _date_of(year: int, month: int, day: int) -> datetime | None:
    if not _OLDEST <= year <= _LATEST:
        return None
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def is_missing_date(text: str) -> bool:
    """Whether a text is how registers write an unknown date."""
    return not text or _NO_DAY.fullmatch(text) is not None


def format_date(at: datetime | None) -> str | None:
    """A date as stored in facts: ``2013-06-17``."""
    return at.date().isoformat() if at else None


@lru_cache(maxsize=65536)
def parse_whole_amount(text: str) -> int | None:
    """A whole amount without its fraction: ``1234``, ``1,234``, ``£1 234.50``; None if it is not an amount."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None or (found.group(1) and found.group(2)):
        return None
    number = int(_NO_DIGIT.sub("", found.group(3)))
    return -number if found.group(1) or found.group(2) else number


def clean_text(text: str) -> str:
    """A text on one line, trimmed, without repeated spaces and invisible characters; NUL stays.

    HTML entities are decoded, in any case: ``FRIENDS &AMP; FAMILIES``.
    """
    if "&" in text:
        text = _ENTITY.sub(_decode_entity, _ENTITY.sub(_decode_entity, text))  # many are encoded twice
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    return "\x00".join(map(clean_line, text.split("\x00")))


def _decode_entity(found: re.Match[str]) -> str:
    name = found[1]
    if name.startswith("#"):
        return html.unescape(found[0].lower())
    if (sign := html5.get(f"{name};")) is None and (sign := html5.get(f"{name.lower()};")) is not None:
        return sign.upper()
    return sign or found[0]


def has_invalid_characters(text: str) -> bool:
    """Whether a text contains undecodable bytes or NUL."""
    return "\x00" in text or (not text.isascii() and "\ufffd" in text)


def is_empty_value_placeholder(text: str) -> bool:
    """Whether a text is a placeholder for an empty value."""
    return text.casefold() in _NOTHING


class ValueReader:
    """Reads the optional values of one file's rows; unreadable ones are None, and reported with their row."""

    def __init__(self, place: int = 0) -> None:
        self._place = place
        self._lost: list[tuple[str, str]] = []

    def report_unreadable_value(self, column: str, text: str) -> None:
        """Report that the value of a column cannot be read."""
        self._lost.append((column, text))

    def read_date(self, column: str, text: str) -> datetime | None:
        """Read a date in any format; None if it is empty or unreadable."""
        if not text or (found := parse_date(text)) is not None:
            return found if text else None
        if not is_missing_date(text):
            self.report_unreadable_value(column, text)
        return None

    def read_whole_amount(self, column: str, text: str) -> int | None:
        """Read a whole amount; None if it is empty or unreadable."""
        if not text:
            return None
        if (found := parse_whole_amount(text)) is None:
            self.report_unreadable_value(column, text)
        return found

    def read_choice(self, column: str, text: str, values_by_text: Mapping[str, _Known]) -> _Known | None:
        """The meaning of a value, ignoring case."""
        if not text:
            return None
        if (found := values_by_text.get(text.casefold())) is None:
            self.report_unreadable_value(column, text)
        return found

    def clean_texts_in_place(self, texts_by_column: dict[str, str]) -> dict[str, str]:
        """The cleaned values by column; empty if they are damaged or placeholders."""
        for column, text in texts_by_column.items():
            if text:
                texts_by_column[column] = self.read_text(column, text)
        return texts_by_column

    def read_text(self, column: str, text: str) -> str:
        """The cleaned text of one column; empty if it is damaged or a placeholder."""
        if "&" in text or " " in text or not text.isascii() or not text.isprintable():
            text = clean_text(text)
        if text and (has_invalid_characters(text) or is_empty_value_placeholder(text)):
            self.report_unreadable_value(column, text)
            return ""
        return text

    def pop_unreadable_values(self, line_number: int) -> Iterator[UnreadableValue]:
        """The unreadable values of the row in this line."""
        if self._lost:
            lost, self._lost = self._lost, []
            for column, text in lost:
                yield UnreadableValue(line_number, column, redact_unreadable_value(text), self._place)

    def discard_unreadable_values(self) -> None:
        """Drop the unreadable values of a row that is rejected as a whole."""
        self._lost.clear()


def redact_unreadable_value(text: str) -> str:
    """An unreadable value without anything that may be a person or a contact detail."""
    if is_empty_value_placeholder(text):
        return text
    if _DAY_LIKE.fullmatch(text) or (
        _SHOWN.fullmatch(text) and any(map(str.isdecimal, text)) and not _TELEPHONE.fullmatch(text)
    ):
        return text.replace("\x00", "\ufffd")
    return f"(a text of {len(text)} characters)"


def parse_websites(text: str) -> list[str]:
    """The web addresses of a column, each once, with a scheme; email addresses and remarks are left out."""
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


def drop_care_of_lines(lines: Iterable[str]) -> list[str]:
    """Address lines without empty ones and without persons ("care of")."""
    tidy = [_CARE_OF_BEHIND.sub("", " ".join(each.split())) for each in lines if each]
    return [line for line in tidy if line and "@" not in line and not _CARE_OF.match(line)]


def strip_contact_details(text: str) -> str:
    """Free text without email addresses and telephone numbers."""
    return _TELEPHONE.sub("", _MAIL.sub("", text)).strip() if "@" in text or "0" in text else text


def single_line_address(address: str) -> str | None:
    """An address from one column: its comma-separated parts, without persons."""
    return ", ".join(drop_care_of_lines(address.split(","))) or None


def two_line_address(lines: Iterable[str]) -> tuple[str | None, str | None]:
    """The address lines of a record: the first, and the rest together."""
    stored = drop_care_of_lines(lines)
    return (stored[0] if stored else None), (", ".join(stored[1:]) or None)


def fold_name_for_comparison(name: str) -> str:
    """A name reduced to letters and digits in one case, for comparison."""
    return _NO_LETTER.sub("", name.casefold())


def distinct_other_names(name: str, other_names: Iterable[str]) -> list[str]:
    """The names, each once, that do not repeat ``name``."""
    written = [tidy for each in other_names if (tidy := " ".join(each.split()))]
    if not written:
        return []
    seen = {fold_name_for_comparison(name), ""}
    stored = []
    for each in written:
        if (compared := fold_name_for_comparison(each)) not in seen:
            seen.add(compared)
            stored.append(each)
    return stored


def drop_empty_facts(facts: dict[str, object]) -> dict[str, object]:
    """The facts that are not empty."""
    return {name: value for name, value in facts.items() if value}


def format_rejected_row_content(**columns: str) -> str:
    """The quarantined content of a row: only columns without personal data."""
    return "; ".join(f"{name}={value[:200]}" for name, value in columns.items() if value)


def redact_non_numeric_text(text: str) -> str:
    """A masked number, unless the text may be something else."""
    digits = sum(letter.isdecimal() for letter in text)
    return text[:40] if 2 * digits >= len(text) else "(no number)"
