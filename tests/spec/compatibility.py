"""What in a description of the interface would break a client that was made from an earlier one.

What clients send: the new description takes all that the old one took. What they are sent: it gives nothing that the
old one did not allow, but for new members and new values of open enums, which clients must accept.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

Direction = Literal["sent", "received"]
"""By a client: bodies and parameters, or answers and events."""

_UPPER: Final = ("maxLength", "maximum", "maxItems", "maxProperties")
_LOWER: Final = ("minLength", "minimum", "minItems", "minProperties")
_EXACT: Final = ("pattern", "format", "contentMediaType")


def find_breaking_changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """One sentence for each, empty where every client goes on working."""
    return list(dict.fromkeys(_Comparison(old, new).find()))


class _Comparison:
    def __init__(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        self._old, self._new = old, new
        self._seen: set[tuple[Direction, str, str]] = set()

    def find(self) -> Iterator[str]:
        for path, item in self._old["paths"].items():
            for method, operation in item.items():
                where = f"{method.upper()} {path}"
                if (now := self._new["paths"].get(path, {}).get(method)) is None:
                    yield f"{where} is gone"
                else:
                    yield from self._operation(operation, now, where)
        for name, item in self._old["webhooks"].items():
            if (now := self._new["webhooks"].get(name)) is None:
                yield f"event {name} is gone"
            else:
                yield from self._contents(item["post"]["requestBody"], now["post"]["requestBody"], "received", name)

    def _operation(self, old: dict[str, Any], new: dict[str, Any], where: str) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"{where} has another operationId"
        before, now = old.get("security", []), new.get("security", [])
        if now and (not before or any(one not in now for one in before)):
            yield f"{where} takes fewer keys"
        yield from self._parameters(old.get("parameters", ()), new.get("parameters", ()), where)
        if "requestBody" in old and "requestBody" not in new:
            yield f"{where} takes no body any more"
        elif "requestBody" in old:
            yield from self._contents(old["requestBody"], new["requestBody"], "sent", where)
        if new.get("requestBody", {}).get("required") and not old.get("requestBody", {}).get("required"):
            yield f"{where} requires a body"
        for status in [one for one in old["responses"] if one.startswith("2")]:
            if status not in new["responses"]:
                yield f"{where} does not answer {status} any more"
            else:
                answers = (
                    self._deref(self._old, old["responses"][status]),
                    self._deref(self._new, new["responses"][status]),
                )
                yield from self._contents(*answers, "received", f"{where} {status}")

    def _parameters(self, old: Iterable[Any], new: Iterable[Any], where: str) -> Iterator[str]:
        before = {(one["in"], one["name"]): one for one in (self._deref(self._old, given) for given in old)}
        now = {(one["in"], one["name"]): one for one in (self._deref(self._new, given) for given in new)}
        for key, parameter in before.items():
            if key not in now:
                yield f"{where} parameter {key[1]} is gone"
            else:
                yield from self._schema(parameter["schema"], now[key]["schema"], "sent", f"{where} parameter {key[1]}")
        for key, parameter in now.items():
            if parameter.get("required") and not before.get(key, {}).get("required"):
                yield f"{where} requires parameter {key[1]}"

    def _contents(self, old: dict[str, Any], new: dict[str, Any], direction: Direction, where: str) -> Iterator[str]:
        for kind, content in old.get("content", {}).items():
            if kind not in new.get("content", {}):
                yield f"{where}: {kind} is gone"
            elif "schema" in content:
                yield from self._schema(content["schema"], new["content"][kind]["schema"], direction, where)

    def _schema(self, old: Any, new: Any, direction: Direction, where: str) -> Iterator[str]:
        if "$ref" in old and "$ref" in new:
            key = (direction, old["$ref"], new["$ref"])
            if key in self._seen:
                return
            self._seen.add(key)
        before, now = self._options(self._old, old), self._options(self._new, new)
        wanted, allowed = (before, now) if direction == "sent" else (now, before)
        for option in wanted:
            fits = [
                list(self._option(*((option, other) if direction == "sent" else (other, option)), direction, where))
                for other in allowed
            ]
            if fits and all(fits):
                yield from min(fits, key=len)
            elif not fits:
                yield f"{where} has no form any more"

    def _option(self, old: Any, new: Any, direction: Direction, where: str) -> Iterator[str]:
        """Of one type each."""
        kinds = (old.get("type"), new.get("type"))
        narrow, wide = kinds if direction == "sent" else (kinds[1], kinds[0])
        if wide is not None and narrow != wide and (narrow, wide) != ("integer", "number"):
            yield f"{where} was {kinds[0] or 'anything'} and is {kinds[1] or 'anything'}"
            return
        yield from _values(old, new, direction, where)
        yield from _limits(old, new, direction, where)
        yield from self._members(old, new, direction, where)
        for keyword in ("items", "additionalProperties"):
            if isinstance(old.get(keyword), dict) and isinstance(new.get(keyword), dict):
                yield from self._schema(old[keyword], new[keyword], direction, f"{where}[]")

    def _members(self, old: Any, new: Any, direction: Direction, where: str) -> Iterator[str]:
        before, now = old.get("properties", {}), new.get("properties", {})
        for name, schema in before.items():
            if name not in now:
                yield f"{where}.{name} is gone"
            else:
                yield from self._schema(schema, now[name], direction, f"{where}.{name}")
        required, requires = set(old.get("required", ())), set(new.get("required", ()))
        if direction == "sent":
            yield from (f"{where}.{name} is required" for name in sorted(requires - required))
        else:
            yield from (f"{where}.{name} may be left out" for name in sorted((required - requires) & now.keys()))

    def _options(self, description: dict[str, Any], given: Any) -> list[Any]:
        """The schema as alternatives of one type each, references and parts put in."""
        schema = self._deref(description, given)
        if "allOf" in schema:
            parts = [option for part in schema["allOf"] for option in self._options(description, part)]
            merged: dict[str, Any] = {**schema, "type": "object", "properties": {}, "required": []}
            del merged["allOf"]
            for part in parts:
                merged["properties"] |= part.get("properties", {})
                merged["required"] = [*merged["required"], *part.get("required", ())]
            return [merged]
        if options := schema.get("anyOf") or schema.get("oneOf"):
            beside = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
            return [{**beside, **one} for option in options for one in self._options(description, option)]
        kinds = schema.get("type")
        return [{**schema, "type": kind} for kind in (kinds if isinstance(kinds, list) else [kinds])]

    def _deref(self, description: dict[str, Any], given: Any) -> Any:
        if "$ref" not in given:
            return given
        found: Any = description
        for part in given["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return self._deref(description, found)


def _values(old: Any, new: Any, direction: Direction, where: str) -> Iterator[str]:
    before, now = _closed_values(old), _closed_values(new)
    narrow, wide = (before, now) if direction == "sent" else (now, before)
    if wide is None:
        return
    if narrow is None:
        yield f"{where} has other values"
    else:
        yield from (
            f"{where} {'no longer takes' if direction == 'sent' else 'has the new value'} {value!r}"
            for value in narrow
            if value not in wide
        )


def _closed_values(schema: Any) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _limits(old: Any, new: Any, direction: Direction, where: str) -> Iterator[str]:
    for keyword in _EXACT:
        if new.get(keyword) != old.get(keyword) and (direction == "received" or keyword in new):
            yield f"{where} has another {keyword}"
    if direction == "received":
        return
    for keyword in _UPPER:
        if keyword in new and new[keyword] < old.get(keyword, float("inf")):
            yield f"{where} has a smaller {keyword}"
    for keyword in _LOWER:
        if keyword in new and new[keyword] > old.get(keyword, 0):
            yield f"{where} has a larger {keyword}"
