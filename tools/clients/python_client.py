"""The generated modules of ``clients/python``: records, what stands in bodies, methods, error codes, events."""

import keyword
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from tools.clients.api_model import Api, Field, Model, Operation, Schema, type_names, words_of

FOLDER: Final = "clients/python/src/almoner_client/_generated"
_HEAD: Final = "# Made from openapi.json by `make clients`; do not edit.\n"
_WIDTH: Final = 118
_SECRETS: Final = frozenset({"secret"})
"""Members that ``repr`` leaves out, so that logs do not show them."""


def render(api: Api) -> dict[str, str]:
    """Each file's text by its path."""
    texts = {
        "__init__.py": '"""Made from openapi.json by `make clients`; do not edit."""\n',
        "models.py": "\n".join(_models(api)),
        "codes.py": "\n".join(_codes(api)),
        "events.py": "\n".join(_events(api)),
        "resources.py": "\n".join(_resources(api, is_async=False)),
        "async_resources.py": "\n".join(_resources(api, is_async=True)),
    }
    return {f"{FOLDER}/{name}": text.rstrip("\n") + "\n" for name, text in texts.items()}


def snake(name: str) -> str:
    """A name in snake_case that is no keyword."""
    made = "_".join(words_of(name))
    return f"{made}_" if keyword.iskeyword(made) else made


def _class_of(resource: str) -> str:
    return "".join(word.capitalize() for word in words_of(resource)) + "Resource"


def python_type(schema: Schema, *, sent: bool) -> str:
    """The annotation of a value."""
    options = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if options:
        inner = " | ".join(dict.fromkeys(python_type(one, sent=sent) for one in options))
        return f"{inner} | None" if len(options) < len(schema["anyOf"]) else inner
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[1]
    kinds = type_names(schema)
    made = _plain_type(schema, next((kind for kind in kinds if kind != "null"), ""), sent=sent)
    return f"{made} | None" if "null" in kinds else made


def _plain_type(schema: Schema, kind: str, *, sent: bool) -> str:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if values is not None:
        return f"Literal[{', '.join(repr(value) for value in values)}]"
    match kind:
        case "string":
            if schema.get("format") == "date-time":
                return "datetime"
            return "date" if schema.get("format") == "date" and sent else "str"
        case "array":
            return f"List[{python_type(schema.get('items', {}), sent=sent)}]"
        case "object":
            inner = schema.get("additionalProperties")
            return f"Dict[str, {python_type(inner, sent=sent) if isinstance(inner, dict) else 'Any'}]"
        case _:
            return {"integer": "int", "number": "float", "boolean": "bool"}.get(kind, "Any")


def _doc(text: str, indent: str) -> Iterator[str]:
    """A docstring, broken into lines."""
    paragraphs = text.replace("\\", "\\\\").replace('"""', "'''").split("\n\n")
    lines: list[str] = []
    for paragraph in paragraphs:
        lines.append("")
        for line in paragraph.split("\n"):
            deeper = "    " if re.match(r"[a-z_]+: ", line) else ""
            lines += textwrap.wrap(line, _WIDTH - len(indent) - 6, subsequent_indent=deeper)
    first, *rest = lines[1:] or [""]
    if not rest:
        yield f'{indent}"""{first}"""'
        return
    yield f'{indent}"""{first}'
    yield from (f"{indent}{line}" if line else "" for line in rest)
    yield f'{indent}"""'


def _models(api: Api) -> Iterator[str]:
    yield _HEAD
    yield '"""Records that are answered, and what stands inside of bodies."""\n'
    yield "from __future__ import annotations\n"
    yield "from dataclasses import dataclass, field\nfrom datetime import date, datetime"
    yield "from typing import Any, ClassVar, Dict, List, Literal, Mapping\n"
    yield "from almoner_client._records import OMITTED, Body, Omitted, Record\n"
    for model in api.models:
        yield "\n@dataclass(frozen=True, kw_only=True)"
        yield from _model(model)
    yield f"\n\n__all__ = [{', '.join(repr(model.name) for model in api.models)}]".replace("'", '"')
    yield "_ = date"


def _model(model: Model) -> Iterator[str]:
    yield f"class {model.name}({'Body' if model.is_input else 'Record'}):"
    yield from _doc(model.text, "    ")
    yield ""
    names = {snake(field.wire): field.wire for field in model.fields}
    changed = {name: wire for name, wire in names.items() if name != wire}
    if changed:
        yield f"    wire_names: ClassVar[Mapping[str, str]] = {{{_pairs(changed)}}}"
    for field in model.fields:
        made = python_type(field.schema, sent=model.is_input)
        if model.is_input and not field.required:
            yield f"    {snake(field.wire)}: {made} | Omitted = OMITTED"
        else:
            optional = "" if field.required or made.endswith("| None") or model.is_input else " | None"
            shown = " = field(repr=False)" if field.wire in _SECRETS else ""
            yield f"    {snake(field.wire)}: {made}{optional}{shown}"
        yield from _doc(field.text, "    ")


def _pairs(names: dict[str, str]) -> str:
    return ", ".join(f'"{name}": "{wire}"' for name, wire in names.items())


def _codes(api: Api) -> Iterator[str]:
    bases = {
        400: "BadRequestError",
        401: "AuthenticationError",
        403: "PermissionDeniedError",
        404: "NotFoundError",
        409: "ConflictError",
        429: "RateLimitError",
    }
    classes = {code: _error_class(code) for code, _, _ in api.errors}
    yield _HEAD
    yield '"""One class for each error code."""\n'
    yield "from almoner_client import _errors\n"
    for code, status, message in api.errors:
        base = "ServerError" if status >= 500 else bases.get(status, "ApiError")
        yield f"\nclass {classes[code]}(_errors.{base}):"
        yield from _doc(f"`{code}`: {message}.", "    ")
        yield ""
    yield "\nERRORS_BY_CODE: dict[str, type[_errors.ApiError]] = {"
    for code, name in classes.items():
        yield f'    "{code}": {name},'
    yield "}"
    yield f"\n__all__ = [{', '.join(repr(name) for name in classes.values())}]".replace("'", '"')


def _error_class(code: str) -> str:
    return "".join(word.capitalize() for word in re.split("[/_]", code))


def _events(api: Api) -> Iterator[str]:
    yield _HEAD
    yield '"""Event types, with the record that each carries."""\n'
    yield "from almoner_client._generated import models"
    yield "from almoner_client._records import Record\n"
    yield "EVENT_RECORDS: dict[str, type[Record]] = {"
    for name, record in api.events:
        yield f'    "{name}": models.{record},'
    yield "}"


def _resources(api: Api, *, is_async: bool) -> Iterator[str]:
    core = "AsyncCore" if is_async else "SyncCore"
    page = "AsyncPages" if is_async else "Page"
    prefix = "Async" if is_async else ""
    yield _HEAD
    yield f'"""The methods of {"AsyncAlmoner" if is_async else "Almoner"}."""\n'
    yield "from __future__ import annotations\n"
    yield "from datetime import date, datetime\nfrom typing import Any, Dict, List, Literal\n"
    yield "from almoner_client._calls import Call, path_of"
    yield f"from almoner_client._core import {core}, {page}"
    yield "from almoner_client._generated.models import (" + ", ".join(_named_models(api)) + ")"
    yield "from almoner_client._records import OMITTED, Omitted"
    yield "from almoner_client._uploads import FileInput\n"
    for resource, operations in api.resources.items():
        yield f"\nclass {prefix}{_class_of(resource)}:"
        yield f'    """Calls of `/v1/{resource}`."""\n'
        yield f"    def __init__(self, core: {core}) -> None:\n        self._core = core"
        for operation in operations:
            yield ""
            yield from _method(operation, is_async=is_async)
            if operation.also is not None:
                yield ""
                yield from _method(operation, is_async=is_async, media_type=operation.also)
        yield ""
    yield f"\nclass {prefix}Resources:"
    yield '    """All resources, as attributes of a client."""\n'
    yield f"    def __init__(self, core: {core}) -> None:"
    for resource in api.resources:
        yield f"        self.{snake(resource)} = {prefix}{_class_of(resource)}(core)"
    yield "\n\n_ = (date, datetime, Any, Dict, List, Literal, OMITTED, Omitted, FileInput)"


def _named_models(api: Api) -> Iterable[str]:
    """Models that annotations of methods name."""
    found = {operation.record for operation in api.operations if operation.record}
    for operation in api.operations:
        for field in operation.body_fields or ():
            found |= set(re.findall(r"\b[A-Z]\w+", python_type(field.schema, sent=True)))
    return sorted(found & {model.name for model in api.models})


def _method(operation: Operation, *, is_async: bool, media_type: str | None = None) -> Iterator[str]:
    name = "_".join(operation.words) + (f"_{media_type.rsplit('/', 1)[1]}" if media_type else "")
    kind, returned = _answer(operation, is_async=is_async, media_type=media_type)
    awaited = is_async and kind != "page"
    yield f"    {'async ' if awaited else ''}def {name}("
    yield "        self,"
    for field in operation.path_fields:
        yield f"        {snake(field.name)}: str,"
    yield "        *,"
    if operation.upload is not None:
        yield f"        {snake(operation.upload.name)}: FileInput,"
    for field in sorted(operation.body_fields or (), key=lambda one: not one.required):
        made = python_type(field.schema, sent=True)
        yield (
            f"        {snake(field.name)}: {made},"
            if field.required
            else f"        {snake(field.name)}: {made} | Omitted = OMITTED,"
        )
    for field in (*operation.query_fields, *operation.header_fields):
        made = python_type(field.schema, sent=True)
        yield (
            f"        {snake(field.name)}: {made},"
            if field.required
            else f"        {snake(field.name)}: {made} | None = None,"
        )
    if operation.keyed:
        yield "        idempotency_key: str | None = None,"
    yield "        timeout: float | None = None,"
    yield f"    ) -> {returned}:"
    told = operation.text if media_type is None else f"{operation.text}\n\nAnswers the bytes of {media_type}."
    yield from _doc(_with_arguments(operation, told), "        ")
    record = f", {operation.record}" if kind in ("record", "page") else ""
    call = ", ".join(_call(operation, media_type))
    start = ("return " if kind != "empty" else "") + ("await " if awaited else "")
    yield f"        {start}self._core.{kind}(Call({call},){record})"


def _with_arguments(operation: Operation, told: str) -> str:
    fields = [*operation.path_fields, *(operation.body_fields or ()), *operation.query_fields, *operation.header_fields]
    if operation.upload is not None:
        fields.append(operation.upload)
    lines = [f"{snake(field.name)}: {field.text}" for field in fields if field.text]
    return "\n\n".join([told, "\n".join(lines)]) if lines else told


def _answer(operation: Operation, *, is_async: bool, media_type: str | None) -> tuple[str, str]:
    if media_type is not None:
        return "content", "bytes"
    match operation.answer:
        case "record":
            return "record", operation.record
        case "list":
            return "page", f"{'AsyncPages' if is_async else 'Page'}[{operation.record}]"
        case "any":
            return "raw", "Any"
        case _:
            return "empty", "None"


def _call(operation: Operation, media_type: str | None) -> Iterator[str]:
    yield f'method="{operation.method}"'
    parts = ", ".join(f"{snake(field.name)}={snake(field.name)}" for field in operation.path_fields)
    template = operation.path
    for field in operation.path_fields:
        template = template.replace(f"{{{field.wire}}}", f"{{{snake(field.name)}}}")
    yield f'path=path_of("{template}", {parts})' if parts else f'path="{template}"'
    if operation.query_fields:
        yield f"query={{{_values(operation.query_fields)}}}"
    headers = _values(operation.header_fields)
    if media_type is not None:
        headers = ", ".join(filter(None, (headers, f'"Accept": "{media_type}"')))
    if headers:
        yield f"headers={{{headers}}}"
    if operation.body_fields is not None:
        yield f"body={{{_values(operation.body_fields)}}}"
    if operation.upload is not None:
        yield f'upload=("{operation.upload.wire}", {snake(operation.upload.name)})'
    if operation.keyed:
        yield "keyed=True"
        yield "idempotency_key=idempotency_key"
    yield "timeout=timeout"


def _values(fields: Iterable[Field]) -> str:
    return ", ".join(f'"{field.wire}": {snake(field.name)}' for field in fields)
