"""Read Publication 78, the organisations to which gifts are deductible (no header, ``|`` between six fields).

Public domain. EIN | legal name | city | state | country in words | deductibility codes, one or several. Its entries
only add facts to organisations in the business master file, and by design it omits subordinates of a group.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from almoner.adapters import irs
from almoner.adapters.registers_values import ValueReader, clean_text
from almoner.nonprofits.registers.domain import RegisterEntry
from almoner.nonprofits.registers.ports import SourceFile, SourceRow

_FIELDS: Final = 6
_OPTIONAL: Final = ("CITY", "STATE", "COUNTRY", "DEDUCTIBILITY")


class IrsPub78Reader:
    """The reader of ``data-download-pub78.txt``."""

    code = "irs-pub78"
    registry_code = "IRS"
    lists_organisations = False
    is_format_unverified = False
    has_repeated_numbers = False
    reads_files_together = False
    ignored_columns: frozenset[str] = frozenset()
    canary_numbers = frozenset({"135562976", "200049703", "271067272", "363673599", "530196605", "942278431"})

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """Read the rows of each file. Raises ImportRefused if one is another list or truncated."""
        for place, file in enumerate(files):
            reading = ValueReader(place)
            for line, fields in irs.read_rows(file, irs.PUB78):
                result = _entry(fields, reading)
                if isinstance(result, RegisterEntry):
                    yield result
                    yield from reading.pop_unreadable_values(line)
                    continue
                reading.discard_unreadable_values()
                whole = fields if len(fields) == _FIELDS else irs.find_leading_numbers_of_malformed_row(fields)
                name = clean_text(fields[1]) if len(fields) == _FIELDS else ""
                yield irs.build_rejected_row(
                    line, result, whole, file_index=place, entered_ein=clean_text(fields[0]), organisation_name=name
                )


def _entry(fields: list[str], reading: ValueReader) -> RegisterEntry | str:
    """The entry of one row, or the sentence that states its problem."""
    if len(fields) != _FIELDS:
        if not irs.PUB78.matches(fields):
            return f"the row has {len(fields)} fields, the list has {_FIELDS}"
        fields = [fields[0], "|".join(fields[1:-4]), *fields[-4:]]  # the name contains the separator
    ein, name = map(clean_text, fields[:2])
    if wrong := irs.find_row_problem(ein, name):
        return wrong
    city, state, country, codes = reading.clean_texts_in_place(dict(zip(_OPTIONAL, fields[2:], strict=True))).values()
    facts: dict[str, object] = {"COUNTRY": country} if country else {}
    if codes:
        facts["DEDUCTIBILITY"] = [code for each in codes.split(",") if (code := each.strip())]
    return RegisterEntry(
        number=ein,
        part=irs.WHOLE_PART,
        name=irs.strip_care_of_suffix(name),
        city=city or None,
        state=state or None,
        facts=facts,
    )
