"""Error sentences for unknown parameters and members, with the nearest known name (settled 11)."""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

import msgspec
from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from rapidfuzz import fuzz, process

_SHOWN: Final = 100
"""The maximum number of characters shown of a name."""
_LONGEST: Final = 40
"""The maximum length of a name that is compared: no API name is longer."""
_NEAREST: Final = 75
_SHORTEST_PART: Final = 4
"""The minimum length of a name that may be part of another: ``currency``, ``currencyCode``."""
_MARKS: Final = re.compile(r"[^0-9a-z]")


def unknown_parameter_message(name: str, known_names: Collection[str]) -> str:
    """The error sentence for an unknown query parameter."""
    return f"query.{name[:_SHOWN]} is not a parameter of this call{did_you_mean_suffix(name, known_names)}"


def unknown_field_message(
    location_prefix: str,
    location: tuple[int | str, ...],
    model: type[BaseModel] | None,
    record: type[msgspec.Struct] | None,
) -> str:
    """The error sentence for an unknown or read-only body member."""
    *outer, name = location
    field = ".".join([location_prefix, *(str(part)[:_SHOWN] for part in location)])
    if record is not None and str(name) in _record_members(record, outer):
        return f"{field} is read-only: the record has it, and this call does not take it"
    known = _model_members(model, outer) if model is not None else ()
    return f"{field} is not a member of this call{did_you_mean_suffix(str(name), known)}"


def did_you_mean_suffix(name: str, known_names: Collection[str]) -> str:
    """The end of the sentence: the nearest known name, or nothing."""
    nearest = _nearest(name, known_names)
    return f"; did you mean {nearest}?" if nearest else ""


def _nearest(name: str, known: Collection[str]) -> str | None:
    """The most similar known name, None if none is similar."""
    if len(name) > _LONGEST:
        return None
    plain = {one: _plain(one) for one in known}
    found = process.extractOne(_plain(name), plain, scorer=_likeness, score_cutoff=_NEAREST)
    return found[2] if found else None


def _plain(name: str) -> str:
    return _MARKS.sub("", name.lower())


def _likeness(one: str, other: str, **_: object) -> float:
    whole = fuzz.ratio(one, other)
    if min(len(one), len(other)) < _SHORTEST_PART or not (one in other or other in one):
        return whole
    return max(whole, _NEAREST + whole / 10)  # one name contains the other; the longest match wins


def _model_members(model: type[BaseModel], location: Iterable[int | str]) -> list[str]:
    """The members of the object at a location in a body."""
    found: list[Any] = [model]
    for part in location:
        found = [inner for one in found for inner in _inside_model(one, part)] or found  # or the tag of a union
    return [name for one in found if _is_model(one) for name in _aliases(one)]


def _inside_model(annotation: Any, part: int | str) -> Iterator[Any]:
    if _is_model(annotation):
        if (held := _aliases(annotation).get(str(part))) is not None:
            yield from _options(held)
    elif args := get_args(annotation):  # of a list, or the values of a dict
        yield from _options(args[-1])


@cache
def _aliases(model: type[BaseModel]) -> dict[str, Any]:
    return {info.alias or to_camel(name): info.annotation for name, info in model.model_fields.items()}


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _record_members(record: type[msgspec.Struct], location: Iterable[int | str]) -> frozenset[str]:
    found: list[Any] = [record]
    for part in location:
        found = [inner for one in found for inner in _inside_record(one, part)]
    return frozenset(name for one in found if _is_record(one) for name in _encoded(one))


def _inside_record(annotation: Any, part: int | str) -> Iterator[Any]:
    if _is_record(annotation):
        if (held := _encoded(annotation).get(str(part))) is not None:
            yield from _options(held)
    elif isinstance(part, int) and (args := get_args(annotation)):
        yield from _options(args[0])


@cache
def _encoded(record: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(record)}


def _is_record(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, msgspec.Struct)


def _options(annotation: Any) -> Iterator[Any]:
    """The types in an annotation, without their metadata."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _options(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for one in get_args(annotation):
            yield from _options(one)
    else:
        yield annotation
