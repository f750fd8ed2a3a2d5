"""``--set`` and ``--filter``: names and values as typed, as the arguments of a method of the client."""

import difflib
import inspect
import json
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from almoner_client._records import Body
from almoner_client.cli.failures import UsageError

_NOT_TYPED = {"self", "cursor", "direction", "page_size", "timeout", "idempotency_key", "id", "action", "wait"}


def snake(name: str) -> str:
    """``organisationId`` as Python spells it."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), name)


def camel(name: str) -> str:
    """``organisation_id`` as the API spells it."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def names_of(method: Callable[..., Any]) -> list[str]:
    """The fields that a method takes, in Python's spelling."""
    return [name for name in inspect.signature(method).parameters if name not in _NOT_TYPED]


def required_of(method: Callable[..., Any]) -> list[str]:
    """The fields that it cannot do without."""
    parameters = inspect.signature(method).parameters
    return [name for name in names_of(method) if parameters[name].default is inspect.Parameter.empty]


def read_fields(pairs: Iterable[str], methods: Sequence[Callable[..., Any]], option: str) -> dict[str, Any]:
    """The arguments that ``name=value`` stand for, of any of the methods. Raises UsageError.

    ``metadata.campaign=winter`` sets one member of an object.
    """
    hints: dict[str, Any] = {}
    for method in methods:
        known = get_type_hints(method)
        hints |= {name: known[name] for name in names_of(method) if name not in hints}
    made: dict[str, Any] = {}
    for pair in pairs:
        path, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"{option} {pair} has no value.", f"Write {option} field=value.")
        first, *inner = path.split(".")
        name = snake(first)
        if name not in hints:
            raise _unknown(first, hints, option)
        _put(made, name, inner, _read(value, _inner_hint(hints[name], inner), path))
    return made


def closest(name: str, names: Sequence[str], what: str) -> str:
    """What to write instead of a name that is unknown."""
    near = difflib.get_close_matches(name, names, 1)
    return f"Did you mean {near[0]}?" if near else f"Possible {what}: {', '.join(names) or 'none'}."


def _unknown(name: str, hints: Mapping[str, Any], option: str) -> UsageError:
    advice = closest(name, [camel(one) for one in hints], "fields")
    return UsageError(f"{option} {name}: there is no such field.", advice)


def _put(made: dict[str, Any], name: str, inner: Sequence[str], value: Any) -> None:
    for step in inner:
        made = made.setdefault(name, {})
        if not isinstance(made, dict):
            raise UsageError(f"{name} is set as a whole and in part.", "Use one of the two.")
        name = step
    made[name] = value


def _inner_hint(hint: Any, inner: Sequence[str]) -> Any:
    """The type of a member of an object."""
    for step in inner:
        hint = _plain(hint)
        if isinstance(hint, type) and issubclass(hint, Body):
            own = {hint.wire_names.get(name, name): one for name, one in get_type_hints(hint).items()}
            hint = own.get(step, Any)
        else:
            arguments = get_args(hint)
            hint = arguments[1] if get_origin(hint) is dict else Any
    return hint


def _plain(hint: Any) -> Any:
    """A type without what may stand in its place: nothing, or what is left out."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    kinds = [one for one in get_args(hint) if one is not types.NoneType and one.__name__ != "Omitted"] or [str]
    return str if str in kinds and int not in kinds else kinds[0] if len(kinds) == 1 else Any


def _read(text: str, hint: Any, path: str) -> Any:
    kind = _plain(hint)
    if kind is str or get_origin(kind) is Literal:
        return text
    if kind is bool and text in ("true", "false"):
        return text == "true"
    if kind is int:
        try:
            return int(text)
        except ValueError:
            raise UsageError(
                f"{path}={text}: that is no whole number.", "Amounts are in cents: 25.00 is 2500."
            ) from None
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return _listed(value) if get_origin(kind) is list and not isinstance(value, list) else value


def _listed(value: Any) -> list[Any]:
    return value.split(",") if isinstance(value, str) else [value]
