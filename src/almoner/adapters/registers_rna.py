"""Read the national directory of associations of France (``rna_waldec``, ``rna_import``: CSV, ``;``; Licence Ouverte).

Written from the documented layout only. Of 39 columns those of the seat and the purpose are read; ``dir_civilite``, the
address of management (``adrg_*``, with the declarant's name) and ``observation`` never are. Being in the directory
means that an association was declared, not that donations to it are deductible: only those of recognised public utility
are ``nonprofit``. Alsace-Moselle has registers of its own.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from almoner.adapters.registers_tables import DelimitedTable, TableRow
from almoner.adapters.registers_values import (
    ValueReader,
    clean_text,
    distinct_other_names,
    drop_empty_facts,
    format_date,
    format_rejected_row_content,
    parse_websites,
    redact_non_numeric_text,
    strip_contact_details,
    two_line_address,
)
from almoner.nonprofits.registers import ports as registers_ports
from almoner.nonprofits.registers.domain import RegisterEntry, RegisterLink, RejectedRow, RowWithoutNumber
from almoner.nonprofits.registers.ports import SourceFile

NEEDED: Final = (
    "id",
    "id_ex",
    "siret",
    "date_creat",
    "nature",
    "groupement",
    "titre",
    "objet",
    "objet_social1",
    "adrs_numvoie",
    "adrs_libvoie",
    "adrs_codepostal",
    "adrs_libcommune",
    "siteweb",
    "position",
)
_OPTIONAL: Final = (
    "rup_mi",
    "gestion",
    "date_publi",
    "date_disso",
    "titre_court",
    "objet_social2",
    "adrs_complement",
    "adrs_repetition",
    "adrs_typevoie",
    "adrs_distrib",
)
_POSITIONS: Final = {"A": True, "D": False, "S": False}
"""Active, dissolved, deleted."""

_WALDEC: Final = re.compile(r"W[0-9][0-9A-Z][0-9A-Z]{7}", re.ASCII)
_OLD: Final = re.compile(r"[0-9][0-9A-Z]{6,19}", re.ASCII)
"""The numbers before W numbers, which rna_import has."""
_DEPARTMENT: Final = re.compile(r"dpt_?([0-9][0-9AB][0-9]?)", re.IGNORECASE)
_FILL: Final = frozenset(("", "_", "__", "-", ".", "NULL"))
"""Placeholders in empty address columns."""


class RnaReader:
    """Reads the national files and those of single departments."""

    code = "rna"
    registry_code = "RNA"
    lists_organisations = True
    is_format_unverified = True
    has_repeated_numbers = False
    reads_files_together = False
    ignored_columns = frozenset({"gestion"})
    canary_numbers: frozenset[str] = frozenset()  # no number is certain without a real file

    def read(self, files: Sequence[SourceFile]) -> Iterator[registers_ports.SourceRow]:
        """Read the rows. Raises ImportRefused if a required column is missing."""
        for place, file in enumerate(files):
            table = DelimitedTable(file, delimiter=";", number=_WALDEC, place=place)
            needed = table.get_column_indexes(*NEEDED)
            optional = [table.find_column_index(name) for name in _OPTIONAL]
            part = register_part_from_file_name(file.name)
            table.set_key_column(needed[0], partial(_number, old=part.startswith("import")))
            reading = ValueReader(place)
            for row in table:
                if isinstance(row, RejectedRow):
                    yield row
                else:
                    yield from _row(row, needed, optional, part, place, reading)
                    yield from reading.pop_unreadable_values(row.line_number)


def register_part_from_file_name(file_name: str) -> str:
    """The part of the register that a file replaces: ``waldec``, ``import``, or ``waldec 75`` for a department."""
    kind = "import" if "import" in file_name.lower() else "waldec"
    department = _DEPARTMENT.search(file_name)
    return f"{kind} {department.group(1).upper()}" if department else kind


def _row(
    row: TableRow, needed: Sequence[int], optional: Sequence[int | None], part: str, file: int, reading: ValueReader
) -> Iterator[registers_ports.SourceRow]:
    reported = _read_columns(row, (*needed, *optional), reading)
    number, title, old = reported["id"], reported["titre"], part.startswith("import")
    if not row.fields[needed[0]].strip():
        reading.discard_unreadable_values()
        yield RowWithoutNumber(row.line_number, file, title)
    elif wrong := _row_problem(number, title, reported["position"].upper(), old=old):
        reading.discard_unreadable_values()
        content, known = (
            format_rejected_row_content(id=redact_non_numeric_text(number), titre=title),
            _number(number, old=old),
        )
        yield RejectedRow(row.line_number, wrong, content, file, known, title)
    else:
        yield from _build_entries(reported, part, reading)


def _build_entries(reported: dict[str, str], part: str, reading: ValueReader) -> Iterator[RegisterEntry | RegisterLink]:
    (
        number, before, siret, created, nature, grouping, title, purpose, topic, house, street, postcode, city, site,
        position,
    ) = [reported[name] for name in NEEDED]  # fmt: skip
    (
        recognised, managed_by, published, dissolved, short, topic_2, complement, repetition, kind, distribution,
    ) = [reported[name] for name in _OPTIONAL]  # fmt: skip
    position = position.upper()
    road = " ".join(filter(None, (house, repetition, kind, street)))
    first, second = two_line_address((road, complement, distribution))
    ended = reading.read_date("date_disso", dissolved)
    created_on, published_on = reading.read_date("date_creat", created), reading.read_date("date_publi", published)
    yield RegisterEntry(
        number=number,
        part=part,
        name=title,
        other_names=distinct_other_names(title, [short]),
        description=strip_contact_details(purpose),
        types=["nonprofit"] if recognised else ["social_impact"],
        active=_POSITIONS[position] and ended is None,
        websites=parse_websites(site),
        address_line_1=first,
        address_line_2=second,
        city=city or None,
        postcode=postcode or None,
        registration_date=created_on,
        until=ended,
        facts=drop_empty_facts(
            {
                "position": position,
                "nature": nature,
                "groupement": grouping,
                **{f"objet_social{nth}": code for nth, code in ((1, topic), (2, topic_2)) if code.strip("0")},
                "rup_mi": recognised,
                "siret": siret,
                "gestion": managed_by,
                "date_publi": format_date(published_on),
                "date_disso": format_date(ended),
            }
        ),
    )
    if before and before != number and _OLD.fullmatch(before) and _WALDEC.fullmatch(number):
        yield RegisterLink("reregistered", "RNA", before, "RNA", number, part=part)


def _read_columns(row: TableRow, places: Sequence[int | None], reading: ValueReader) -> dict[str, str]:
    """The columns of a row, without placeholders of empty address columns."""
    named = zip((*NEEDED, *_OPTIONAL), places, strict=True)
    reported = {name: row.fields[at] if at is not None else "" for name, at in named}
    filled = {name for name, text in reported.items() if name.startswith("adrs_") and _is_fill(text)}
    return reading.clean_texts_in_place({name: "" if name in filled else text for name, text in reported.items()})


def _is_fill(text: str) -> bool:
    return (text.strip() if text.isascii() else clean_text(text)) in _FILL


def _number(text: str, *, old: bool) -> str | None:
    return text if _WALDEC.fullmatch(text) or (old and _OLD.fullmatch(text)) else None


def _row_problem(number: str, title: str, position: str, *, old: bool) -> str:
    """The problem of the row; empty if there is none."""
    if _number(number, old=old) is None:
        return "the id is not W and nine digits or letters"
    if not title:
        return "the title is empty or damaged"
    return "" if position in _POSITIONS else "the position is not one of A, D, S"
