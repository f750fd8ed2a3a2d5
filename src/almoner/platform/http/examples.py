"""Deterministic examples that are valid by their schemas.

Values that a schema declares (``examples``, ``const``, ``default``) come first, then what the field's name implies,
then the smallest value that the schema allows.
"""

from collections.abc import Mapping
from typing import Any, Final

from almoner.platform.http import conventions
from almoner.platform.http.conventions import Schema
from almoner.platform.http.ids import ID_TYPE_KEYWORD

_REF: Final = "#/components/schemas/"
_FORMATS: Final = {
    "date-time": conventions.MOMENT,
    "date": conventions.MOMENT[:10],
    "uri": "https://example.org/",
    "uuid": "0190f2c4-5a2e-7cc3-9a4b-1d2e3f405162",
}
_WORD: Final = "text"


class ExampleBuilder:
    """Builds examples from schemas; ``schemas`` are the referenced components."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas

    def response_example(self, schema: Schema) -> Any:
        """An example response record."""
        return self._make(schema, "", whole=True)

    def request_example(self, schema: Schema) -> Any:
        """An example request body: required members and those with a declared example."""
        return self._make(schema, "", whole=False)

    def field_examples(self, schema: Schema, name: str, declared_example: Any = None) -> list[Any]:
        """Example values of a member of this name, the kept one first; with null where whole records show that."""
        value = self._make(schema, name, whole=True) if declared_example is None else declared_example
        if value in ({}, [], None):
            return []
        return [value, None] if self._stays_null(schema, name) else [value]

    def resolve_reference(self, schema: Schema) -> Schema:
        """The schema that a ``$ref`` names."""
        if "allOf" in schema:
            parts = [self.resolve_reference(part) for part in schema["allOf"]]
            properties = {name: value for part in parts for name, value in part.get("properties", {}).items()}
            required = list(dict.fromkeys(name for part in parts for name in part.get("required", ())))
            return {"type": "object", "properties": properties, "required": required}
        if "$ref" not in schema:
            return schema
        named = self._schemas[schema["$ref"].removeprefix(_REF)]
        return {**self.resolve_reference(named), **{key: value for key, value in schema.items() if key != "$ref"}}

    def _make(self, given: Schema, name: str, *, whole: bool) -> Any:
        schema = self.resolve_reference(given)
        if schema.get("examples"):
            return schema["examples"][0]
        if values := schema.get("enum") or schema.get("x-extensible-enum"):
            return conventions.example_enum_value(values)
        for keyword in ("const", "default"):
            if schema.get(keyword) is not None:
                return schema[keyword]
        if options := schema.get("anyOf"):
            return self._make(next(option for option in options if not _is_null(option)), name, whole=whole)
        kind = next(iter(kind for kind in _schema_types(schema) if kind != "null"), "object")
        if kind == "object":
            return self._object(schema, name, whole=whole)
        if kind == "array":
            return self._array(schema, name, whole=whole)
        return _scalar_example(kind, schema, name)

    def _object(self, schema: Schema, name: str, *, whole: bool) -> Any:
        properties = schema.get("properties")
        if not properties:
            return conventions.field_example(name) or {}
        required = schema.get("required", ())
        result: dict[str, Any] = {}
        for key, value in properties.items():
            wanted = key in required or (not whole and self._is_declared(value) and not self._is_id(value))
            if wanted and whole and self._stays_null(value, key):
                result[key] = None
            elif wanted:
                result[key] = self._make(value, key, whole=whole)
        return result

    def _array(self, schema: Schema, name: str, *, whole: bool) -> Any:
        known = conventions.field_example(name)
        if isinstance(known, list):
            return known
        items = schema.get("items", {})
        return [self._make(items, name.removesuffix("s"), whole=whole)] if items else []

    def _stays_null(self, given: Schema, name: str) -> bool:
        schema = self.resolve_reference(given)
        if None in schema.get("examples", ()):
            return True
        may_be_null = "null" in _schema_types(schema) or any(map(_is_null, schema.get("anyOf", ())))
        shown = conventions.has_non_null_example(name) or (self._is_declared(given) and not self._is_id(given))
        return may_be_null and not shown

    def _is_id(self, given: Schema) -> bool:
        schema = self.resolve_reference(given)
        return any(ID_TYPE_KEYWORD in option for option in (schema, *schema.get("anyOf", ())))

    def _is_declared(self, given: Schema) -> bool:
        schema = self.resolve_reference(given)
        return bool(schema.get("examples")) or any(option.get("examples") for option in schema.get("anyOf", ()))


def _schema_types(schema: Schema) -> list[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _is_null(schema: Schema) -> bool:
    return schema.get("type") == "null"


def _scalar_example(kind: str, schema: Schema, name: str) -> Any:
    known = conventions.field_example(name)
    match kind:
        case "string":
            if isinstance(known, str) and len(known) <= schema.get("maxLength", len(known)):
                return known
            format_ = schema.get("format", "")
            word = _FORMATS.get(format_, _WORD)
            return word.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]
        case "integer" | "number":
            if isinstance(known, int):
                return known
            return max(schema.get("minimum", 0), schema.get("exclusiveMinimum", -1) + 1)
        case _:
            return known is True
