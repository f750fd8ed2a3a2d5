"""Reads any register by a mapping file: CSV, or JSON with one record in each line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, Final

from almoner.adapters.registers_mapping import MEMBERS, RegisterMapping, Taking
from almoner.adapters.registers_tables import Decode, Table, in_encoding, raw_lines, utf8_or_1252
from almoner.adapters.registers_values import (
    Reading,
    is_damaged,
    number_shown,
    other_than,
    present,
    shown,
    websites,
    without_persons,
)
from almoner.nonprofits.registers.domain import BadRow, Entry, ImportRefused, Unnumbered
from almoner.nonprofits.registers.ports import Row, SourceFile
from almoner.nonprofits.registries.domain import check

_Value = str | list[str]
_OLDEST: Final = 1000
_LONGEST: Final = 20_000
_MOST_VALUES: Final = 1_000
_ADDRESS: Final = ("address_line_1", "address_line_2")


class MappedSource:
    """The reader that a mapping makes."""

    joined = False

    def __init__(self, mapping: RegisterMapping) -> None:
        self._mapping = mapping
        self.code = mapping.code
        self.registry_code = mapping.registry
        self.declares = mapping.declares
        self.lists = mapping.lists
        self.unverified = mapping.unverified
        self.repeats = mapping.repeats
        self.ignored_columns = mapping.ignored_columns
        self.canaries = mapping.canaries

    def read(self, files: Sequence[SourceFile]) -> Iterator[Row]:
        """The rows. Raises ImportRefused when a column is missing or the file is not what the mapping says."""
        records = _of_csv if self._mapping.format == "csv" else _of_jsonl
        for place, file in enumerate(files):
            reading = Reading(place)
            for line, record in records(file, self._mapping, place):
                if isinstance(record, BadRow):
                    yield record
                    continue
                found = _row(line, record, self._mapping, place, reading)
                if not isinstance(found, Entry):
                    reading.forget()
                yield found
                yield from reading.unread(line)


def _decoding(encoding: str) -> Decode:
    return utf8_or_1252 if encoding == "utf-8-or-windows-1252" else in_encoding(encoding)


def _of_csv(file: SourceFile, mapping: RegisterMapping, place: int) -> Iterator[tuple[int, dict[str, _Value] | BadRow]]:
    table = Table(
        file,
        delimiter=mapping.delimiter,
        quote=mapping.quote,
        decode=_decoding(mapping.encoding),
        place=place,
    )
    columns = dict(zip(mapping.columns, table.places(*mapping.columns), strict=True))
    number = mapping.members["number"]
    if len(number.columns) == 1:
        table.numbered(columns[number.columns[0]], partial(_key, mapping))
    for row in table:
        if isinstance(row, BadRow):
            yield row.line, row
        else:
            yield row.line, {name: row.fields[at] for name, at in columns.items()}


def _key(mapping: RegisterMapping, number: str) -> str | None:
    """The key of a number of the register, as it is written; None for what is none."""
    for mark in mapping.members["number"].remove:
        number = number.replace(mark, "")
    checked = check(mapping.registry, number)
    if mapping.declares and not mapping.declares.holds(checked.key or ""):
        return None
    return checked.key if checked.verdict == "ok" else None


def _of_jsonl(
    file: SourceFile, mapping: RegisterMapping, place: int
) -> Iterator[tuple[int, dict[str, _Value] | BadRow]]:
    decode, seen = _decoding(mapping.encoding), set[str]()
    paths = {column: column.split(".") for column in mapping.columns}
    lines = 0
    for line, raw in enumerate(raw_lines(file.binary()), start=1):
        if raw is not None and not raw.strip():
            continue
        lines += 1
        record = _record(decode, raw, first=line == 1)
        if isinstance(record, str):
            yield line, BadRow(line, record, "", place)
            continue
        taken = {column: value for column, path in paths.items() if (value := _at(record, path)) is not None}
        seen.update(taken)
        yield line, {column: _value(value) for column, value in taken.items()}
    number = mapping.members["number"].columns
    if missing := [column for column in number if column not in seen]:
        raise ImportRefused(
            f"{file.name} is not what the mapping says: none of its {lines} lines is a record with "
            f"{', '.join(missing)}. Look at its first line"
        )


def _record(decode: Decode, raw: bytes | None, *, first: bool) -> dict[str, Any] | str:
    """The record of a line, or what is wrong with it."""
    if raw is None:
        return "the line is longer than a mebibyte"
    text = decode(raw.removeprefix(b"\xef\xbb\xbf") if first else raw)
    try:
        record = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return "the line is no JSON"
    return record if isinstance(record, dict) else "the line is no JSON object"


def _at(record: dict[str, Any], path: list[str]) -> Any:
    """The value of a member, by ``a.b`` inside another; a name with a dot of its own comes first."""
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
    """A JSON value as text that can be stored; records inside are never taken whole."""
    if isinstance(value, list):
        return [text for each in value[:_MOST_VALUES] if isinstance(text := _value(each), str) and text]
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return ""
    text = value[:_LONGEST].replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    return " ".join(text.split())


def _told(record: Mapping[str, _Value], reading: Reading) -> dict[str, _Value]:
    """The values, each tidied, and empty where it is damaged or says nothing."""
    return {
        column: [text for each in value if (text := reading.text(column, each))]
        if isinstance(value, list)
        else reading.text(column, value)
        for column, value in record.items()
    }


def _row(
    line: int, written: Mapping[str, _Value], mapping: RegisterMapping, file: int, reading: Reading
) -> Entry | BadRow | Unnumbered:
    record = _told(written, reading)
    number = _text(record, mapping.members["number"])
    for mark in mapping.members["number"].remove:
        number = number.replace(mark, "")
    name = _text(record, mapping.members["name"]) if "name" in mapping.members else ""
    if not _text(written, mapping.members["number"]).strip():
        return Unnumbered(line, file, name)
    key = _key(mapping, _text(record, mapping.members["number"]))
    checked = check(mapping.registry, number)
    if mapping.declares and not mapping.declares.holds(checked.key or ""):
        wrong = f"the number is none of {mapping.registry} (its length or characters)"
    elif checked.verdict != "ok":
        wrong = f"the number is none of {mapping.registry} ({checked.verdict.replace('_', ' ')})"
    elif mapping.lists and not name:
        wrong = "the name is empty or damaged"
    elif "active" in mapping.members and is_damaged(_text(written, mapping.members["active"])):
        wrong = f"{' and '.join(mapping.members['active'].columns)} is damaged"
    else:
        try:
            return _entry(number, name, record, mapping, reading)
        except _NotKnown as error:
            wrong = str(error)
    return BadRow(line, wrong, shown(number=number_shown(number), name=name), file, key, name)


class _NotKnown(Exception):
    """A value is none that the mapping knows."""


def _entry(number: str, name: str, record: Mapping[str, _Value], mapping: RegisterMapping, reading: Reading) -> Entry:
    members: dict[str, Any] = {key: value for key, value in mapping.constants.items() if key != "facts"}
    for member, taking in mapping.members.items():
        if member not in ("number", "name"):
            members[member] = _member(member, record, taking, reading)
    ends = mapping.members.get("until")
    if ends and not members.get("active", True) and members.get("until") is None and _text(record, ends):
        raise _NotKnown("the day on which it ended cannot be read")
    members["other_names"] = other_than(name, members.get("other_names", ()))
    members |= {each: _line(members.get(each)) for each in _ADDRESS}
    facts = {fact: _fact(record, taking, reading) for fact, taking in mapping.facts.items()}
    facts |= mapping.constants.get("facts", {})
    said = {member: value for member, value in members.items() if value not in (None, "")}
    return Entry(number=number, part=said.pop("part", "all"), name=name, facts=present(facts))._replace(**said)


def _text(record: Mapping[str, _Value], taking: Taking) -> str:
    parts = [
        ", ".join(value) if isinstance(value := record.get(column, ""), list) else value for column in taking.columns
    ]
    return taking.join.join(part for part in parts if part)


def _list(record: Mapping[str, _Value], taking: Taking) -> list[str]:
    found: list[str] = []
    for column in taking.columns:
        value = record.get(column, "")
        texts = value if isinstance(value, list) else value.split(taking.separator) if taking.separator else [value]
        found += [text.strip() for text in texts if text.strip() and text.strip() not in found]
    return found


def _sites(record: Mapping[str, _Value], taking: Taking) -> list[str]:
    return websites(" ".join(_list(record, taking)))


def _day(record: Mapping[str, _Value], taking: Taking, reading: Reading) -> datetime | None:
    """A day in the form that the mapping says, or else in one that can only be a day."""
    if not (text := _text(record, taking)):
        return None
    return _read_day(text, taking.formats) or reading.day(" and ".join(taking.columns), text)


@lru_cache(maxsize=65536)
def _read_day(text: str, formats: tuple[str, ...]) -> datetime | None:
    for form in formats:
        try:
            day = datetime.strptime(text, form)  # noqa: DTZ007 (a day has no zone)
        except ValueError:
            continue
        return datetime(day.year, day.month, day.day, tzinfo=UTC) if day.year >= _OLDEST else None
    return None


def _flag(record: Mapping[str, _Value], taking: Taking, reading: Reading) -> bool | None:
    """Whether a value means yes; None for one that the mapping does not know, or that says nothing."""
    text = _text(record, taking).casefold()
    if text in taking.yes:
        return True
    if text in taking.no or (text and not taking.no):
        return False
    if text:
        reading.lose(" and ".join(taking.columns), text)
    return None


def _member(member: str, record: Mapping[str, _Value], taking: Taking, reading: Reading) -> Any:
    match MEMBERS[member]:
        case "day":
            return _day(record, taking, reading)
        case "flag":
            found = _flag(record, taking, reading)
            if found is None and member == "active":
                raise _NotKnown(f"the value of {' and '.join(taking.columns)} is none that the mapping knows")
            return found
        case "list":
            return _sites(record, taking) if member == "websites" else _list(record, taking)
        case _:
            return _text(record, taking)


def _fact(record: Mapping[str, _Value], taking: Taking, reading: Reading) -> object:
    if taking.formats:
        day = _day(record, taking, reading)
        return f"{day:%Y-%m-%d}" if day else None
    if taking.yes:
        return _flag(record, taking, reading)
    if taking.separator or any(isinstance(record.get(column), list) for column in taking.columns):
        return _list(record, taking)
    return _text(record, taking)


def _line(text: str | None) -> str | None:
    """An address line, unless it names a person."""
    return next(iter(without_persons([text or ""])), None)
