"""Read the register of the Australian charities commission (69 columns, looked up by name; CC BY 3.0 AU, weekly).

Organisations whose number is withheld are published without one, and revoked ones are removed from the file. The column
Other_Organisation_Names mixes names with remarks and persons, so only what cannot be a person is used: see
``other_organisation_names``. Deductible gift recipients (DGR) are in another register.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from stdnum.au import abn

from almoner.adapters.registers_tables import DelimitedTable, TableRow
from almoner.adapters.registers_values import (
    ValueReader,
    clean_text,
    distinct_other_names,
    drop_empty_facts,
    fold_name_for_comparison,
    format_date,
    format_rejected_row_content,
    parse_websites,
    redact_non_numeric_text,
    two_line_address,
)
from almoner.kit.title_case import to_title_case
from almoner.nonprofits.registers import ports as registers_ports
from almoner.nonprofits.registers.domain import RegisterEntry, RegisterLink, RejectedRow, RowWithoutNumber
from almoner.nonprofits.registers.ports import SourceFile

_NUMBER: Final = ("ABN", "CABN")
"""Older files call the number CABN."""
NAME: Final = ("Charity_Legal_Name", "Charity Legal Name")
NEEDED: Final = (
    _NUMBER,
    NAME,
    ("Town_City", "Town City"),
    "State",
    "Postcode",
    ("Registration_Date", "Registration Date"),
    ("Charity_Size", "Charity Size"),
    "PBI",
    "HPC",
)
PURPOSES: Final = (
    "Preventing_or_relieving_suffering_of_animals",
    "Advancing_Culture",
    "Advancing_Education",
    "Advancing_Health",
    "Promote_or_oppose_a_change_to_law__government_poll_or_prac",
    "Advancing_natual_environment",
    "Promoting_or_protecting_human_rights",
    "Purposes_beneficial_to_ther_general_public_and_other_analogous",
    "Promoting_reconciliation__mutual_respect_and_tolerance",
    "Advancing_Religion",
    "Advancing_social_or_public_welfare",
    "Advancing_security_or_safety_of_Australia_or_Australian_public",
)
BENEFICIARIES: Final = tuple(
    """
    Aboriginal_or_TSI Adults Aged_Persons Children Communities_Overseas Early_Childhood Ethnic_Groups Families Females
    Financially_Disadvantaged LGBTIQA+ General_Community_in_Australia Males Migrants_Refugees_or_Asylum_Seekers
    Other_Beneficiaries Other_Charities People_at_risk_of_homelessness People_with_Chronic_Illness
    People_with_Disabilities Pre_Post_Release_Offenders Rural_Regional_Remote_Communities Unemployed_Person
    Veterans_or_their_families Victims_of_crime Victims_of_Disasters Youth animals environment other_gender_identities
    """.split()
)
STATES: Final = ("ACT", "NSW", "NT", "QLD", "SA", "TAS", "VIC", "WA")
_CUT_AT: Final = 70
_PROMINENCE: Final = {"Small": 2, "Medium": 5, "Large": 7}
"""On the scale of the IRS income bands: under half a million dollars, under three, above."""
_ABN: Final = re.compile(r"[0-9]{11}", re.ASCII)
_ABN_BEFORE: Final = re.compile(r"previously known as ABN ((?:[0-9] ?){11})", re.IGNORECASE | re.ASCII)
_WORDS: Final = re.compile(r"[^\W_]+")
_NO_NAME: Final = frozenset("email e-mail phone fax mobile website web none nil na tba unknown other various".split())
_OF_ORGANISATIONS: Final = frozenset(
    """
    aboriginal academy action agency aid alliance animal anglican arts assembly assoc association associations
    auxiliary band baptist board branch brigade campaign care cathedral catholic centre center chapel charitable charity
    charities choir christian church churches circle club co coalition college commission committee community
    congregation co-operative cooperative corporation council diocese disability education endowment ensemble federation
    fellowship festival foundation friends fund gallery group groups guild health healthcare heritage historical home
    homes hospice hospital housing inc incorporated initiative institute institution international islamic kindergarten
    kindy landcare league legacy library limited lodge ltd lutheran ministries ministry mission missions mosque museum
    neighbourhood network orchestra organisation organization outreach p&c parish parents partnership playgroup
    preschool presbytery press program programme project pty radio refuge rescue research rotary school schools scouts
    seminary service services shelter shed sisterhood society surf support synagogue synod temple theatre trust trustee
    trustees union united uniting university volunteer volunteers welfare wildlife women youth
    """.split()
)
_ALSO_SURNAMES: Final = frozenset(
    "band branch care church college home league lodge parish press school temple".split()
)
"""With one of these words in a two-word name, either may be a surname."""


class AcncReader:
    """The reader of ``datadotgov_main.csv``."""

    code = "acnc"
    registry_code = "ACNC"
    lists_organisations = True
    is_format_unverified = False
    has_repeated_numbers = False
    reads_files_together = False
    ignored_columns = frozenset({"Number_of_Responsible_Persons", "Financial_Year_End"})
    # Australian Red Cross, World Vision Australia, the University of Sydney, James Cook University
    canary_numbers = frozenset({"50169561394", "28004778081", "15211513464", "46253211955"})

    def read(self, files: Sequence[SourceFile]) -> Iterator[registers_ports.SourceRow]:
        """Read the rows. Raises ImportRefused if a required column is missing."""
        for place, file in enumerate(files):
            yield from _Columns(DelimitedTable(file, number=_ABN, place=place), place).rows()


class _Columns:
    """One file, and the positions of its columns."""

    def __init__(self, table: DelimitedTable, place: int) -> None:
        self._table, self._file = table, place
        self._reading = ValueReader(place)
        self._needed = table.get_column_indexes(*NEEDED)
        table.set_key_column(self._needed[0], _parse_abn)
        self._purposes = list(zip(PURPOSES, table.get_column_indexes(*map(_spellings, PURPOSES)), strict=True))
        self._beneficiaries = self._flags(BENEFICIARIES)
        self._states = [
            (state, at) for state in STATES if (at := table.find_column_index(f"Operates_in_{state}")) is not None
        ]

    def _flags(self, names: Sequence[str]) -> list[tuple[str, int]]:
        return [(name, at) for name in names if (at := self._table.find_column_index(*_spellings(name))) is not None]

    def rows(self) -> Iterator[registers_ports.SourceRow]:
        """Convert every row."""
        optional = {name: self._table.find_column_index(name, name.replace("_", " ")) for name in _OPTIONAL}
        for row in self._table:
            if isinstance(row, RejectedRow):
                yield row
                continue
            reported = dict(zip(_NAMES, (row.fields[at] for at in self._needed), strict=True))
            reported |= {name: row.fields[at] if at is not None else "" for name, at in optional.items()}
            yield from self._row(row, self._reading.clean_texts_in_place(reported))
            yield from self._reading.pop_unreadable_values(row.line_number)

    def _row(self, row: TableRow, more: dict[str, str]) -> Iterator[registers_ports.SourceRow]:
        written_abn, name, city, state, postcode, registered, size, pbi, hpc = (more[column] for column in _NAMES)
        if not row.fields[self._needed[0]].strip():
            self._reading.discard_unreadable_values()
            yield RowWithoutNumber(row.line_number, self._file, name)
            return
        if (number := _parse_abn(written_abn)) is None:
            self._reading.discard_unreadable_values()
            reason = "the ABN is not eleven digits with a right check digit"
            content = format_rejected_row_content(ABN=redact_non_numeric_text(written_abn), Charity_Legal_Name=name)
            yield RejectedRow(row.line_number, reason, content, self._file, organisation_name=name)
            return
        if not name:
            self._reading.discard_unreadable_values()
            reason = "Charity_Legal_Name is empty or damaged"
            yield RejectedRow(row.line_number, reason, format_rejected_row_content(ABN=number), self._file, number)
            return
        written = more["Other_Organisation_Names"]
        first, second = two_line_address(more[f"Address_Line_{nth}"] for nth in (1, 2, 3))
        yield RegisterEntry(
            number=number,
            part="all",
            name=name,
            display_name=to_title_case(name) if name.isupper() else None,
            other_names=other_organisation_names(name, written),
            types=["nonprofit"],
            websites=parse_websites(more["Charity_Website"]),
            address_line_1=first,
            address_line_2=second,
            city=city or None,
            state=state or None,
            postcode=postcode or None,
            registration_date=self._reading.read_date("Registration_Date", registered),
            prominence=_PROMINENCE.get(size, 0),
            facts=drop_empty_facts({"PBI": pbi, "HPC": hpc, "Charity_Size": size} | self._facts(row, name, more)),
        )
        for before in _ABN_BEFORE.findall(written):
            if (old := "".join(before.split())) != number and abn.is_valid(old):
                yield RegisterLink("reregistered", "ACNC", old, "ACNC", number)

    def _facts(self, row: TableRow, name: str, more: dict[str, str]) -> dict[str, object]:
        established = self._reading.read_date(_ESTABLISHED, more[_ESTABLISHED])
        countries = re.findall(r"\b[A-Z]{3}\b", more["Operating_Countries"])
        if more["Operating_Countries"] and not countries:
            self._reading.report_unreadable_value("Operating_Countries", more["Operating_Countries"])
        return {
            "purposes": self._set_flags(row, self._purposes),
            "beneficiaries": self._set_flags(row, self._beneficiaries),
            "operates_in": self._set_flags(row, self._states),
            "Operating_Countries": countries,
            "Country": more["Country"] if more["Country"].casefold() != "australia" else "",
            "Address_Type": more["Address_Type"],
            _ESTABLISHED: format_date(established),
            "Financial_Year_End": more["Financial_Year_End"],
            "Number_of_Responsible_Persons": more["Number_of_Responsible_Persons"],
            "name_may_be_cut": len(name) >= _CUT_AT,
        }

    def _set_flags(self, row: TableRow, flags: list[tuple[str, int]]) -> list[str]:
        stated = []
        for column, at in flags:
            text = row.fields[at]
            if text == "Y" or (text and self._reading.read_choice(column, clean_text(text), _FLAGS) is True):
                stated.append(column)
        return stated


_ESTABLISHED: Final = "Date_Organisation_Established"
_FLAGS: Final = {"y": True, "n": False}
_NAMES: Final = (
    "ABN", "Charity_Legal_Name", "Town_City", "State", "Postcode", "Registration_Date", "Charity_Size", "PBI", "HPC",
)  # fmt: skip
_OPTIONAL: Final = (
    "Other_Organisation_Names",
    "Address_Type",
    "Address_Line_1",
    "Address_Line_2",
    "Address_Line_3",
    "Country",
    "Charity_Website",
    _ESTABLISHED,
    "Number_of_Responsible_Persons",
    "Financial_Year_End",
    "Operating_Countries",
)


def _spellings(column: str) -> tuple[str, ...]:
    """A flag as published, and as spelt correctly: two of them have a typo that may be fixed one day."""
    right = column.replace("natual", "natural").replace("to_ther_", "to_the_")
    return tuple(dict.fromkeys((column, right, column.replace("_", " "))))


def _parse_abn(text: str) -> str | None:
    number = "".join(text.split())
    return number if _ABN.fullmatch(number) and abn.is_valid(number) else None


def other_organisation_names(legal_name: str, other_names: str) -> list[str]:
    """An organisation's other names, without those that may be a person's.

    Kept: names with a word typical of organisations, names made of the words or initials of the legal name, and single
    words. Omitted: persons, email addresses, remarks.
    """
    words = [word.casefold() for word in _WORDS.findall(legal_name)]
    initials = "".join(word[0] for word in words)
    return distinct_other_names(
        legal_name,
        [each for each in other_names.split(",") if _is_organisation_name(each.strip(), set(words), initials)],
    )


def _is_organisation_name(text: str, legal: set[str], initials: str) -> bool:
    words = [word.casefold() for word in _WORDS.findall(text)]
    if not words or "@" in text or "://" in text or _ABN_BEFORE.search(text) or "\ufffd" in text:
        return False
    if fold_name_for_comparison(text) in {fold_name_for_comparison(each) for each in _NO_NAME} or not any(
        word.isalpha() for word in words
    ):
        return False
    if len(words) == 1:
        return len(words[0]) >= 3 or words[0] in initials
    telling = _OF_ORGANISATIONS - _ALSO_SURNAMES if len(words) == 2 else _OF_ORGANISATIONS
    return not telling.isdisjoint(words) or set(words) <= legal
