"""A curl example of each operation, ready to paste into a shell.

An operation that needs a record takes the newest one of its kind, from the list; where there is no list, it makes one.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from almoner.platform.http.ids import ID_TYPE_KEYWORD, SUCH_AS_KEYWORD

Schema = dict[str, Any]

PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

_OPAQUE: Final = 26
"""Characters of an identifier behind its type."""
_VARIABLE: Final = re.compile(r"\$[a-z]+")


class CurlExamples:
    """Writes curl examples for the operations of a description."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._paths: Mapping[str, Mapping[str, Schema]] = description["paths"]
        self._schemas: Mapping[str, Schema] = description["components"]["schemas"]
        self._sources = dict(self._find_sources())

    def curl_example(self, method: str, path: str, operation: Schema) -> str:
        """The lines of a curl call, preceded by those that fetch what it needs."""
        fetched: dict[str, str] = {}
        for type_ in self._needed(operation):
            self._fetch(type_, fetched)
        lines = list(fetched.values())
        if self._upload(operation):
            lines.append(f"echo {PIXEL} | base64 -d > image.png")
        return "\n".join([*lines, self._curl(method, path, operation)])

    def _needed(self, operation: Schema) -> list[str]:
        """The types of the identifiers that a call names."""
        ids = {**_path_ids(operation), **self._body_ids(operation), **self._body_id_lists(operation)}
        parts = [value[1:] for value in self._parts(operation).values() if value.startswith("$")]
        return [*ids.values(), *parts]

    def _fetch(self, type_: str, fetched: dict[str, str]) -> None:
        """Add the line that sets ``$<type>``, after those that it needs itself."""
        if type_ in fetched:
            return
        method, path = self._sources[type_]
        operation = self._paths[path][method]
        for needed in self._needed(operation):
            self._fetch(needed, fetched)
        call = self._curl(method, path, operation, first=True)
        prefix = self._example(type_)[:-_OPAQUE]
        fetched[type_] = f"{type_}=$({call} | grep -o '{prefix}[0-9a-z]*' | head -n 1)"

    def _curl(self, method: str, path: str, operation: Schema, *, first: bool = False) -> str:
        """One line, or one with the lines of its body; ``first`` asks on one line for one record only."""
        address = path
        for parameter in operation["parameters"]:
            if parameter["in"] == "path":
                type_ = parameter["schema"].get(ID_TYPE_KEYWORD)
                value = f"${type_}" if type_ else parameter["schema"]["examples"][0]
                address = address.replace(f"{{{parameter['name']}}}", str(value))
        parts = ["curl -s"]
        if method not in ("get", "post") or (method == "post" and "requestBody" not in operation):
            parts.append(f"-X {method.upper()}")
        parts.append(f'"$api{address}{_query(operation, first=first)}"')
        if operation["security"]:
            parts.append('-H "Authorization: $key"')
        if upload := self._upload(operation):
            parts += [f'-F "{name}={value}"' for name, value in self._parts(operation).items()]
            parts.append(f"-F {upload}=@image.png")
        elif "requestBody" in operation:
            body = _curl_body(msgspec.json.encode(self._body(operation)), inline=first)
            parts.append(f"-H 'Content-Type: application/json' -d {body}")
        return " ".join(parts)

    def lists(self) -> dict[str, str]:
        """By type of identifier the path of the list that has such records."""
        return {
            type_: path
            for type_, (method, path) in self._sources.items()
            if method == "get" and not any(one["required"] for one in self._paths[path][method]["parameters"])
        }

    def example_values(self, operation: Schema) -> dict[str, Any]:
        """What the call is given beside its path; ``$donation`` stands for the identifier of a donation."""
        if self._upload(operation):
            return dict(self._parts(operation))
        given = {
            one["name"]: one["schema"]["examples"][0]
            for one in operation["parameters"]
            if one["in"] == "query" and one["required"]
        }
        return {**given, **self._body(operation)} if "requestBody" in operation else given

    def _body(self, operation: Schema) -> dict[str, Any]:
        example = dict(operation["requestBody"]["content"]["application/json"]["example"])
        for name, type_ in self._body_ids(operation).items():
            example[name] = f"${type_}"
        for name, type_ in self._body_id_lists(operation).items():
            example[name] = [f"${type_}"]
        for name in self._body_days(operation).intersection(example):
            example[name] = "$(date -u +%F)"
        return example

    def _body_ids(self, operation: Schema) -> dict[str, str]:
        """Members of the body that hold identifiers of records one can get: what is required, or in the example."""
        schema = self._body_schema(operation)
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        needed = {*schema.get("required", ()), *content.get("example", ())}
        return {
            name: option.get(ID_TYPE_KEYWORD) or option[SUCH_AS_KEYWORD]
            for name, property_ in schema.get("properties", {}).items()
            for option in (property_, *property_.get("anyOf", ()))
            if name in needed and {ID_TYPE_KEYWORD, SUCH_AS_KEYWORD} & option.keys()
        }

    def _body_id_lists(self, operation: Schema) -> dict[str, str]:
        """Members of a new record's body that hold a list of identifiers, at least one."""
        schema = self._body_schema(operation) if operation["operationId"].startswith("create") else {}
        return {
            name: property_["items"][ID_TYPE_KEYWORD]
            for name, property_ in schema.get("properties", {}).items()
            if property_.get("minItems") and property_.get("items", {}).get(ID_TYPE_KEYWORD) in self._sources
        }

    def _body_days(self, operation: Schema) -> set[str]:
        """Members that take a day: one written down would be too long ago some day."""
        properties = self._body_schema(operation).get("properties", {})
        return {
            name
            for name, property_ in properties.items()
            for option in (property_, *property_.get("anyOf", ()))
            if any(one.get("format") == "date" for one in option.get("anyOf", ()))
        }

    def _parts(self, operation: Schema) -> dict[str, str]:
        """Text parts beside a file: what is required, and the first of several that name whose it is."""
        schema = self._multipart(operation)
        made: dict[str, str] = {}
        for name, property_ in schema.get("properties", {}).items():
            option = next(one for one in (property_, *property_.get("anyOf", ())) if "type" in one)
            type_ = option.get(ID_TYPE_KEYWORD)
            if type_ and not made:
                made[name] = f"${type_}"
            elif name in schema["required"] and option.get("format") != "binary":
                made[name] = str((option.get("examples") or option["enum"])[0])
        return made

    def _body_schema(self, operation: Schema) -> Schema:
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        return self._named(content["schema"]) if content else {}

    def _multipart(self, operation: Schema) -> Schema:
        content = operation.get("requestBody", {}).get("content", {}).get("multipart/form-data", {})
        return self._named(content.get("schema", {}))

    def _upload(self, operation: Schema) -> str | None:
        """The part that is the file: the last of what a form holds."""
        return next(reversed(self._multipart(operation).get("properties", {})), None)

    def _find_sources(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Type of identifier to the call that one gets such identifiers from.

        Lists win over creations, and these over creations that belong to another record.
        """
        for method, inner in (("post", True), ("post", False), ("get", False)):
            for path, item in self._paths.items():
                operation = item.get(method)
                if operation is None or ("{" in path) is not inner:
                    continue
                if type_ := self._answers_with(operation):
                    yield type_, (method, path)

    def _answers_with(self, operation: Schema) -> str | None:
        content = operation["responses"].get("200", {}).get("content", {}).get("application/json", {})
        data = self._named(content.get("schema", {})).get("properties", {}).get("data", {})
        ref = data.get("items", data).get("$ref")
        if ref is None:
            return None
        own = self._schemas[ref.rsplit("/", 1)[1]].get("properties", {}).get("id", {})
        found: str | None = own.get(ID_TYPE_KEYWORD)
        return found

    def _named(self, schema: Schema) -> Schema:
        found: Schema = self._schemas[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
        return found

    def _example(self, type_: str) -> str:
        """An identifier of a type, as some record shows it."""
        for schema in self._schemas.values():
            for property_ in schema.get("properties", {}).values():
                if property_.get(ID_TYPE_KEYWORD) == type_:
                    return str(property_["examples"][0])
        raise KeyError(type_)


def _curl_body(body: bytes, *, inline: bool) -> str:
    """The body as curl takes it: on the same line, or as lines of their own, in which the shell fills in variables."""
    if inline or body == b"{}":
        return "'" + _VARIABLE.sub("'\"\\g<0>\"'", body.decode()) + "'"
    return f"@- <<JSON\n{msgspec.json.format(body, indent=2).decode()}\nJSON"


def _path_ids(operation: Schema) -> dict[str, str]:
    return {
        parameter["name"]: parameter["schema"][ID_TYPE_KEYWORD]
        for parameter in operation["parameters"]
        if parameter["in"] == "path" and ID_TYPE_KEYWORD in parameter["schema"]
    }


def _query(operation: Schema, *, first: bool) -> str:
    parameters = [parameter for parameter in operation["parameters"] if parameter["in"] == "query"]
    wanted = [f"{one['name']}={one['schema']['examples'][0]}" for one in parameters if one["required"]]
    if first and any(one["name"] == "pageSize" for one in parameters):
        wanted.append("pageSize=1")
    return "?" + "&".join(wanted) if wanted else ""
