"""Registries: the official registers that organisations are entered in, and how each writes its identifiers.

The patterns are those of the registers' own numbering after clean-up. A number is kept as its register writes it;
its *key*
is what two spellings of one number have in common, and what is looked up.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

_DASHES: Final = "-\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_INVISIBLE: Final = "\u200b\u200c\u200d\u2060\ufeff"
_DROPPED: Final = str.maketrans("", "", "./_" + _INVISIBLE)
_HYPHENS: Final = str.maketrans(dict.fromkeys(_DASHES, "-"))


@dataclass(frozen=True, slots=True)
class Registry:
    """One register. ``data_as_of`` is the day (00:00 UTC) of its newest data here, None while it is not loaded."""

    id: UUID
    code: str
    name: str
    english_name: str
    country_code: str
    data_as_of: datetime | None


@dataclass(frozen=True, slots=True)
class _Numbering:
    """``pattern`` holds for the number without separators; group 1 is the key where there is more to the pattern."""

    pattern: re.Pattern[str]
    refused: frozenset[str] = frozenset()
    keeps_hyphens: bool = False

    def key(self, text: str) -> str | None:
        cleaned = text
        found = self.pattern.fullmatch(text)  # most numbers come clean, and there are millions of them
        if found is None:
            cleaned = _clean(text, keep_hyphens=self.keeps_hyphens)
            found = self.pattern.fullmatch(cleaned)
        if found is None:
            return None
        key = found.group(1) if found.re.groups else cleaned
        return None if key in self.refused else key


_NUMBERINGS: Final[Mapping[str, _Numbering]] = {
    # Our own check of EINs: no check digit, and prefix 00 is in use (python-stdnum refuses real ones).
    "IRS": _Numbering(re.compile(r"(?:US)?(?:EIN:?#?)?([0-9]{9})", re.ASCII), refused=frozenset({"000000000"})),
    # -n: a linked charity.
    "CCEW": _Numbering(re.compile(r"(?:GB-?CHC-?)?([0-9]{6,7}(?:-[0-9]+)?)", re.ASCII), keeps_hyphens=True),
    "OSCR": _Numbering(re.compile(r"SC[0-9]{6}", re.ASCII)),
    "CCNI": _Numbering(re.compile(r"(?:NIC)?([0-9]{6})", re.ASCII)),
    "HMRC": _Numbering(re.compile(r"[A-Z]{1,2}[0-9]{1,7}", re.ASCII)),
    "ACNC": _Numbering(re.compile(r"(?:ABN)?([0-9]{11})", re.ASCII)),
    "CRA": _Numbering(re.compile(r"[0-9]{9}RR[0-9]{4}", re.ASCII)),
    "CRI": _Numbering(re.compile(r"(?:RCN)?(20[0-9]{6})", re.ASCII)),
    "NZCS": _Numbering(re.compile(r"CC[0-9]{5}", re.ASCII)),
    "ANBI": _Numbering(re.compile(r"[0-9]{9}", re.ASCII)),
    "RNA": _Numbering(re.compile(r"W[0-9A-Z]{9}", re.ASCII)),
    "CNPJ": _Numbering(re.compile(r"[0-9A-Z]{12}[0-9]{2}", re.ASCII)),
    "RFC": _Numbering(re.compile(r"[A-ZÑ&]{3}[0-9]{6}[0-9A-Z]{3}", re.ASCII)),
    "COC": _Numbering(re.compile(r"[0-9A-Z]{9,10}", re.ASCII)),
    "NPO": _Numbering(re.compile(r"([0-9]{4,6})(?:NPO)?", re.ASCII)),
    "FCRA": _Numbering(re.compile(r"[0-9]{9}", re.ASCII)),
    "ZER": _Numbering(re.compile(r"[0-9A-Z]{4,30}", re.ASCII)),
}


def _clean(text: str, *, keep_hyphens: bool = False) -> str:
    joined = "".join(text.translate(_HYPHENS).translate(_DROPPED).split()).upper()
    return joined if keep_hyphens else joined.replace("-", "")


def number_key(code: str, text: str) -> str | None:
    """The key of a number in any spelling of the register ``code``; None when it is no number of that register."""
    numbering = _NUMBERINGS.get(code)
    return numbering.key(text) if numbering else _clean(text) or None


def number_keys(text: str) -> list[str]:
    """Every key that the text may stand for in any register, for a look-up that names none."""
    keys = {numbering.key(text) for numbering in _NUMBERINGS.values()} | {_clean(text), _clean(text, keep_hyphens=True)}
    return sorted(key for key in keys if key)


def written(code: str, number: str) -> str:
    """A number as people write it: EINs with their hyphen."""
    return f"{number[:2]}-{number[2:]}" if code == "IRS" and len(number) == 9 else number


def named(registry: Registry, text: str) -> bool:
    """Whether the text is the registry's code or one of its names, in any case."""
    folded = text.strip().casefold()
    return folded in {registry.code.casefold(), registry.name.casefold(), registry.english_name.casefold()}
