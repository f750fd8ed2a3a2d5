"""A call of each operation with the clients, as the reference shows it; a test runs all of them.

``$donation`` in an example stands for the identifier of a donation: ``donation_id`` in Python, ``donationId`` in
TypeScript.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from almoner.platform.http.ids import ID_TYPE_KEYWORD
from tools.clients.api_model import Api, Field, Model, Operation, words_of
from tools.clients.python_client import snake
from tools.clients.typescript_client import camel, method_name

TODAY: Final = "$(date -u +%F)"
_VARIABLE: Final = re.compile(r"\$[a-z]+")
_PYTHON_IMPORTS: Final = {
    "date.": "from datetime import date",
    "datetime.": "from datetime import datetime",
    "models.": "from almoner_client import models",
}
_TYPESCRIPT_IMPORTS: Final = {"fromPath(": 'import { fromPath } from "almoner-client/node";'}


class Samples:
    """Writes calls in Python and TypeScript. ``id_names``: the words of each type of identifier."""

    def __init__(self, api: Api, id_names: Mapping[str, Sequence[str]]) -> None:
        self._models: dict[str, Model] = {model.name: model for model in api.models}
        self._id_names = id_names

    def python(self, operation: Operation, values: Mapping[str, Any]) -> str:
        """The lines of a call in Python."""
        place = f"client.{snake(operation.resource)}.{'_'.join(operation.words)}"
        arguments = [self._python_value(path_value(field)) for field in operation.path_fields]
        if operation.upload is not None:
            arguments.append(f'{snake(operation.upload.name)}="image.png"')
        for field in _given_fields(operation, values):
            made = self._python_value(values[field.wire], field.schema)
            arguments.append(f"{snake(field.name)}={made}")
        call = _call(place, arguments)
        head = _imports(_PYTHON_IMPORTS, call)
        if operation.answer == "list":
            return f"{head}page = {call}\nprint(page.total_results, page.data)"
        if operation.answer == "empty":
            return head + call
        name = snake(operation.record or "record")
        return f"{head}{name} = {call}\nprint({name})"

    def typescript(self, operation: Operation, values: Mapping[str, Any]) -> str:
        """The lines of a call in TypeScript."""
        place = f"client.{camel(words_of(operation.resource))}.{method_name(operation)}"
        arguments = [self._typescript_value(path_value(field)) for field in operation.path_fields]
        given = [
            f"{_member(field.wire)}: {self._typescript_value(values[field.wire])}"
            for field in _given_fields(operation, values)
        ]
        if operation.upload is not None:
            given.append(f'{operation.upload.wire}: await fromPath("image.png")')
        if given:
            arguments.append(_block("{ ", given, " }"))
        call = f"await {place}({', '.join(arguments)})"
        head = _imports(_TYPESCRIPT_IMPORTS, call)
        if operation.answer == "list":
            return f"{head}const page = {call};\nconsole.log(page.totalResults, page.data);"
        if operation.answer == "empty":
            return f"{head}{call};"
        name = camel(words_of(operation.record or "record"))
        return f"{head}const {name} = {call};\nconsole.log({name});"

    def _python_value(self, value: Any, schema: Mapping[str, Any] | None = None) -> str:
        options = [schema or {}, *(schema or {}).get("anyOf", ())]
        if isinstance(value, dict):
            return self._python_object(value, options)
        if isinstance(value, list):
            inner = next((one["items"] for one in options if "items" in one), None)
            return f"[{', '.join(self._python_value(one, inner) for one in value)}]"
        if value == TODAY:
            return "date.today()"
        if isinstance(value, str) and _VARIABLE.fullmatch(value):
            return f"{snake(camel(self._id_names[value[1:]]))}_id"
        if isinstance(value, str) and any(one.get("format") == "date-time" for one in options):
            return f"datetime.fromisoformat({json.dumps(value)})"
        return repr(value) if value is None or isinstance(value, bool) else json.dumps(value, ensure_ascii=False)

    def _python_object(self, value: Mapping[str, Any], options: Sequence[Mapping[str, Any]]) -> str:
        names = [str(one["$ref"]).rsplit("/", 1)[1] for one in options if "$ref" in one]
        model = next((self._models[name] for name in names if name in self._models), None)
        if model is None or not model.is_input:
            return (
                "{" + ", ".join(f"{json.dumps(name)}: {self._python_value(one)}" for name, one in value.items()) + "}"
            )
        made = [
            f"{snake(field.wire)}={self._python_value(value[field.wire], field.schema)}"
            for field in model.fields
            if field.wire in value
        ]
        return f"models.{model.name}({', '.join(made)})"

    def _typescript_value(self, value: Any) -> str:
        if isinstance(value, dict):
            members = (f"{_member(name)}: {self._typescript_value(one)}" for name, one in value.items())
            return "{ " + ", ".join(members) + " }"
        if isinstance(value, list):
            return f"[{', '.join(map(self._typescript_value, value))}]"
        if value == TODAY:
            return "new Date().toISOString().slice(0, 10)"
        if isinstance(value, str) and _VARIABLE.fullmatch(value):
            return f"{camel(self._id_names[value[1:]])}Id"
        return json.dumps(value, ensure_ascii=False)


def path_value(field: Field) -> str:
    """What stands for a part of a path: ``$donation``, or an example."""
    type_ = field.schema.get(ID_TYPE_KEYWORD)
    return f"${type_}" if type_ else str(field.schema["examples"][0])


def _given_fields(operation: Operation, values: Mapping[str, Any]) -> list[Field]:
    fields = [*(operation.body_fields or ()), *operation.query_fields]
    return [field for field in fields if field.wire in values]


def _imports(lines: Mapping[str, str], call: str) -> str:
    """The imports that a call needs beside the client, above it."""
    needed = [line for name, line in lines.items() if re.search(rf"\b{re.escape(name)}", call)]
    return "".join(f"{line}\n" for line in needed) + "\n" * bool(needed)


def _member(name: str) -> str:
    plain = name.removesuffix("[]")
    return plain if re.fullmatch(r"[A-Za-z_]\w*", plain) else json.dumps(plain)


def _call(place: str, arguments: Sequence[str]) -> str:
    return place + _block("(", arguments, ")")


def _block(start: str, parts: Sequence[str], end: str) -> str:
    """On one line where it is short, else each part on its own."""
    line = f"{start}{', '.join(parts)}{end}"
    if len(line) <= 60:
        return line
    return "\n".join([start.rstrip(), *(f"    {part}," for part in parts), end.lstrip()])
