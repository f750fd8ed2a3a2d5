"""A description that holds its shared parameters, responses, examples and identifiers instead of referring to them."""

from collections.abc import Mapping
from typing import Any, Final

from almoner.platform.http.ids import ID_TYPE_KEYWORD

_KINDS: Final = ("parameters", "responses", "examples")


def with_shared_parts(description: Mapping[str, Any]) -> dict[str, Any]:
    """The same description, in which only records, bodies and headers are references."""
    shared = {
        f"#/components/{kind}/{name}": part
        for kind in _KINDS
        for name, part in description["components"].get(kind, {}).items()
    }
    shared |= {
        f"#/components/schemas/{name}": schema
        for name, schema in description["components"]["schemas"].items()
        if ID_TYPE_KEYWORD in schema
    }
    made: dict[str, Any] = _put_in(dict(description), shared)
    return made


def _put_in(place: Any, shared: Mapping[str, Any]) -> Any:
    if isinstance(place, list):
        return [_put_in(item, shared) for item in place]
    if not isinstance(place, dict):
        return place
    if (part := shared.get(str(place.get("$ref")))) is not None:
        return {**_put_in(part, shared), **{key: value for key, value in place.items() if key != "$ref"}}
    return {key: _put_in(value, shared) for key, value in place.items()}
