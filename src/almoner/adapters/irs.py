"""Shared by readers of IRS files: numbers, addresses without persons, and its three lists without a header.

Publication 78, the revocations and the 990-N notices are published together, look alike and do not state their names,
so they are easily confused: the fields of their first lines distinguish them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import chain, islice
from typing import Final, NamedTuple

from almoner.nonprofits.registers.domain import ImportRefused, RejectedRow
from almoner.nonprofits.registers.ports import SourceFile

ENCODING: Final = "utf-8-sig"
WHOLE_PART: Final = "all"
"""The part of a list that is published as one file."""

EIN_PROBLEM: Final = "the EIN is not nine digits, or is 000000000"
_NAME_PROBLEM: Final = "the name contains characters that are not UTF-8, or NUL"

_LOOKED_AT: Final = 50
_LONGEST_KEPT: Final = 2000
_NOBODY: Final = "000000000"
# "In care of" usually names a person, wherever it is in a line; the house number or box after it is the address.
_CARE_OF: Final = re.compile(
    r"(?:^|(?<=\s))(?:C/O|C-O\b|%|ATTN\b:?|IN CARE OF\b).*?(?=\s(?:\d|P\.? ?O\b|BOX\b|STE\b|SUITE\b|APT\b|UNIT\b)|$)",
    re.IGNORECASE,
)
# Trustees and officers are in the second line of a name, mostly after a person's name: "ROE JANE TTEE".
_OFFICE: Final = (
    r"(?:TTEES?|TRUSTEES?|EXECUTORS?|CHAIRMAN|PRES(?:IDENT)?|TREAS(?:URER)?|SEC(?:RETARY|Y)?"
    r"|EXEC(?:UTIVE)? DIR(?:ECTOR)?)"
)
_OF_PERSON: Final = re.compile(rf"\b(?:CO-?)?{_OFFICE}(?: ET ?AL)?$|^(?:CO|{_OFFICE}) ", re.IGNORECASE)
_OF_BODY: Final = re.compile(
    r"\b(?:BANK|NA|TRUST CO|TRUST COMPANY|TR CO|INC|LTD|LLC|CORP|BOARD|CHURCH|AERIE)\b", re.IGNORECASE
)
_BEHIND_NAME: Final = re.compile(r"(?<=\S)\s+(?:C/O|ATTN\b).*", re.IGNORECASE)
_DAY: Final = re.compile(r"[0-9]{2}-[A-Z]{3}-[0-9]{4}")
_CODES: Final = re.compile(r"(?:[A-Z]+(?: *, *[A-Z]+)*)?")
_STATE: Final = re.compile(r"(?:[A-Z]{2})?")
_YEAR: Final = re.compile(r"[0-9]{4}", re.ASCII)


def is_ein(text: str) -> bool:
    """Whether a text is an EIN: nine ASCII digits, not all zeros. Every other prefix is accepted."""
    return len(text) == 9 and text.isascii() and text.isdigit() and text != _NOBODY


def has_invalid_characters(text: str) -> bool:
    """Whether a text contains characters that no IRS file has: undecodable bytes, or NUL."""
    return "\x00" in text or (not text.isascii() and "\ufffd" in text)


def find_row_problem(ein: str, name: str) -> str | None:
    """The problem with the two required fields of a row; None if they are valid."""
    if not is_ein(ein):
        return EIN_PROBLEM
    if not name:
        return "the name is empty"
    return _NAME_PROBLEM if has_invalid_characters(name) else None


def strip_care_of_line(text: str) -> str:
    """A line of an address or name; empty if it names a person ("care of")."""
    # Most lines contain none of these, and there are millions of lines.
    if (
        "/" in text
        or "%" in text
        or "C-O" in text
        or "TTN" in text
        or "ttn" in text
        or "ARE OF" in text
        or "are of" in text
    ):
        return " ".join(_CARE_OF.sub("", text).split())
    return text


def clean_second_name_line(text: str) -> str:
    """The second line of a name; empty if it names a person, such as a trustee."""
    stored = strip_care_of_line(text)
    return "" if _OF_PERSON.search(stored) and not _OF_BODY.search(stored) else stored


def strip_care_of_suffix(name: str) -> str:
    """An organisation's name without a "care of" person at its end."""
    return _BEHIND_NAME.sub("", name) if "/" in name or "TTN" in name else name


def format_zip_code(zip_code: str) -> str | None:
    """ZIP+4 as people write it: without the extension if that is unknown; None if all of it is."""
    five, _, four = zip_code.partition("-")
    if not five.strip("0"):
        return None
    return zip_code if four.strip("0") else five


@lru_cache(maxsize=8192)
def format_iso_date(year: str, month: int, day: str) -> str | None:
    """The date as ``2017-11-15``; None if the calendar has no such day."""
    try:
        return date(int(year), month, int(day)).isoformat()
    except ValueError:
        return None


class IrsFileFormat(NamedTuple):
    """The line format of one IRS list. ``matches``: whether a line's fields have this format."""

    source: str
    title: str
    matches: Callable[[Sequence[str]], bool]


PUB78: Final = IrsFileFormat(
    "irs-pub78",
    "Publication 78",
    lambda fields: (
        6 <= len(fields) < 12
        and is_ein(fields[0])
        and _STATE.fullmatch(fields[-3].strip()) is not None
        and _CODES.fullmatch(fields[-1].strip()) is not None
    ),
)
REVOCATIONS: Final = IrsFileFormat(
    "irs-revocations",
    "the list of automatic revocations",
    lambda fields: 12 <= len(fields) < 26 and is_ein(fields[0]) and _DAY.fullmatch(fields[-3].strip()) is not None,
)
NOTICES: Final = IrsFileFormat(
    "irs-990n",
    "the list of 990-N notices",
    lambda fields: len(fields) >= 26 and is_ein(fields[0]) and _YEAR.fullmatch(fields[1].strip()) is not None,
)
_LIST_FORMATS: Final = (PUB78, REVOCATIONS, NOTICES)


def read_rows(file: SourceFile, file_format: IrsFileFormat) -> Iterator[tuple[int, list[str]]]:
    """(line, fields) of each line that is not blank.

    Raises ImportRefused if the file is not in ``file_format``, is empty, or ends in the middle of a line.
    """
    numbered = _lines(file)
    first = list(islice(numbered, _LOOKED_AT))
    _check_format(file, file_format, [fields for _, fields, _ in first])
    for line, fields, ended in chain(first, numbered):
        if not ended and not file_format.matches(fields):
            raise ImportRefused(f"{file.name} ends in the middle of line {line}: it was cut off, download it again")
        yield line, fields


def _lines(file: SourceFile) -> Iterator[tuple[int, list[str], bool]]:
    for nth, text in enumerate(file.lines(ENCODING), start=1):
        bare = text.rstrip("\r\n")
        if bare and not bare.isspace():
            yield nth, bare.split("|"), bare != text


def _check_format(file: SourceFile, form: IrsFileFormat, first: Sequence[Sequence[str]]) -> None:
    if not first:
        raise ImportRefused(f"{file.name} is empty: download it again")
    if sum(form.matches(fields) for fields in first) * 2 > len(first):
        return
    for other in _LIST_FORMATS:
        if other is not form and sum(other.matches(fields) for fields in first) * 2 > len(first):
            raise ImportRefused(
                f"{file.name} is {other.title}, not {form.title}: "
                f"load it with `almoner registers import {other.source}`"
            )
    raise ImportRefused(
        f"{file.name} is not {form.title}, or its format has changed: {explain_unknown_format('|'.join(first[0]))}"
    )


def explain_unknown_format(first_line: str) -> str:
    """The guessed format of a file by its first line, for the sentence that refuses it."""
    if not first_line:
        return "it is empty"
    if "\x00" in first_line or "\ufffd" in first_line:
        return "it is not UTF-8 text; if it is UTF-16, save it as UTF-8"
    if first_line.lstrip().startswith(("<", "{")):
        return "it is a web page or an error message from a server; download the file again"
    if first_line.upper().startswith("EIN,"):
        return "it is a business master file, to be loaded with `almoner registers import irs-bmf`"
    if first_line.startswith("PK"):
        return "it is a zip without its ending .zip"
    return "check its first lines, or download it again"


def build_rejected_row(
    line_number: int,
    reason: str,
    fields: Sequence[str],
    *,
    file_index: int,
    entered_ein: str = "",
    organisation_name: str = "",
) -> RejectedRow:
    """The quarantined form of a row: only fields that are certainly not personal, its number and its name."""
    safe = [field for field in map(strip_care_of_line, fields) if "@" not in field]
    content = "|".join(safe)[:_LONGEST_KEPT].replace("\x00", "\ufffd")
    ein, called = (
        entered_ein if is_ein(entered_ein) else None,
        "" if has_invalid_characters(organisation_name) else strip_care_of_suffix(organisation_name),
    )
    return RejectedRow(line_number, reason, content, file_index, ein, called)


def find_leading_numbers_of_malformed_row(fields: Sequence[str]) -> list[str]:
    """The leading field of a row whose fields are misplaced, if it is a number."""
    first = fields[0].strip() if fields else ""
    return [first] if first.isascii() and first.isdigit() else []
