"""Records from JSON and bodies to JSON, by the types of their fields."""

import types
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from datetime import date, datetime, timezone
from functools import cache
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

R = TypeVar("R", bound="Record")


class Omitted:
    """The type of ``OMITTED``."""

    def __repr__(self) -> str:
        return "OMITTED"

    def __bool__(self) -> bool:
        return False


OMITTED = Omitted()
"""A member that is not sent, where None would be sent as null."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """What the service answers. Members that this version does not know are kept in ``unknown``."""

    wire_names: ClassVar[Mapping[str, str]] = {}
    unknown: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    request_id: str | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_json(cls: type[R], data: Mapping[str, Any], request_id: str | None = None) -> R:
        """The record of a JSON object. A member that is absent is None."""
        known = _field_types(cls)  # type: ignore[arg-type]
        values = {name: _read(data.get(wire), hint) for name, (wire, hint) in known.items()}
        wires = {wire for wire, _ in known.values()}
        unknown = {name: value for name, value in data.items() if name not in wires}
        return cls(**values, unknown=unknown, request_id=request_id)


@dataclass(frozen=True, kw_only=True)
class Body:
    """What is sent inside of a call."""

    wire_names: ClassVar[Mapping[str, str]] = {}


@cache
def _field_types(record: Any) -> dict[str, tuple[str, Any]]:
    """Of each member of a record: its name on the wire, and its type."""
    hints = get_type_hints(record)
    return {
        one.name: (record.wire_names.get(one.name, one.name), hints[one.name])
        for one in _own_fields(record)
        if one.name not in ("unknown", "request_id")
    }


def _own_fields(record: type[Record] | type[Body]) -> tuple[Field[Any], ...]:
    return fields(record)


def _read(value: Any, hint: Any) -> Any:
    if value is None:
        return None
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _read(value, next(one for one in arguments if one is not types.NoneType))
    if isinstance(value, list):
        return [_read(one, arguments[0] if arguments else Any) for one in value]
    if isinstance(value, dict):
        if isinstance(hint, type) and issubclass(hint, Record):
            return hint.from_json(value)
        inner = arguments[1] if len(arguments) == 2 else Any
        return {name: _read(one, inner) for name, one in value.items()}
    if hint is datetime and isinstance(value, str):
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    return value


def to_json(value: Any) -> Any:
    """A value as it is sent; what is omitted is left out."""
    if isinstance(value, Body):
        named = {value.wire_names.get(one.name, one.name): getattr(value, one.name) for one in _own_fields(type(value))}
        return to_json(named)
    if isinstance(value, Record):
        raise TypeError(f"{type(value).__name__} is an answer; pass what it is made of")
    if isinstance(value, Mapping):
        return {name: to_json(one) for name, one in value.items() if one is not OMITTED}
    if isinstance(value, (list, tuple)):
        return [to_json(one) for one in value]
    return to_text(value)


def to_text(value: Any) -> Any:
    """A moment with its offset, a day, or the value itself."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.astimezone()
        return aware.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value
