"""Watch lists as they are published, read just far enough to measure matching: names, weak aliases, countries."""

import csv
import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from almoner.screening.matching.domain import Entry, ListedName
from almoner.screening.matching.service import prepare
from almoner.screening.matching.spelling import plain

SHARED: Final = Path(__file__).parents[2] / "shared" / "data"
_NULL: Final = "-0-"
_WEAK: Final = re.compile(r"a\.k\.a\. '([^']+)'")
_IN: Final = re.compile(r"\(([A-Z][A-Za-z ,.]+)\)")
_NATIONAL: Final = re.compile(r"(?:nationality|citizen|Nationality of Registration) ([A-Z][A-Za-z ]+)")
_PROGRAMS: Final = {
    "RUSSIA-EO14024": "russia", "UKRAINE-EO13662": "russia", "CUBA": "cuba", "IRAN": "iran", "IRAN-TRA": "iran",
    "IRAN-EO13902": "iran", "NICARAGUA": "nicaragua", "VENEZUELA": "venezuela", "VENEZUELA-EO13850": "venezuela",
    "BELARUS": "belarus", "BELARUS-EO14038": "belarus", "DPRK": "north korea", "DPRK2": "north korea",
    "DPRK3": "north korea", "DPRK4": "north korea", "SYRIA": "syria", "IRAQ2": "iraq", "BURMA-EO14014": "burma",
    "CMIC-EO13959": "china", "NS-PLC": "palestine", "DARFUR": "sudan", "ZIMBABWE": "zimbabwe", "LEBANON": "lebanon",
    "YEMEN": "yemen", "LIBYA2": "libya", "LIBYA3": "libya", "SOMALIA": "somalia", "DRCONGO": "congo",
    "IFSR": "iran", "IRGC": "iran", "SUDAN-EO14098": "sudan", "SSI": "russia",
}  # fmt: skip
_SAME: Final = {"iran islamic republic of": "iran", "russian federation": "russia", "korea north": "north korea",
                "democratic peoples republic of korea": "north korea", "syrian arab republic": "syria",
                "united kingdom of great britain and northern ireland": "united kingdom", "usa": "united states",
                "us": "united states", "uae": "united arab emirates"}  # fmt: skip


@dataclass
class Listed:
    """One entry: names with whether they are weak."""

    id: str
    person: bool
    names: list[tuple[str, bool]] = field(default_factory=list)
    countries: set[str] = field(default_factory=set)

    def entry(self) -> Entry:
        """As the engine takes it."""
        names = tuple(ListedName(prepare(name), weak) for name, weak in self.names)
        return Entry(self.id, tuple(one for one in names if one.name.words), frozenset(self.countries))


def country(text: str) -> str:
    """One spelling of a country."""
    words = plain(text)
    return _SAME.get(words, words)


def _rows(path: Path) -> Iterator[list[str]]:
    with path.open(newline="", encoding="utf-8", errors="replace") as lines:
        for row in csv.reader(lines):
            if len(row) > 1:
                yield ["" if cell.strip() == _NULL else cell.strip() for cell in row]


def _addresses(folder: Path, name: str, found: dict[str, Listed]) -> None:
    for row in _rows(folder / name):
        if row[0] in found and len(row) > 4 and row[4]:
            found[row[0]].countries.add(country(row[4]))


def ofac(folder: Path) -> Iterator[Listed]:
    """The newest SDN list with the addresses and aliases of the last complete one, and the consolidated list."""
    for prim, alt, add in (
        ("sdn_2024-05-03.csv", "alt_2021-07.csv", "add_2021-07.csv"),
        ("cons_prim_2025-12.csv", "cons_alt_2025-12.csv", "cons_add_2025-12.csv"),
    ):
        found: dict[str, Listed] = {}
        for row in _rows(folder / prim):
            if len(row) < 12 or row[2] in ("vessel", "aircraft"):
                continue
            one = Listed(f"{prim[:4]}-{row[0]}", row[2] == "individual", [(row[1], False)])
            one.names += [(alias, True) for alias in _WEAK.findall(row[11])]
            for named in (*_IN.findall(row[11]), *_NATIONAL.findall(row[11])):
                one.countries.add(country(named))
            one.countries |= {_PROGRAMS[code] for code in row[3].split("] [") if code in _PROGRAMS}
            found[row[0]] = one
        for row in _rows(folder / alt):
            if row[0] in found:
                found[row[0]].names.append((row[3], False))
        _addresses(folder, add, found)
        yield from found.values()


def united_nations(path: Path) -> Iterator[Listed]:
    """The consolidated list of the Security Council."""
    root = ET.parse(path).getroot()
    for kind in ("INDIVIDUAL", "ENTITY"):
        for node in root.iter(kind):
            parts = [node.findtext(f"{place}_NAME") or "" for place in ("FIRST", "SECOND", "THIRD", "FOURTH")]
            one = Listed(
                f"un-{node.findtext('DATAID')}", kind == "INDIVIDUAL", [(" ".join(filter(None, parts)), False)]
            )
            for alias in node.iter(f"{kind}_ALIAS"):
                for name in (alias.findtext("ALIAS_NAME") or "").split(";"):
                    if name.strip():
                        one.names.append((name.strip(), alias.findtext("QUALITY") == "Low"))
            for tag in ("COUNTRY", "NATIONALITY/VALUE"):
                for place in node.iterfind(f".//{tag}"):
                    if place.text and place.text.strip():
                        one.countries.add(country(place.text))
            yield one


def denied(path: Path) -> Iterator[Listed]:
    """Denied persons of the Bureau of Industry and Security: persons and companies, untold which."""
    found: dict[str, Listed] = {}
    with path.open(newline="", encoding="utf-8", errors="replace") as lines:
        for number, row in enumerate(csv.DictReader(lines, delimiter="\t")):
            name = row["Name"].strip()
            one = found.setdefault(name, Listed(f"dpl-{number}", person=False, names=[(name, False)]))
            one.countries.add(_CODES.get(row["Country"], row["Country"].lower()) or "united states")
    yield from found.values()


_CODES: Final = {
    "US": "united states",
    "GB": "united kingdom",
    "IR": "iran",
    "RU": "russia",
    "CN": "china",
    "DE": "germany",
}


def lists(shared: Path = SHARED) -> list[Listed]:
    """All of them."""
    names: dict[str, list[Listed]] = defaultdict(list)
    for one in (
        *ofac(shared / "ofac"),
        *united_nations(next((shared / "un").glob("*.xml"))),
        *denied(shared / "us_other" / "bis_dpl.txt"),
    ):
        names[one.id].append(one)
    return [one for group in names.values() for one in group]
