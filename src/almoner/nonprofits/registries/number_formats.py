"""The number formats of registries, and normalised number keys.

Keys are stored with every organisation, so the key of a stored number must not change. Check digits do not affect keys
(``identifiers`` checks them): a register may contain numbers that break its own rule.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

MAX_CHARACTERS: Final = 100
"""A longer text is not a number in any spelling."""

_DASHES: Final = "-\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_INVISIBLE: Final = "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_DROPPED: Final = str.maketrans("", "", "./_" + _INVISIBLE)
_HYPHENS: Final = str.maketrans(dict.fromkeys(_DASHES, "-"))
_MARKS: Final = str.maketrans("", "", "#:=,;()[]'\"`\u2018\u2019\u201c\u201d")
_NUMERO: Final = re.compile("№|N[°º]", re.IGNORECASE)
# 5.3E+08, or 530196605.0: a spreadsheet converted the number. Without the dot it could be another body's.
_QUANTITY: Final = re.compile(r"\s*(?:[0-9](?:[.,][0-9]+E\+?|E\+)[0-9]{1,2}|[0-9]{4,}[.,]0{1,2})\s*", re.IGNORECASE)
_LIST: Final = re.compile(rf"\s*([A-Za-z]{{2}})[{_DASHES}]([A-Za-z_]{{2,12}})[{_DASHES}](.+)", re.DOTALL)
# Labels that people write beside a number of any register: "Reg. Charity No. 1173575".
_LABELS: Final = (
    "REGISTERED|REGISTRATION|REG|CHARITY|CHARITABLE|ORGANISATION|ORGANIZATION|TAX|BUSINESS|ACCOUNT|IDENTIFICATION|"
    "IDENTIFIER|ID|NUMBER|NUMERO|NUM|NO|NR|REF"
)


@dataclass(frozen=True)
class EnteredRegistrationNumber:
    """A text normalised for parsing a number."""

    text: str

    @cached_property
    def with_hyphens(self) -> str:
        """The text with all hyphens unified."""
        return "".join(self.text.translate(_HYPHENS).translate(_DROPPED).split()).upper()

    @cached_property
    def without_hyphens(self) -> str:
        """The text without hyphens."""
        return self.with_hyphens.replace("-", "")

    @cached_property
    def without_punctuation(self) -> str:
        """The number with its hyphens and without punctuation, for a text after a label."""
        return "".join(_NUMERO.sub("NO", self.with_hyphens).translate(_MARKS).split())

    @cached_property
    def is_plausible_number(self) -> bool:
        """Whether the text can be a number."""
        return len(self.text) <= MAX_CHARACTERS and not is_number_mangled_by_spreadsheet(self.text)


@dataclass(frozen=True)
class NumberFormat:
    """The numbers of one register.

    ``pattern``: matches a number without separators, which is then its key. ``form``: the same in words. ``lists``: the
    prefixes of org-id identifiers; ``labels``: labels written beside its numbers. ``linked``: a hyphen and the number
    of a linked body may follow.
    """

    pattern: re.Pattern[str]
    form: str
    example: str
    lists: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    refused: frozenset[str] = frozenset()
    linked: bool = False
    _labelled: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        labelled = rf"(?:(?:{self.prefix_pattern})-?)*({self.pattern.pattern})(?:-?(?:{self.prefix_pattern}))*"
        object.__setattr__(self, "_labelled", re.compile(labelled, re.ASCII))

    @property
    def prefix_pattern(self) -> str:
        """What may stand before its numbers, as a pattern."""
        return "|".join([*(name.replace("_", "").replace("-", "-?") for name in self.lists), *self.labels, _LABELS])

    def parse_key(self, number_text: EnteredRegistrationNumber) -> str | None:
        """The key; None if it is no number of this register."""
        if not number_text.is_plausible_number:
            return None
        key = next((key for text in self._readings(number_text) if (key := self._read(text)) is not None), None)
        return None if key in self.refused else key

    def _read(self, text: str) -> str | None:
        found = self.pattern.fullmatch(text)
        if found is None and (labelled := self._labelled.fullmatch(text)):
            found = self.pattern.fullmatch(labelled.group(1))
        if found is None:
            return None
        return found.group(1) if found.re.groups else found.group()

    def _readings(self, spelling: EnteredRegistrationNumber) -> Iterator[str]:
        if not self.linked:
            yield spelling.without_hyphens
            yield spelling.without_punctuation.replace("-", "")
        elif not _DOUBTFUL.search(spelling.text):
            yield _MAIN.sub("", spelling.with_hyphens)
            yield _MAIN.sub("", spelling.without_punctuation)
            if not _LINKED.search(spelling.without_punctuation):
                yield spelling.without_punctuation.replace("-", "")


_LINKED: Final = re.compile(r"[0-9]{6,7}-[0-9]")
_MAIN: Final = re.compile(r"(?<=[0-9]{6})-0+$")  # linked number 0 is the main charity itself
# 117357/1 is a linked charity or a seven-digit number: ambiguous, so it is refused.
_DOUBTFUL: Final = re.compile(r"[0-9]{6,7}\s*[./_]\s*[0-9]{1,5}\s*$")


def _number_format(pattern: str, form: str, example: str, **more: object) -> NumberFormat:
    return NumberFormat(re.compile(pattern, re.ASCII), form, example, **more)  # type: ignore[arg-type]


NUMBER_FORMATS: Final[Mapping[str, NumberFormat]] = {
    # Own check of EINs: no check digit, and prefix 00 is in use (python-stdnum rejects real ones).
    "IRS": _number_format(
        "[0-9]{9}",
        "nine digits",
        "53-0196605",
        lists=("US-EIN",),
        labels=("US", "EIN", "FEIN", "TIN", "EMPLOYER", "FEDERAL", "FED"),
        refused=frozenset({"000000000"}),
    ),
    "CCEW": _number_format(
        "[1-9][0-9]{5,6}(?:-[1-9][0-9]{0,4})?",
        "six or seven digits, and for a linked charity a hyphen and its number",
        "1173575",
        lists=("GB-CHC",),
        labels=(
            *("UK", "CCEW", "RCN", "COMMISSION", "IN", "FOR", "ENGLAND", "AND", "&", "WALES", "E&W", "ELUSEN"),
            *("GOFRESTREDIG", "COMISIWN", "ELUSENNAU"),
        ),
        linked=True,
    ),
    "OSCR": _number_format(
        "SC[0-9]{6}",
        "SC and six digits",
        "SC042386",
        lists=("GB-SC",),
        labels=("SCOTTISH", "OSCR", "GB", "IN", "SCOTLAND"),
    ),
    "CCNI": _number_format(
        "[0-9]{6}",
        "six digits",
        "100019",
        lists=("GB-NIC",),
        labels=("NIC", "NI", "CCNI", "COMMISSION", "IN", "FOR", "NORTHERN", "IRELAND"),
        refused=frozenset({"000000"}),
    ),
    "HMRC": _number_format(
        "[A-Z]{1,2}[0-9]{1,7}", "one or two letters and digits", "X6243", lists=("GB-REV",), labels=("HMRC",)
    ),
    "ACNC": _number_format(
        "[0-9]{11}",
        "eleven digits, the first two of them check digits",
        "52 093 617 380",
        lists=("AU-ABN", "AU-ACNC"),
        labels=("ABN", "AUSTRALIAN", "ACNC"),
        refused=frozenset({"00000000000"}),
    ),
    "CRA": _number_format(
        "[0-9]{9}RR[0-9]{4}",
        "nine digits, the last of them a check digit, then RR and four digits",
        "119219814RR0001",
        lists=("CA-CRA_ACR",),
        labels=("BN", "NE", "CRA"),
        refused=frozenset({"000000000RR0001"}),
    ),
    "CRI": _number_format(
        "20[0-9]{6}", "eight digits beginning with 20", "20015763", lists=("IE-CHY",), labels=("RCN", "CRA", "IE")
    ),
    "NZCS": _number_format(
        "CC[0-9]{5}", "CC and five digits", "CC12345", lists=("NZ-CR",), labels=("NZ", "CHARITIES", "SERVICES")
    ),
    "ANBI": _number_format(
        "[0-9]{9}",
        "nine digits, the last of them a check digit",
        "123456782",
        labels=("RSIN", "FISCAAL", "FISCAALNUMMER", "NUMMER", "NL", "ANBI"),
        refused=frozenset({"000000000"}),
    ),
    "RNA": _number_format("W[0-9A-Z]{9}", "W and nine digits or letters", "W751001234", labels=("RNA", "FR")),
    "CNPJ": _number_format(
        "[0-9A-Z]{12}[0-9]{2}",
        "twelve digits or letters and two check digits",
        "02.326.629/0001-51",
        lists=("BR-CNPJ",),
        labels=("CNPJ",),
        refused=frozenset({"00000000000000"}),
    ),
    "RFC": _number_format(
        "[A-ZÑ&]{3}[0-9]{6}[0-9A-Z]{3}",
        "three letters, a date of six digits, and three characters, the last of them a check digit",
        "MAB9307148T4",
        lists=("MX-RFC",),
        labels=("RFC",),
    ),
    "COC": _number_format(
        "[0-9]{8}[A-Z]|[0-9]{9}[A-Z]|[RST][0-9]{2}[0-9A-Z]{2}[0-9]{4}[0-9A-Z]",
        "nine or ten characters ending in a check letter",
        "T01SS0187E",
        lists=("SG-COC",),
        labels=("UEN",),
    ),
    "NPO": _number_format(
        "([0-9]{4,6})(?:NPO)?", "four to six digits", "181-465", lists=("ZA-NPO",), labels=("NPO", "NPC")
    ),
    "FCRA": _number_format("[0-9]{9}", "nine digits", "104860017", lists=("IN-MHA",), labels=("FCRA",)),
    "ZER": _number_format("[0-9A-Z]{4,30}", "four to thirty digits or letters", "RA000220-VR8726"),
}
"""By registry code."""

_LISTS: Final = {name: code for code, numbering in NUMBER_FORMATS.items() for name in numbering.lists}


def to_ascii_digits(text: str) -> str:
    """The text with the digits of every script as 0 to 9."""
    if text.isascii():
        return text
    digits = ((character, unicodedata.digit(character, None)) for character in text)
    return "".join(character if digit is None else str(digit) for character, digit in digits)


def is_number_mangled_by_spreadsheet(text: str) -> bool:
    """Whether a spreadsheet converted the number to a quantity: 5.3E+08, 117357.0."""
    return _QUANTITY.fullmatch(text) is not None


def parse_number_key(registry_code: str, text: str) -> str | None:
    """The normalised key of a number in any spelling; None if it is not one."""
    numbering = NUMBER_FORMATS.get(registry_code)
    if numbering is None:
        return EnteredRegistrationNumber(text).without_hyphens or None
    found = numbering.pattern.fullmatch(text)  # most of millions of numbers are clean
    if found is None:
        return numbering.parse_key(EnteredRegistrationNumber(text))
    key = found.group(1) if numbering.pattern.groups else text
    return None if key in numbering.refused else key


def normalise_stored_number(registry_code: str, text: str) -> str | None:
    """The key under which loads store a number in any spelling, including former formats.

    None if it is no number, or one that was never assigned.
    """
    spelling, numbering = EnteredRegistrationNumber(text), NUMBER_FORMATS.get(registry_code)
    key = parse_number_key(registry_code, text)
    if (
        key is not None
        or not spelling.is_plausible_number
        or (numbering and spelling.without_hyphens in numbering.refused)
    ):
        return key
    return spelling.without_hyphens or None


def possible_number_keys(text: str) -> list[str]:
    """All number keys that a text may mean in any register.

    An org-id identifier (US-EIN-530196605) means one register's number only.
    """
    if (listed := parse_org_id(text)) is not None:
        key = parse_number_key(*listed)
        return [] if key is None else [key]
    spelling = EnteredRegistrationNumber(text)
    keys = {numbering.parse_key(spelling) for numbering in NUMBER_FORMATS.values()}
    if spelling.is_plausible_number:
        keys |= {spelling.without_hyphens, spelling.with_hyphens}
    return sorted(key for key in keys if key)


_MOST_LOST_ZEROS: Final = 3


def _without_zeros(code: str, before: str, width: int, behind: str) -> tuple[str, str, int, re.Pattern[str]]:
    pattern = re.compile(rf"(?:{NUMBER_FORMATS[code].prefix_pattern})*{before}([0-9]+)({behind})", re.ASCII)
    return code, before, width, pattern


_LOST_ZEROS: Final = (
    *(_without_zeros(code, "", width, "") for code, width in (("IRS", 9), ("CCNI", 6), ("ANBI", 9), ("FCRA", 9))),
    _without_zeros("CNPJ", "", 14, ""),
    _without_zeros("CRA", "", 9, "RR[0-9]{4}"),
    _without_zeros("OSCR", "SC", 6, ""),
    _without_zeros("NZCS", "CC", 5, ""),
)
"""Registers whose numbers have leading zeros: (code, letters before the digits, width, pattern with or without)."""


def number_keys_with_restored_leading_zeros(text: str) -> list[str]:
    """Number keys with the leading zeros that a spreadsheet may have removed; labels may stand before the number."""
    spelling = EnteredRegistrationNumber(text)
    if not spelling.is_plausible_number:
        return []
    padded = {
        parse_number_key(code, f"{before}{found.group(1).zfill(width)}{found.group(2)}")
        for code, before, width, pattern in _LOST_ZEROS
        if (found := pattern.fullmatch(spelling.without_punctuation.replace("-", "")))
        and 0 < width - len(found.group(1)) <= _MOST_LOST_ZEROS
    }
    return sorted(key for key in padded if key)


def org_id_prefix(text: str) -> str | None:
    """The prefix of an identifier in the form of org-id, such as US-EIN, known or not; None if it has none."""
    found = _LIST.fullmatch(text)
    return f"{found.group(1)}-{found.group(2)}".upper() if found else None


def parse_org_id(text: str) -> tuple[str, str] | None:
    """(register code, number) of an org-id identifier of a known register: US-EIN-530196605; else None."""
    name = org_id_prefix(text)
    return (_LISTS[name], text) if name in _LISTS else None


def format_registry_number(registry_code: str, number: str) -> str:
    """A number in its usual format: EINs with their hyphen, ABNs and CNPJs in groups."""
    match registry_code, len(number):
        case "IRS", 9:
            return f"{number[:2]}-{number[2:]}"
        case "ACNC", 11:
            return f"{number[:2]} {number[2:5]} {number[5:8]} {number[8:]}"
        case "CNPJ", 14:
            return f"{number[:2]}.{number[2:5]}.{number[5:8]}/{number[8:12]}-{number[12:]}"
        case "NPO", 6:
            return f"{number[:3]}-{number[3:]}"
    return number
