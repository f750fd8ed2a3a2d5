"""The reference as Markdown: a page for each resource, one for the events of each record, and the list of all calls."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tools.clients import api_model
from tools.clients.api_model import Api, words_of
from tools.docs_site.reference_content import (
    Operation,
    OperationGroup,
    ReferenceContent,
    ReferenceField,
    WebhookEntry,
    heading_anchor,
)
from tools.docs_site.samples import Samples, path_value

_SHORT_CONTENTS: Final = "---\ntocdepth: 2\n---\n\n"
_CODE: Final = re.compile(r"(`[^`]+`)")


class ReferencePages:
    """Writes the pages; each is the text of a file by its path."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self.content = ReferenceContent(description)
        self._api = Api(description)
        self._calls = {operation.id: operation for operation in self._api.operations}
        self._samples = Samples(self._api, self.content.id_names())

    def pages(self) -> Iterator[tuple[str, str]]:
        """All pages."""
        yield "api/index.md", _text(self._index())
        for group in self.content.groups:
            yield f"api/{group.anchor}.md", _text(self._group(group))
        yield "reference/event-payloads/index.md", _text(self._events_index())
        for record, hooks in self._hooks().items():
            yield f"reference/event-payloads/{heading_anchor(record)}.md", _text(_events(record, hooks))

    def samples(self) -> Iterator[tuple[str, str, str]]:
        """Of each operation its id, and the calls in Python and in TypeScript."""
        for group in self.content.groups:
            for operation in group.operations:
                call = self._calls[operation.id]
                python = self._samples.python(call, operation.values)
                yield operation.id, python, self._samples.typescript(call, operation.values)

    def script_data(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """What docs.js looks up: which list has the records of a type of identifier, and on which page a call is."""
        yield "lists.json", self.content.lists()
        places = {one.id: f"api/{group.anchor}/#{one.id}" for group in self.content.groups for one in group.operations}
        yield "operations.json", places

    def _hooks(self) -> dict[str, list[WebhookEntry]]:
        records = dict(self._api.events)
        found: dict[str, list[WebhookEntry]] = {}
        for hook in self.content.hooks:
            found.setdefault(_words(records[hook.name]), []).append(hook)
        return found

    def _index(self) -> Iterator[str]:
        yield "# API reference\n"
        yield (
            "Every call with its parameters, samples in three languages, its response and its errors. To generate a "
            'client, use the <a href="/openapi.json">OpenAPI 3.1 description</a>. For what all calls have in common, '
            "see [Requests and responses](../concepts/requests.md).\n"
        )
        for group in self.content.groups:
            yield f"## {group.name}\n\n{_md(group.description)}\n"
            for one in group.operations:
                yield f"- `{one.method} {one.path}` [{one.summary}]({group.anchor}.md#{heading_slug(one.summary)})"
            yield ""
        yield from _toctree(group.anchor for group in self.content.groups)

    def _group(self, group: OperationGroup) -> Iterator[str]:
        yield f"{_SHORT_CONTENTS}# {group.name}\n\n{_md(group.description)}\n"
        for one in group.operations:
            yield f"- `{one.method} {one.path}` [{one.summary}](#{heading_slug(one.summary)})"
        yield ""
        described: set[str] = set()
        for one in group.operations:
            yield from self._operation(one, described)

    def _operation(self, one: Operation, described: set[str]) -> Iterator[str]:
        call = self._calls[one.id]
        yield f'<a id="{one.id}"></a>\n\n## {one.summary}\n'
        yield f"`{one.method} {one.path}`\n"
        if one.deprecated:
            yield "**Deprecated.** The `Sunset` header of responses says when it will be removed.\n"
        yield from (f"{_md(paragraph)}\n" for paragraph in one.paragraphs if paragraph != f"{one.summary}.")
        if one.parameters:
            yield from _fields("Parameters", one.parameters, given=True)
        if one.body:
            kind = "" if one.body_kind == "application/json" else f" (`{one.body_kind}`)"
            yield from _fields(f"Body{kind}", one.body, given=True)
        yield "### Request\n"
        yield from self._request(one, call)
        yield from self._answer(one, call, described)
        yield "### Errors\n"
        for status in one.statuses:
            yield from (f"- {status.code} `{code}`: {_md(message)}" for code, message in status.problems)
        yield ""

    def _request(self, one: Operation, call: api_model.Operation) -> Iterator[str]:
        if call.upload is None:
            yield f"```http\n{_http(one, call)}\n```\n"
        yield f"```sh\n{one.shell}\n```\n"
        yield f"```python\n{self._samples.python(call, one.values)}\n```\n"
        yield f"```typescript\n{self._samples.typescript(call, one.values)}\n```\n"

    def _answer(self, one: Operation, call: api_model.Operation, described: set[str]) -> Iterator[str]:
        yield "### Response\n"
        if not one.answer:
            yield "204, without a body.\n" if call.answer == "empty" else "200, the record.\n"
            return
        name = _words(call.record)
        what = f"200, a list of records ({name})" if call.answer == "list" else f"200, the {name}"
        if call.record in described:
            yield f"{what}. [Its members](#{heading_slug(f'The {name}')}) are above.\n"
            return
        described.add(call.record)
        yield f"{what}:\n\n```json\n{one.answer_example}\n```\n"
        beneath = "data[]." if call.answer == "list" else "data."
        fields = [field for field in one.answer if field.name.startswith(beneath)]
        yield from _fields(f"The {name}", fields, cut=beneath)

    def _events_index(self) -> Iterator[str]:
        yield "# Event payloads\n"
        yield (
            "Each event as a receiver gets it, by the record that it carries. For all types in one table, see "
            "[events](../events.md); to receive and verify them, see [webhooks](../../guides/webhooks.md).\n"
        )
        for record, hooks in self._hooks().items():
            yield f"## {record.capitalize()}\n"
            for hook in hooks:
                yield f"- [`{hook.name}`]({heading_anchor(record)}.md#{heading_slug(hook.name)})"
            yield ""
        yield from _toctree(heading_anchor(record) for record in self._hooks())


def _events(record: str, hooks: list[WebhookEntry]) -> Iterator[str]:
    yield f"# Events: {record}\n"
    for hook in hooks:
        yield f"## {hook.name}\n\n{_md(hook.description)}\n"
    first = hooks[0]
    yield f"## Payload\n\nA delivery of `{first.name}`:\n\n```json\n{first.example}\n```\n"
    yield from _fields("Members", first.fields)


def _http(one: Operation, call: api_model.Operation) -> str:
    """A request to send from the page; ``$donation`` stands for the newest donation."""
    path = one.path
    for field in call.path_fields:
        path = path.replace(f"{{{field.wire}}}", path_value(field))
    names = {field.wire for field in call.query_fields}
    query = "&".join(f"{name}={value}" for name, value in one.values.items() if name in names)
    head = f"{one.method} {path}?{query}" if query else f"{one.method} {path}"
    if not one.body_kind:
        return head
    body = {name: value for name, value in one.values.items() if name not in names}
    return f"{head}\nContent-Type: application/json\n\n{json.dumps(body, indent=2, ensure_ascii=False)}"


def _fields(title: str, fields: Any, *, given: bool = False, cut: str = "") -> Iterator[str]:
    yield f"### {title}\n"
    yield from (_field(field, given=given, cut=cut) for field in fields)
    yield ""


def _field(field: ReferenceField, *, given: bool, cut: str) -> str:
    required = ", required" if given and field.required else ""
    told = f": {_md(field.description)}" if field.description else ""
    limits = f" ({_md('; '.join(field.limits))})" if field.limits else ""
    return f"- `{field.name.removeprefix(cut)}` {_md(field.kind)}{required}{told}{limits}"


def _md(text: str) -> str:
    """Text in which nothing but code is Markdown."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        part if index % 2 else re.sub(r"([*_<\[\]{}$|\\])", r"\\\1", part) for index, part in enumerate(parts)
    )


def heading_slug(heading: str) -> str:
    """The fragment of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _words(record: str) -> str:
    return " ".join(words_of(record))


def _toctree(names: Iterator[str] | Any) -> Iterator[str]:
    yield "```{toctree}\n:hidden:"
    yield from names
    yield "```"


def _text(lines: Iterator[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"
