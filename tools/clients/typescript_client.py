"""The generated modules of ``clients/typescript``: types, error codes, events, and methods."""

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from tools.clients.api_model import Api, Field, Operation, Schema, type_names, words_of

FOLDER: Final = "clients/typescript/src/generated"
_HEAD: Final = "// Made from openapi.json by `make clients`; do not edit.\n"
_WIDTH: Final = 112
_WORDS: Final = frozenset({"delete", "default", "new", "class", "function", "in"})


def render(api: Api) -> dict[str, str]:
    """Each file's text by its path."""
    texts = {
        "types.ts": "\n".join(_types(api)),
        "codes.ts": "\n".join(_codes(api)),
        "resources.ts": "\n".join(_resources(api)),
    }
    return {f"{FOLDER}/{name}": text.rstrip("\n") + "\n" for name, text in texts.items()}


def method_name(operation: Operation) -> str:
    """``listDeliveries``: the method's name below its resource."""
    return camel(operation.words)


def camel(words: Iterable[str]) -> str:
    """Words in camelCase."""
    first, *rest = words
    return first + "".join(word.capitalize() for word in rest)


def typescript_type(schema: Schema) -> str:
    """The type of a value."""
    options = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if options:
        made = [typescript_type(one) for one in options]
        return " | ".join(dict.fromkeys([*made, *(["null"] if len(options) < len(schema["anyOf"]) else [])]))
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[1]
    kinds = type_names(schema)
    made_type = _plain_type(schema, next((kind for kind in kinds if kind != "null"), ""))
    return f"{made_type} | null" if "null" in kinds else made_type


def _plain_type(schema: Schema, kind: str) -> str:
    if (open_values := schema.get("x-extensible-enum")) is not None:
        return " | ".join([*map(json.dumps, open_values), "(string & {})"])
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if values is not None:
        return " | ".join(map(json.dumps, values))
    match kind:
        case "array":
            return f"Array<{typescript_type(schema.get('items', {}))}>"
        case "object":
            inner = schema.get("additionalProperties")
            return f"Record<string, {typescript_type(inner) if isinstance(inner, dict) else 'unknown'}>"
        case _:
            known = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
            return known.get(kind, "unknown")


def _doc(text: str, indent: str) -> Iterator[str]:
    if not text:
        return
    lines: list[str] = []
    for paragraph in text.replace("*/", "* /").split("\n\n"):
        lines += ["", *textwrap.wrap(paragraph, _WIDTH - len(indent))]
    if len(lines) == 2:
        yield f"{indent}/** {lines[1]} */"
        return
    yield f"{indent}/**"
    yield from (f"{indent} * {line}".rstrip() for line in lines[1:])
    yield f"{indent} */"


def _members(fields: Iterable[Field], *, answered: bool) -> Iterator[str]:
    for field in fields:
        yield from _doc(field.text, "  ")
        mark = "" if field.required else "?"
        kind = typescript_type(field.schema)
        name = field.wire if answered else field.wire.removesuffix("[]")
        yield f"  {name}{mark}: {kind};"


def _types(api: Api) -> Iterator[str]:
    yield _HEAD
    yield 'import type { Upload } from "../core.js";\n'
    for model in api.models:
        yield from _interface(model.name, model.text, model.fields, answered=True)
    for operation in api.operations:
        if operation.body_fields is not None or operation.upload is not None:
            fields = list(operation.body_fields or ())
            if operation.upload is not None:
                fields.append(operation.upload)
            yield from _body(operation, fields)
        if operation.query_fields or operation.header_fields:
            text = f"Parameters of `{operation.id}`."
            fields = [*operation.query_fields, *operation.header_fields]
            yield from _interface(f"{_pascal(operation)}Parameters", text, fields, answered=False)
    yield "/** The record of each type of event. */"
    yield "export interface EventRecords {"
    yield from (f'  "{name}": {record};' for name, record in api.events)
    yield "}"


def _interface(name: str, text: str, fields: Iterable[Field], *, answered: bool) -> Iterator[str]:
    yield from _doc(text, "")
    yield f"export interface {name} {{"
    yield from _members(fields, answered=answered)
    yield "}\n"


def _body(operation: Operation, fields: Iterable[Field]) -> Iterator[str]:
    yield f"/** The body of `{operation.id}`. */"
    yield f"export interface {_pascal(operation)} {{"
    for field in fields:
        yield from _doc(field.text, "  ")
        kind = "Upload" if field.schema.get("format") == "binary" else typescript_type(field.schema)
        yield f"  {field.wire}{'' if field.required else '?'}: {kind};"
    yield "}\n"


def _pascal(operation: Operation) -> str:
    return operation.id[0].upper() + operation.id[1:]


def _codes(api: Api) -> Iterator[str]:
    yield _HEAD
    yield "/** All error codes of this version; `status` and `message` are those that they come with. */"
    yield "export const ERROR_CODES = {"
    for code, status, message in api.errors:
        yield f"  {json.dumps(code)}: {{ status: {status}, message: {json.dumps(message)} }},"
    yield "} as const;\n"
    yield "/** The code of an error; later versions know more. */"
    yield "export type ErrorCode = keyof typeof ERROR_CODES | (string & {});"


def _resources(api: Api) -> Iterator[str]:
    yield _HEAD
    yield 'import { type Core, type Options, type PagePromise, path } from "../core.js";'
    yield 'import type * as types from "./types.js";\n'
    for resource, operations in api.resources.items():
        yield f"/** Calls of `/v1/{resource}`. */"
        yield f"export class {_class_of(resource)} {{"
        yield "  constructor(private readonly core: Core) {}"
        for operation in operations:
            yield ""
            yield from _method(operation)
            if operation.also is not None:
                yield ""
                yield from _method(operation, media_type=operation.also)
        yield "}\n"
    yield "/** All resources, as properties of a client. */"
    yield "export class Resources {"
    for resource in api.resources:
        yield f"  readonly {camel(words_of(resource))}: {_class_of(resource)};"
    yield "\n  constructor(core: Core) {"
    for resource in api.resources:
        yield f"    this.{camel(words_of(resource))} = new {_class_of(resource)}(core);"
    yield "  }\n}"


def _class_of(resource: str) -> str:
    return "".join(word.capitalize() for word in words_of(resource)) + "Resource"


def _method(operation: Operation, media_type: str | None = None) -> Iterator[str]:
    name = method_name(operation) + (media_type.rsplit("/", 1)[1].capitalize() if media_type else "")
    kind, returned = _answer(operation, media_type)
    arguments = [f"{_safe(field.name)}: string" for field in operation.path_fields]
    if (given := _given(operation)) is not None:
        arguments.append(given)
    arguments.append("options?: Options")
    yield from _doc(operation.text, "  ")
    yield f"  {name}({', '.join(arguments)}): {returned} {{"
    generic = f"<types.{operation.record}>" if kind in ("record", "page") else ""
    yield f"    return this.core.{kind}{generic}({{ {', '.join(_call(operation, media_type))} }}, options);"
    yield "  }"


def _given(operation: Operation) -> str | None:
    """The argument that holds the body, or the parameters."""
    fields = [*(operation.body_fields or ()), *operation.query_fields, *operation.header_fields]
    if operation.upload is not None:
        return f"body: types.{_pascal(operation)}"
    if operation.body_fields is not None:
        optional = "" if any(field.required for field in fields) else "?"
        return f"body{optional}: types.{_pascal(operation)}"
    if fields:
        optional = "" if any(field.required for field in fields) else "?"
        return f"parameters{optional}: types.{_pascal(operation)}Parameters"
    return None


def _safe(name: str) -> str:
    return f"{name}_" if name in _WORDS else name


def _answer(operation: Operation, media_type: str | None) -> tuple[str, str]:
    if media_type is not None:
        return "content", "Promise<Blob>"
    match operation.answer:
        case "record":
            return "record", f"Promise<types.{operation.record}>"
        case "list":
            return "page", f"PagePromise<types.{operation.record}>"
        case "any":
            return "raw", "Promise<Record<string, unknown>>"
        case _:
            return "empty", "Promise<void>"


def _call(operation: Operation, media_type: str | None) -> Iterator[str]:
    yield f'method: "{operation.method}"'
    template = operation.path
    for field in operation.path_fields:
        template = template.replace(f"{{{field.wire}}}", f"${{{_safe(field.name)}}}")
    yield f"path: path`{template}`" if operation.path_fields else f'path: "{template}"'
    if operation.query_fields:
        names = ", ".join(f'"{one.wire.removesuffix("[]")}": "{one.wire}"' for one in operation.query_fields)
        yield f"parameters: {{ ...parameters }}, query: {{ {names} }}"
    if operation.header_fields:
        names = ", ".join(f'"{one.wire}"' for one in operation.header_fields)
        yield f"headers: [{names}]"
    if operation.upload is not None:
        yield f'body: {{ ...body }}, upload: "{operation.upload.wire}"'
    elif operation.body_fields is not None:
        optional = not any(field.required for field in operation.body_fields)
        yield "body: { ...body }" if not optional else "body: { ...(body ?? {}) }"
    if operation.keyed:
        yield "keyed: true"
    if media_type is not None:
        yield f'accept: "{media_type}"'
