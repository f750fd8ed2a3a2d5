"""A description whose operations hold their shared parameters, responses and examples instead of referring to them."""

from collections.abc import Mapping
from typing import Any, Final

_KINDS: Final = ("parameters", "responses", "examples")


def with_shared_parts(description: Mapping[str, Any]) -> dict[str, Any]:
    """The same description, in which only schemas and headers are references."""
    shared = {
        f"#/components/{kind}/{name}": part
        for kind in _KINDS
        for name, part in description["components"].get(kind, {}).items()
    }
    made: dict[str, Any] = _put_in(dict(description), shared)
    return made


def _put_in(place: Any, shared: Mapping[str, Any]) -> Any:
    if isinstance(place, list):
        return [_put_in(item, shared) for item in place]
    if not isinstance(place, dict):
        return place
    if (part := shared.get(str(place.get("$ref")))) is not None:
        return _put_in(part, shared)
    return {key: _put_in(value, shared) for key, value in place.items()}
