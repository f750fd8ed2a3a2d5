"""Read any register by a mapping file: CSV, or JSON with one record per line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, Final

from almoner.adapters.registers_mapping import MEMBERS, RegisterMapping
from almoner.adapters.registers_tables import (
    Decode,
    DelimitedTable,
    build_line_decoder,
    decode_utf8_or_windows_1252,
    read_lines,
)
from almoner.adapters.registers_values import (
    ValueReader,
    distinct_other_names,
    drop_care_of_lines,
    drop_empty_facts,
    format_rejected_row_content,
    has_invalid_characters,
    parse_websites,
    redact_non_numeric_text,
)
from almoner.kit.title_case import join_name_lines
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry, RejectedRow, RowWithoutNumber
from almoner.nonprofits.registers.ports import SourceFile, SourceRow
from almoner.nonprofits.registries.domain import check_registry_number
from almoner.platform.files.mappings import ColumnMapping

_Value = str | list[str]
_OLDEST: Final = 1000
_LONGEST: Final = 20_000
_MOST_VALUES: Final = 1_000
_ADDRESS: Final = ("address_line_1", "address_line_2")


class MappedRegisterReader:
    """The reader that a mapping file defines."""

    reads_files_together = False

    def __init__(self, mapping: RegisterMapping) -> None:
        self._mapping = mapping
        self.code = mapping.code
        self.registry_code = mapping.registry
        self.declared_registry = mapping.declared_registry
        self.lists_organisations = mapping.lists_organisations
        self.is_format_unverified = mapping.unverified
        self.has_repeated_numbers = mapping.repeats_numbers
        self.ignored_columns = mapping.ignored_columns
        self.canary_numbers = mapping.canary_numbers

    def read(self, files: Sequence[SourceFile]) -> Iterator[SourceRow]:
        """Read the rows. Raises ImportRefused if a column is missing or the file does not fit its mapping."""
        records = _read_csv if self._mapping.format == "csv" else _read_jsonl
        for place, file in enumerate(files):
            reading = ValueReader(place)
            for line, record in records(file, self._mapping, place):
                if isinstance(record, RejectedRow):
                    yield record
                    continue
                found = _row(line, record, self._mapping, place, reading)
                if not isinstance(found, RegisterEntry):
                    reading.discard_unreadable_values()
                yield found
                yield from reading.pop_unreadable_values(line)


def _decoder_of(encoding: str) -> Decode:
    return decode_utf8_or_windows_1252 if encoding == "utf-8-or-windows-1252" else build_line_decoder(encoding)


def _read_csv(
    file: SourceFile, mapping: RegisterMapping, place: int
) -> Iterator[tuple[int, dict[str, _Value] | RejectedRow]]:
    table = DelimitedTable(
        file,
        delimiter=mapping.delimiter,
        quote=mapping.quote,
        decode=_decoder_of(mapping.encoding),
        place=place,
    )
    columns = dict(zip(mapping.columns, table.get_column_indexes(*mapping.columns), strict=True))
    number = mapping.members["number"]
    if len(number.columns) == 1:
        table.set_key_column(columns[number.columns[0]], partial(_key, mapping))
    for row in table:
        if isinstance(row, RejectedRow):
            yield row.line_number, row
        else:
            yield row.line_number, {name: row.fields[at] for name, at in columns.items()}


def _key(mapping: RegisterMapping, number: str) -> str | None:
    """The key of a registration number; None if invalid."""
    for mark in mapping.members["number"].removed_text:
        number = number.replace(mark, "")
    checked = check_registry_number(mapping.registry, number)
    if mapping.declared_registry and not mapping.declared_registry.accepts_number_key(checked.number_key or ""):
        return None
    return checked.number_key if checked.verdict == "ok" else None


def _read_jsonl(
    file: SourceFile, mapping: RegisterMapping, place: int
) -> Iterator[tuple[int, dict[str, _Value] | RejectedRow]]:
    decode, seen = _decoder_of(mapping.encoding), set[str]()
    paths = {column: column.split(".") for column in mapping.columns}
    lines = 0
    for line, raw in enumerate(read_lines(file.open_binary()), start=1):
        if raw is not None and not raw.strip():
            continue
        lines += 1
        record = _record(decode, raw, first=line == 1)
        if isinstance(record, str):
            yield line, RejectedRow(line, record, "", place)
            continue
        taken = {column: value for column, path in paths.items() if (value := _member_at(record, path)) is not None}
        seen.update(taken)
        yield line, {column: _value(value) for column, value in taken.items()}
    number = mapping.members["number"].columns
    if missing := [column for column in number if column not in seen]:
        raise ImportRefused(
            f"{file.name} is not what the mapping says: none of its {lines} lines is a record with "
            f"{', '.join(missing)}. Look at its first line"
        )


def _record(decode: Decode, raw: bytes | None, *, first: bool) -> dict[str, Any] | str:
    """The record of a line, or its problem."""
    if raw is None:
        return "the line is longer than a mebibyte"
    text = decode(raw.removeprefix(b"\xef\xbb\xbf") if first else raw)
    try:
        record = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return "the line is not JSON"
    return record if isinstance(record, dict) else "the line is not a JSON object"


def _member_at(record: dict[str, Any], path: list[str]) -> Any:
    """The value of a member, nested by ``a.b``; a member whose own name contains the dot comes first."""
    whole = ".".join(path)
    if whole in record:
        return record[whole]
    value: Any = record
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _value(value: Any) -> _Value:
    """A JSON value as text that can be stored; nested records are never stored whole."""
    if isinstance(value, list):
        return [text for each in value[:_MOST_VALUES] if isinstance(text := _value(each), str) and text]
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return ""
    text = value[:_LONGEST].replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    return " ".join(text.split())


def _clean_record(record: Mapping[str, _Value], reading: ValueReader) -> dict[str, _Value]:
    """The cleaned values; empty if damaged or placeholders."""
    return {
        column: [text for each in value if (text := reading.read_text(column, each))]
        if isinstance(value, list)
        else reading.read_text(column, value)
        for column, value in record.items()
    }


def _row(
    line: int, written: Mapping[str, _Value], mapping: RegisterMapping, file: int, reading: ValueReader
) -> RegisterEntry | RejectedRow | RowWithoutNumber:
    record = _clean_record(written, reading)
    number = _text(record, mapping.members["number"])
    for mark in mapping.members["number"].removed_text:
        number = number.replace(mark, "")
    name = _text(record, mapping.members["name"]) if "name" in mapping.members else ""
    if not _text(written, mapping.members["number"]).strip():
        return RowWithoutNumber(line, file, name)
    key = _key(mapping, _text(record, mapping.members["number"]))
    checked = check_registry_number(mapping.registry, number)
    if mapping.declared_registry and not mapping.declared_registry.accepts_number_key(checked.number_key or ""):
        wrong = f"the number is not one of {mapping.registry} (its length or characters)"
    elif checked.verdict != "ok":
        wrong = f"the number is not one of {mapping.registry} ({checked.verdict.replace('_', ' ')})"
    elif mapping.lists_organisations and not name:
        wrong = "the name is empty or damaged"
    elif "active" in mapping.members and has_invalid_characters(_text(written, mapping.members["active"])):
        wrong = f"{' and '.join(mapping.members['active'].columns)} is damaged"
    else:
        try:
            return _entry(number, name, record, mapping, reading)
        except _UnknownValue as error:
            wrong = str(error)
    return RejectedRow(
        line, wrong, format_rejected_row_content(number=redact_non_numeric_text(number), name=name), file, key, name
    )


class _UnknownValue(Exception):
    """A value that the mapping does not know."""


def _entry(
    number: str, name: str, record: Mapping[str, _Value], mapping: RegisterMapping, reading: ValueReader
) -> RegisterEntry:
    members: dict[str, Any] = {key: value for key, value in mapping.constants.items() if key != "facts"}
    for member, taking in mapping.members.items():
        if member not in ("number", "name"):
            members[member] = _member(member, record, taking, reading)
    ends = mapping.members.get("until")
    if ends and not members.get("active", True) and members.get("until") is None and _text(record, ends):
        raise _UnknownValue("the day on which it ended cannot be read")
    if (second := members.get("secondary_name")) and not members.get("display_name"):
        members["display_name"] = join_name_lines(name, second)
    members["other_names"] = distinct_other_names(name, members.get("other_names", ()))
    members |= {each: _line(members.get(each)) for each in _ADDRESS}
    facts = {fact: _fact(record, taking, reading) for fact, taking in mapping.facts.items()}
    facts |= mapping.constants.get("facts", {})
    stated = {member: value for member, value in members.items() if value not in (None, "")}
    return RegisterEntry(
        number=number, part=stated.pop("part", "all"), name=name, facts=drop_empty_facts(facts)
    )._replace(**stated)


def _text(record: Mapping[str, _Value], taking: ColumnMapping) -> str:
    parts = [
        ", ".join(value) if isinstance(value := record.get(column, ""), list) else value for column in taking.columns
    ]
    return taking.join_separator.join(part for part in parts if part)


def _list(record: Mapping[str, _Value], taking: ColumnMapping) -> list[str]:
    found: list[str] = []
    for column in taking.columns:
        value = record.get(column, "")
        texts = (
            value
            if isinstance(value, list)
            else value.split(taking.split_separator)
            if taking.split_separator
            else [value]
        )
        found += [text.strip() for text in texts if text.strip() and text.strip() not in found]
    return found


def _websites(record: Mapping[str, _Value], taking: ColumnMapping) -> list[str]:
    return parse_websites(" ".join(_list(record, taking)))


def _day(record: Mapping[str, _Value], taking: ColumnMapping, reading: ValueReader) -> datetime | None:
    """Parse a date in the mapping's format, or else in an unambiguous one."""
    if not (text := _text(record, taking)):
        return None
    return _read_day(text, taking.formats) or reading.read_date(" and ".join(taking.columns), text)


@lru_cache(maxsize=65536)
def _read_day(text: str, formats: tuple[str, ...]) -> datetime | None:
    for form in formats:
        try:
            day = datetime.strptime(text, form)  # noqa: DTZ007 (a day has no zone)
        except ValueError:
            continue
        return datetime(day.year, day.month, day.day, tzinfo=UTC) if day.year >= _OLDEST else None
    return None


def _flag(record: Mapping[str, _Value], taking: ColumnMapping, reading: ValueReader) -> bool | None:
    """Whether a value means yes; None for an empty value, or one that the mapping does not know."""
    text = _text(record, taking).casefold()
    if text in taking.true_values:
        return True
    if text in taking.false_values or (text and not taking.false_values):
        return False
    if text:
        reading.report_unreadable_value(" and ".join(taking.columns), text)
    return None


def _member(member: str, record: Mapping[str, _Value], taking: ColumnMapping, reading: ValueReader) -> Any:
    match MEMBERS[member]:
        case "day":
            return _day(record, taking, reading)
        case "flag":
            found = _flag(record, taking, reading)
            if found is None and member == "active":
                raise _UnknownValue(f"the value of {' and '.join(taking.columns)} is not in the mapping")
            return found
        case "list":
            return _websites(record, taking) if member == "websites" else _list(record, taking)
        case _:
            return _text(record, taking)


def _fact(record: Mapping[str, _Value], taking: ColumnMapping, reading: ValueReader) -> object:
    if taking.formats:
        day = _day(record, taking, reading)
        return f"{day:%Y-%m-%d}" if day else None
    if taking.true_values:
        return _flag(record, taking, reading)
    if taking.split_separator or any(isinstance(record.get(column), list) for column in taking.columns):
        return _list(record, taking)
    return _text(record, taking)


def _line(text: str | None) -> str | None:
    """An address line, unless it names a person."""
    return next(iter(drop_care_of_lines([text or ""])), None)
