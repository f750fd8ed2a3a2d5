"""Reads any register by a mapping file: CSV, or JSON with one record in each line."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from almoner.adapters.registers_mapping import RegisterMapping, Taking
from almoner.adapters.registers_tables import Decode, Table, in_encoding, raw_lines, utf8_or_1252
from almoner.adapters.registers_values import number_shown, other_than, present, shown, websites, without_persons
from almoner.nonprofits.registers.domain import BadRow, Entry, ImportRefused, Unnumbered
from almoner.nonprofits.registers.ports import SourceFile
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
        self.quiet = mapping.quiet
        self.canaries = mapping.canaries

    def read(self, files: Sequence[SourceFile]) -> Iterator[Entry | BadRow | Unnumbered]:
        """The rows. Raises ImportRefused when a column is missing or the file is not what the mapping says."""
        records = _of_csv if self._mapping.format == "csv" else _of_jsonl
        for place, file in enumerate(files):
            for line, record in records(file, self._mapping, place):
                yield record if isinstance(record, BadRow) else _row(line, record, self._mapping, place)


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
    for row in table:
        if isinstance(row, BadRow):
            yield row.line, row
        else:
            yield row.line, {name: " ".join(row.fields[at].split()) for name, at in columns.items()}


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
    if text is None:
        return "the line is not text in the encoding of the file"
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


def _row(line: int, record: Mapping[str, _Value], mapping: RegisterMapping, file: int) -> Entry | BadRow | Unnumbered:
    number = _text(record, mapping.members["number"])
    for mark in mapping.members["number"].remove:
        number = number.replace(mark, "")
    if not number.strip():
        return Unnumbered(line, file)
    name = _text(record, mapping.members["name"]) if "name" in mapping.members else ""
    checked = check(mapping.registry, number)
    if mapping.declares and not mapping.declares.holds(checked.key or ""):
        wrong = f"the number is none of {mapping.registry} (its length or characters)"
    elif checked.verdict != "ok":
        wrong = f"the number is none of {mapping.registry} ({checked.verdict.replace('_', ' ')})"
    elif mapping.lists and (not name or "\ufffd" in name):
        wrong = "the name is empty or damaged"
    else:
        try:
            return _entry(number, name, record, mapping)
        except _NotKnown as error:
            wrong = str(error)
    return BadRow(line, wrong, shown(number=number_shown(number), name=name), file)


class _NotKnown(Exception):
    """A value is none that the mapping knows."""


def _entry(number: str, name: str, record: Mapping[str, _Value], mapping: RegisterMapping) -> Entry:
    members: dict[str, Any] = {key: value for key, value in mapping.constants.items() if key != "facts"}
    for member, taking in mapping.members.items():
        if member not in ("number", "name"):
            members[member] = _MEMBERS.get(member, _text)(record, taking)
    members["other_names"] = other_than(name, members.get("other_names", ()))
    members |= {each: _line(members.get(each)) for each in _ADDRESS}
    facts = {fact: _fact(record, taking) for fact, taking in mapping.facts.items()}
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


def _day(record: Mapping[str, _Value], taking: Taking) -> datetime | None:
    return _read_day(_text(record, taking), taking.formats)


@lru_cache(maxsize=65536)
def _read_day(text: str, formats: tuple[str, ...]) -> datetime | None:
    for form in formats:
        try:
            day = datetime.strptime(text, form)  # noqa: DTZ007 (a day has no zone)
        except ValueError:
            continue
        return datetime(day.year, day.month, day.day, tzinfo=UTC) if day.year >= _OLDEST else None
    return None


def _flag(record: Mapping[str, _Value], taking: Taking) -> bool:
    text = _text(record, taking).casefold()
    if text in taking.yes:
        return True
    if taking.no and text not in taking.no:
        raise _NotKnown(f"the value of {' and '.join(taking.columns)} is none that the mapping knows")
    return False


def _fact(record: Mapping[str, _Value], taking: Taking) -> object:
    if taking.formats:
        day = _day(record, taking)
        return f"{day:%Y-%m-%d}" if day else None
    if taking.yes:
        return _flag(record, taking)
    if taking.separator or any(isinstance(record.get(column), list) for column in taking.columns):
        return _list(record, taking)
    return _text(record, taking)


def _line(text: str | None) -> str | None:
    """An address line, unless it names a person."""
    return next(iter(without_persons([text or ""])), None)


_MEMBERS: Final[Mapping[str, Callable[[Mapping[str, _Value], Taking], Any]]] = {
    "other_names": _list,
    "websites": _sites,
    "active": _flag,
    "is_branch_parent": _flag,
    "registration_date": _day,
    "until": _day,
}
