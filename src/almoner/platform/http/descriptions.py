"""Descriptions of tags, parameters and members that a declaration does not give itself: ``descriptions.toml``."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from almoner.platform.http.conventions import Schema

FILE: Final = Path(__file__).with_name("descriptions.toml")


class ApiDescriptions:
    """Looks descriptions up, first by place (``Donation.amount``), then by name."""

    def __init__(self) -> None:
        texts: Mapping[str, Any] = tomllib.loads(FILE.read_text("utf-8"))
        self._tags: Mapping[str, str] = texts["tags"]
        self._identifiers: Mapping[str, str] = texts["identifiers"]
        self._parameters: Mapping[str, str] = texts["parameters"]
        self._members: Mapping[str, str] = texts["members"]
        self._examples: Mapping[str, Any] = texts["examples"]

    def describe_tag(self, name: str) -> Schema:
        """A tag with its description."""
        found = _find(self._tags, name)
        return {"name": name, "description": found} if found else {"name": name}

    @property
    def identifier_descriptions(self) -> Mapping[str, str]:
        """Descriptions of the identifier types."""
        return self._identifiers

    def parameter_description(self, operation: str, name: str) -> str | None:
        """The description of an operation's parameter."""
        key = name.removesuffix("[]")
        found: str | None = _find(self._parameters, f"{operation}.{key}", key)
        return found

    def find_example(self, owner_name: str, name: str) -> Any:
        """The example of a field or parameter with this name; None if there is none."""
        return _find(self._examples, f"{owner_name}.{name}", name.removesuffix("[]"))

    def describe_schema(self, name: str, schema: Schema) -> Schema:
        """The schema with a description for each of its members."""
        result = dict(schema)
        if "properties" in result:
            result["properties"] = {key: self._member(name, key, one) for key, one in result["properties"].items()}
        return result

    def _member(self, schema: str, name: str, property_: Schema) -> Schema:
        described = _described(property_)
        if described.get("description"):
            return described
        found = _find(self._members, f"{schema}.{name}", name)
        return {**described, "description": found} if found else described


def _find(texts: Mapping[str, Any], *keys: str) -> Any:
    return next((texts[key] for key in keys if key in texts), None)


def _described(property_: Schema) -> Schema:
    """The property with its description outside its alternatives."""
    if property_.get("description"):
        return property_
    for option in property_.get("anyOf", ()):
        if text := option.get("description"):
            inner = [{key: value for key, value in one.items() if key != "description"} for one in property_["anyOf"]]
            return {**property_, "anyOf": inner, "description": text}
    return property_
