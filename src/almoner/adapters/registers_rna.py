"""Reads the national directory of associations of France (``rna_waldec``, ``rna_import``: CSV, ``;``; Licence Ouverte).

Written from the documented layout alone. Of 39 columns those of the seat and the purpose are read; ``dir_civilite``,
the address of management (``adrg_*``, with the declarant's name) and ``observation`` never are. Being in the directory
says that an association was declared, not that gifts to it are deductible: only those of recognised public utility
are ``nonprofit``. Alsace-Moselle keeps registers of its own.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from almoner.adapters.registers_tables import Row, Table
from almoner.adapters.registers_values import (
    iso_day,
    number_shown,
    other_than,
    present,
    shown,
    two_lines,
    websites,
    without_contacts,
    written_day,
)
from almoner.nonprofits.registers.domain import BadRow, Entry, Link, Unnumbered
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
OPTIONAL: Final = (
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
POSITIONS: Final = {"A": True, "D": False, "S": False}
"""Active, dissolved, deleted."""

_WALDEC: Final = re.compile(r"W[0-9][0-9A-Z][0-9A-Z]{7}", re.ASCII)
_OLD: Final = re.compile(r"[0-9][0-9A-Z]{6,19}", re.ASCII)
"""How bodies were numbered before W numbers; what rna_import has."""
_DEPARTMENT: Final = re.compile(r"dpt_?([0-9][0-9AB][0-9]?)", re.IGNORECASE)
_FILL: Final = frozenset(("", "_", "__", "-", ".", "NULL"))
"""What stands in an empty column of an address."""


class Rna:
    """The reader of the national files, and of those of one department each."""

    code = "rna"
    registry_code = "RNA"
    lists = True
    unverified = True
    repeats = False
    joined = False
    quiet = frozenset({"gestion"})
    canaries: frozenset[str] = frozenset()  # none is certain without a real file: most numbers must stay (guards)

    def read(self, files: Sequence[SourceFile]) -> Iterator[Entry | Link | BadRow | Unnumbered]:
        """The rows. Raises ImportRefused when a needed column is missing."""
        for place, file in enumerate(files):
            table = Table(file, delimiter=";", number=_WALDEC, place=place)
            needed = table.places(*NEEDED)
            optional = [table.place(name) for name in OPTIONAL]
            part = part_of(file.name)
            for row in table:
                if isinstance(row, BadRow):
                    yield row
                else:
                    yield from _row(row, needed, optional, part, place)


def part_of(name: str) -> str:
    """What a file replaces, by its name: ``waldec``, ``import``, or ``waldec 75`` for a department's file."""
    kind = "import" if "import" in name.lower() else "waldec"
    department = _DEPARTMENT.search(name)
    return f"{kind} {department.group(1).upper()}" if department else kind


def _row(
    row: Row, needed: Sequence[int], optional: Sequence[int | None], part: str, file: int
) -> Iterator[Entry | Link | BadRow | Unnumbered]:
    fields = row.fields
    (
        number, before, siret, created, nature, grouping, title, purpose, topic, house, street, postcode, city, site,
        position,
    ) = [fields[place].strip() for place in needed]  # fmt: skip
    (
        recognised, managed_by, published, dissolved, short, topic_2, complement, repetition, kind, distribution,
    ) = [fields[place].strip() if place is not None else "" for place in optional]  # fmt: skip
    if not number:
        yield Unnumbered(row.line, file)
        return
    if wrong := _wrong(number, title, position, old=part.startswith("import")):
        yield BadRow(row.line, wrong, shown(id=number_shown(number), titre=title), file)
        return
    road = " ".join([word for word in (house, repetition, kind, street) if word not in _FILL])
    first, second = two_lines([line for line in (road, complement, distribution) if line not in _FILL])
    ended = iso_day(dissolved)
    yield Entry(
        number=number,
        part=part,
        name=title,
        other_names=other_than(title, [short]),
        description=without_contacts(purpose),
        types=["nonprofit"] if recognised else ["social_impact"],
        active=POSITIONS[position] and ended is None,
        websites=websites(site),
        address_line_1=first,
        address_line_2=second,
        city=city or None,
        postcode=postcode or None,
        registration_date=iso_day(created),
        until=ended,
        facts=present(
            {
                "position": position,
                "nature": nature,
                "groupement": grouping,
                **{f"objet_social{nth}": code for nth, code in ((1, topic), (2, topic_2)) if code.strip("0")},
                "rup_mi": recognised,
                "siret": siret,
                "gestion": managed_by,
                **{f"date_{what}": written_day(day) for what, day in (("publi", iso_day(published)), ("disso", ended))},
            }
        ),
    )
    if before and before != number and _OLD.fullmatch(before) and _WALDEC.fullmatch(number):
        yield Link("reregistered", "RNA", before, "RNA", number, part=part)


def _wrong(number: str, title: str, position: str, *, old: bool) -> str:
    """What is wrong with the row, or nothing."""
    if not _WALDEC.fullmatch(number) and not (old and _OLD.fullmatch(number)):
        return "the id is not W and nine digits or letters"
    if not title or "\ufffd" in title:
        return "the title is empty or damaged"
    return "" if position in POSITIONS else "the position is none of A, D, S"
