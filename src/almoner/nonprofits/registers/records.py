"""Converts register entries into stored records and staging rows.

Pure, and called once for every row of a load.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from almoner.nonprofits.activities import service as activities
from almoner.nonprofits.organisations.domain import normalise_indexed_text
from almoner.nonprofits.registers.domain import (
    RegisterEntry,
    RegisterFileRemark,
    RegisterLink,
    RejectedRow,
    RowWithoutNumber,
)
from almoner.nonprofits.registries.domain import parse_number_key

ORGANISATION_COLUMNS: Final = (
    "registry_number",
    "name",
    "display_name",
    "secondary_name",
    "other_names",
    "description",
    "types",
    "active",
    "websites",
    "address_line_1",
    "address_line_2",
    "city",
    "state",
    "postcode",
    "registration_date",
    "group_key",
    "is_branch_parent",
    "usa_group_exempt",
    "parent_key",
    "prominence",
    "tag_ids",
    "activities",
    "search_name",
    "search_other",
    "search_description",
    "search_place",
)
"""The columns of an organisation that its source's entry fills, besides its part."""
STAGING_COLUMNS: Final = (
    "id",
    "file_position",
    "line",
    "number_key",
    "part",
    "record",
    "reason",
    *ORGANISATION_COLUMNS,
)
"""The columns of staging, in the order of a copied record."""
_COUNTED_MEMBERS: Final = tuple(
    field for field in RegisterEntry._fields if field not in {"part", "active", "facts", "until"}
)
"""The members whose fill is counted, besides the facts."""

_KEPT: Final = tuple((place, field) for place, field in enumerate(RegisterEntry._fields) if field in _COUNTED_MEMBERS)
_NO_BODY: Final = (None,) * len(ORGANISATION_COLUMNS)
SUPPLEMENTARY, NOTE, UNNUMBERED = "beside", "note", "unnumbered"
"""Values of ``part`` for rows without an entry; None for a rejected row that should have had one."""
_TO_PARENT: Final = RegisterEntry._fields.index("parent_number")
MAX_NUMBER_LENGTH: Final = 100
_LONGEST: Final = {"number": MAX_NUMBER_LENGTH, "part": 100, "name": 500}
_LONGEST_OPTIONAL: Final = {"group_key": 100, "parent_number": 100}
"""Maximum characters of indexed columns: PostgreSQL allows 2,704 bytes. Registers cut names at 250 or earlier."""
_TWO_HALVES: Final = re.compile(r"([A-Z]{1,2}[0-9][A-Z0-9]?) ?([0-9][A-Z][A-Z0-9])", re.IGNORECASE)
"""Postcodes of the United Kingdom and of Canada."""
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
_NUL: Final = b"\\u0000"


def serialise_entry(entry: RegisterEntry) -> dict[str, Any]:
    """An entry's non-empty members and facts, as stored."""
    record: dict[str, Any] = {field: entry[place] for place, field in _KEPT if entry[place]}
    if not entry.active:
        record["active"] = False
    if entry.usa_group_exempt is False:
        record["usa_group_exempt"] = False
    if entry.facts:
        record["facts"] = entry.facts
    return record


def parse_register_record(register_part: str, record: Mapping[str, Any]) -> RegisterEntry:
    """The entry that a stored record was built from. ``register_part``: the part of the register that lists it."""
    given = dict(record)
    if isinstance(dated := given.get("registration_date"), str):
        given["registration_date"] = datetime.fromisoformat(dated)
    return RegisterEntry(part=register_part, **given)


def find_oversized_fields(entry: RegisterEntry) -> dict[str, str]:
    """Optional members that are too long to index; they are omitted."""
    found = {field: getattr(entry, field) for field in _LONGEST_OPTIONAL}
    return {field: text for field, text in found.items() if text and len(text) > _LONGEST_OPTIONAL[field]}


def build_staging_row_or_problem(
    registry_code: str,
    entry: RegisterEntry,
    record: Mapping[str, Any],
    new_id: UUID | None,
    file_position: int,
    line_number: int,
) -> tuple[Any, ...] | str:
    """The staging row of an entry, or a sentence why it cannot be stored.

    ``new_id``: of the organisation, if it is new; None if the source creates none.
    """
    text = _encode(record)
    if _NUL in text:
        return "the row holds NUL"
    if long := [field for field, most in _LONGEST.items() if len(getattr(entry, field) or "") > most]:
        return f"its {' and '.join(long)} is longer than any that a register has"
    number = entry.number
    key = parse_number_key(registry_code, number) or number
    if new_id is None:
        return (None, file_position, line_number, key, entry.part, text.decode(), None, *_NO_BODY)
    parent = entry.parent_number
    tags = activities.derive_tags_of_register_entry(registry_code, entry)
    others, description = " ".join(filter(None, (entry.secondary_name, *entry.other_names))), entry.description
    return (
        new_id,
        file_position,
        line_number,
        key,
        entry.part,
        text.decode(),
        None,
        number,
        *entry[2:_TO_PARENT],
        (parse_number_key(registry_code, parent) or parent) if parent else None,
        entry.prominence,
        tags.tag_ids,
        _encode(tags.rules_by_sub_tag).decode() if tags.rules_by_sub_tag else None,
        normalise_indexed_text(entry.name),
        normalise_indexed_text(others) if others else "",
        normalise_indexed_text(description) if description else "",
        normalise_indexed_text(f"{entry.city or ''} {entry.state or ''} {_postcode_words(entry.postcode)}"),
    )


def _postcode_words(postcode: str | None) -> str:
    """A postcode's search words: of ``YO1 1AA`` the first half, and the whole with or without the space."""
    if postcode is None or (halves := _TWO_HALVES.fullmatch(postcode)) is None:
        return postcode or ""
    return f"{halves[1]} {halves[2]} {halves[1]}{halves[2]}"


def build_staging_row_from_record(
    number_key: str, register_part: str, record: Mapping[str, Any], line_number: int
) -> tuple[Any, ...]:
    """The staging row of a record that is stored already, for a rollback."""
    return (None, 0, line_number, number_key, register_part, _encode(record).decode(), None, *_NO_BODY)


def build_rejected_staging_row(row: RejectedRow, file_position: int) -> tuple[Any, ...]:
    """The staging row of a rejected row, with its number or name."""
    part = None if row.lists_organisation else SUPPLEMENTARY
    return (
        None,
        file_position,
        row.line_number,
        None,
        part,
        _without_nul(row.content),
        row.reason,
        *_identity_columns(row.number_key, row.organisation_name),
    )


def build_remark_staging_row(remark: RegisterFileRemark, file_position: int) -> tuple[Any, ...]:
    """The staging row of a remark about the files."""
    return (None, file_position, 0, None, NOTE, "", _without_nul(remark.text), *_NO_BODY)


def build_unnumbered_staging_row(row: RowWithoutNumber, file_position: int) -> tuple[Any, ...]:
    """The staging row of a row without a number."""
    return (
        None,
        file_position,
        row.line_number,
        None,
        UNNUMBERED,
        "",
        "the row has no number",
        *_identity_columns(None, row.organisation_name),
    )


def _identity_columns(number: str | None, name: str) -> tuple[Any, ...]:
    return (_without_nul(number) if number else None, _name_key(name), *_NO_BODY[2:])


def _name_key(name: str) -> str | None:
    """A name in the form compared with those of missing organisations."""
    return _without_nul(name[: _LONGEST["name"]]) or None


def _without_nul(text: str) -> str:
    return text.replace("\0", "\ufffd")


def build_link_staging_row(link: RegisterLink, file_position: int, line_number: int) -> tuple[Any, ...]:
    """The staging row of a link between numbers."""
    return (None, file_position, line_number, None, None, _encode(link).decode(), None, *_NO_BODY)


def parse_staged_link(text: str) -> RegisterLink:
    """The link in a staging row."""
    kind, registry_code, number, to_registry_code, to_number, at, part = _decode(text)
    day = datetime.fromisoformat(at) if at else None
    return RegisterLink(kind, registry_code, number, to_registry_code, to_number, day, part)
