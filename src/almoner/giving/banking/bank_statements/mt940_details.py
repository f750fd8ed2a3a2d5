"""Field 86 of MT940: banks' details of an entry, in their dialects; pure.

The dialect is detected for each field, never by bank: banks change dialects, and mix them in one file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from almoner.giving.banking.bank_statements import movements

_SUBFIELDS: Final = re.compile(r"(\d{3})?\s*([^\w\s/])\d{2}", re.ASCII)
"""The German form: a business code, and two-digit subfields after a separator."""
_PURPOSE: Final = (*(f"{at}" for at in range(20, 30)), *(f"{at}" for at in range(60, 66)))
_PARTIES: Final = ("32", "33")
_SEPA_TAG: Final = re.compile(
    r"(EREF|KREF|MREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|IBAN|BIC|PURP|MDAT|MTLG)(?:\+|:\s)\s*", re.ASCII
)
_SLASHED: Final = re.compile(r"\s*/[A-Z]{2,5}/", re.ASCII)
_SLASH_CODE: Final = re.compile(
    r"/(TRTP|TRCD|EREF|PREF|IREF|RREF|MARF|CSID|BENM|ORDP|NAME|ACCT|CNTP|IBAN|BIC|BA|REMI|RTRN|ISDT|PURP|SVCL|ULTC|"
    r"ULTD|ULTB|CDTRREFTP|CDTRREF|OCMT|EXCH|CHGS)/",
    re.ASCII,
)
_LABELS: Final = re.compile(
    r"(?:^|[;\s])(OD|DLA|TYT\.|NAAM|NAME|AUFTRAGGEBER|MITTEILUNGEN|ABSENDER|OMSCHRIJVING|REMIT|TNR|ID IPH|Z RACH\.)"
    r"\s*:\s*",
    re.ASCII,
)
_NAMED_BY: Final = frozenset({"OD", "DLA", "NAAM", "NAME", "AUFTRAGGEBER", "ABSENDER"})
_RETURNS: Final = frozenset({"059", "108", "109", "159"})
"""The German banks' business codes for returns."""
_NS_LINE: Final = re.compile(r"(?:^|\n)(?::NS:)?(\d{2})([^\n]*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class EntryDetails:
    """The parsed details (field 86) of an MT940 entry."""

    remittance_texts: Sequence[str] = ()
    end_to_end_id: str | None = None
    counterparty_name: str | None = None
    return_reason: str | None = None


def parse_details(fields: Sequence[str], *, is_incoming: bool) -> EntryDetails:
    """Parse the 86 fields of an entry in any dialect. ``is_incoming``: it is incoming money."""
    numbered = [one for one in fields if one.startswith(":NS:")]
    written = [one for one in fields if not one.startswith(":NS:")]
    if numbered and not written:
        return _numbered("\n".join(numbered))
    dense = "".join(written).replace("\n", "").lstrip()
    if (parted := _SUBFIELDS.match(dense)) and (details := _subfields(dense, parted[1] or "", parted[2])):
        return details
    if _SLASHED.match(dense):
        return _slashed(dense, incoming=is_incoming)
    return _free_text(" ".join(" ".join(written).split()), dense)


def _numbered(text: str) -> EntryDetails:
    parts = [(int(at), value.strip()) for at, value in _NS_LINE.findall(text)]
    words = " ".join(value for at, value in parts if at <= 14)
    return EntryDetails(
        [words] if words else [], None, " ".join(value for at, value in parts if at in (15, 16)) or None
    )


def _subfields(text: str, code: str, mark: str) -> EntryDetails | None:
    """The details in the German form; None if a payer's text, such as a phone number, only begins like it."""
    parts: dict[str, str] = {}
    for part in re.split(f"{re.escape(mark)}(?=\\d{{2}})", text)[1:]:
        parts[part[:2]] = parts.get(part[:2], "") + part[2:]
    purpose = "".join(parts.get(at, "") for at in _PURPOSE)
    tags = _tagged(_SEPA_TAG, purpose)
    name = " ".join(parts[at].strip() for at in _PARTIES if parts.get(at, "").strip())
    if not purpose and "00" not in parts and not (code and name):
        return None
    reason = tags.get("MTLG") or parts.get("00", "") if code in _RETURNS else None
    texts = [tags.get("SVWZ", ""), tags.get("KREF", ""), purpose]
    return EntryDetails(
        [" ".join(one.split()) for one in texts if one.strip()],
        movements.reference_unless_placeholder(tags.get("EREF")),
        name or None,
        reason or None,
    )


def _tagged(tag: re.Pattern[str], text: str) -> dict[str, str]:
    """The text after each tag; the first of each."""
    found: dict[str, str] = {}
    marks = list(tag.finditer(text))
    ends = [*(following.start() for following in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):
        found.setdefault(mark[1], text[mark.end() : end].strip())
    return found


def _slashed(text: str, *, incoming: bool) -> EntryDetails:
    # The slash that ends a code also begins the next one.
    tags = _tagged(_SLASH_CODE, re.sub(r"/(?=/[A-Z]{2,9}/)", "/ ", text.replace("//", "/ /")))
    party = tags.get("CNTP", "").split("/")
    name = (
        tags.get("NAME", "").strip("/ ")
        or (party[2] if len(party) > 2 else "")
        or tags.get("ORDP" if incoming else "BENM", "")
    )
    end_to_end = tags.get("EREF", "").strip("/ ")
    remitted = tags.get("REMI", "").strip("/ ")
    return EntryDetails(
        [one for one in (remitted, tags.get("CDTRREF", "").strip("/ "), text) if one],
        movements.reference_unless_placeholder(end_to_end),
        name.strip("/ ") or None,
        tags.get("RTRN", "").strip("/ ") or None,
    )


def _free_text(text: str, dense: str) -> EntryDetails:
    marks = _tagged(_LABELS, text)
    name = next((value for label, value in marks.items() if label in _NAMED_BY), None)
    tags = _tagged(_SEPA_TAG, text)
    cut = dense if dense.split() != text.split() else ""
    return EntryDetails(
        [one for one in (marks.get("TYT.", "").strip(" ;"), tags.get("SVWZ", ""), text, cut) if one],
        movements.reference_unless_placeholder(tags.get("EREF")),
        name.strip(" ;") if name else None,
    )
