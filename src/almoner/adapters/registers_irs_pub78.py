"""Reads Publication 78, the bodies to which gifts are deductible (no header, ``|`` between six fields; public domain).

EIN | legal name | city | state | country in words | deductibility codes, one or several. It lists nobody: its entries
say more of bodies that the business master file lists, and subordinates of a group are not in it by design.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from almoner.adapters import irs
from almoner.adapters.registers_values import Reading, tidied
from almoner.nonprofits.registers.domain import Entry
from almoner.nonprofits.registers.ports import Row, SourceFile

FIELDS: Final = 6
_OPTIONAL: Final = ("CITY", "STATE", "COUNTRY", "DEDUCTIBILITY")


class IrsPub78:
    """The reader of ``data-download-pub78.txt``."""

    code = "irs-pub78"
    registry_code = "IRS"
    lists = False
    unverified = False
    repeats = False
    joined = False
    ignored_columns: frozenset[str] = frozenset()
    canaries = frozenset({"135562976", "200049703", "271067272", "363673599", "530196605", "942278431"})

    def read(self, files: Sequence[SourceFile]) -> Iterator[Row]:
        """The rows of each file. Raises ImportRefused when one is another list or was cut off."""
        for place, file in enumerate(files):
            reading = Reading(place)
            for line, fields in irs.rows(file, irs.PUB78):
                made = _entry(fields, reading)
                if isinstance(made, Entry):
                    yield made
                    yield from reading.unread(line)
                    continue
                reading.forget()
                whole = fields if len(fields) == FIELDS else irs.number_alone(fields)
                name = tidied(fields[1]) if len(fields) == FIELDS else ""
                yield irs.aside(line, made, whole, file=place, number=tidied(fields[0]), name=name)


def _entry(fields: list[str], reading: Reading) -> Entry | str:
    """The entry of one row, or the sentence that says what is wrong with it."""
    if len(fields) != FIELDS:
        if not irs.PUB78.fits(fields):
            return f"the row has {len(fields)} fields, the list has {FIELDS}"
        fields = [fields[0], "|".join(fields[1:-4]), *fields[-4:]]  # the name holds the sign that parts the fields
    ein, name = map(tidied, fields[:2])
    if wrong := irs.wrong_with(ein, name):
        return wrong
    city, state, country, codes = reading.texts(dict(zip(_OPTIONAL, fields[2:], strict=True))).values()
    facts: dict[str, object] = {"COUNTRY": country} if country else {}
    if codes:
        facts["DEDUCTIBILITY"] = [code for each in codes.split(",") if (code := each.strip())]
    return Entry(
        number=ein, part=irs.ALL, name=irs.body_alone(name), city=city or None, state=state or None, facts=facts
    )
