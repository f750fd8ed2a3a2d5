"""Write what is made from the code, openapi.json and docs/reference/: ``make docs``. A test fails when it is due.

``render`` gives every file's text by its path below the project.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from almoner import wiring
from almoner.app import describe_api
from almoner.giving.accounting.refunds.routes import refund_routes
from almoner.giving.checkout.giving_links.routes import giving_link_routes
from almoner.giving.checkout.sessions.routes import session_creation_routes
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.kit import errors
from almoner.kit.errors import Problem
from almoner.kit.ids import Ids
from almoner.platform.events.event_types import EVENT_TYPES
from almoner.platform.http.endpoints import Endpoint, Routes
from almoner.platform.http.errors import http_status_of_problem
from almoner.platform.http.openapi import errors_of_endpoint
from almoner.sandbox.routes import sandbox_routes
from almoner.settings import PREFIX, REQUIRED_IN_PRODUCTION, Rate, Settings
from almoner.webhooks.events.routes import event_routes
from tools.docs_site import lifecycles, sandbox_values

PROJECT = Path(__file__).parents[1]
_SOURCE = PROJECT / "src" / "almoner"

_ERRORS = """\
# Errors

Made from the code by `make docs`; do not edit by hand.

Every error response has this body. `code` is for programs and never changes its meaning. `message` is for people and
may be reworded. `reasons` has one sentence for each problem, which names the field. It may be empty.

```json
{"error": {"code": "bad_request", "title": "Bad request", "message": "One or more of the inputs were invalid",
  "reasons": ["body.organisationId is required"]}}
```

Every response has a `Request-Id` header: quote it when you ask for help. A 429 or 503 has `Retry-After` in whole
seconds. A 500 or 503 leaves nothing half done: repeat a POST with the same `Idempotency-Key`.

## Errors of every operation

Checked in this order: address, key, scope, limit, content type and size, `Idempotency-Key`, body.
"""
_EVENTS = """\
# Events

Made from the code by `make docs`; do not edit by hand.

These are the event types that `events` of a webhook subscription can list; `*` means all of them. Webhook deliveries
and `GET /v1/events` show an event like this. `eventData` is the record as its GET showed it at that time, and never
changes.

```json
{"object": "event", "data": {"id": "event_...", "createdAt": "2026-11-21T09:30:00.000Z",
  "eventType": "donation.created", "eventData": {"id": "donation_..."}}}
```

To receive, verify and replay events, see the [webhooks guide](../guides/webhooks.md).
"""
_SETTINGS = """\
# Settings

Made from the code by `make docs`; do not edit by hand.

Settings are environment variables. Each process reads them once, at startup, and reports all missing or unsafe
settings together. The sandbox needs none of them. Production requires the ones marked as required.
"""


def render() -> Mapping[str, str]:
    """All files: path below the project to text. The description is the sandbox's, with its identifiers and tools."""
    server = Settings.model_construct(port=Settings.model_fields["port"].default, api_url="").links.api
    description = describe_api(_routes(), EVENT_TYPES.values(), Ids(sandbox=True), server)
    return MappingProxyType(
        {
            "openapi.json": description.decode(),
            "docs/reference/errors.md": _page(_errors()),
            "docs/reference/events.md": _page(_events()),
            "docs/reference/settings.md": _page(_settings()),
            sandbox_values.PAGE: sandbox_values.page(),
            lifecycles.PAGE: lifecycles.page(),
            **{f"docs/{path}": svg for path, svg in lifecycles.drawings()},
        }
    )


def _routes() -> list[Routes]:
    """What a sandbox serves. The description needs the declarations alone, so nothing stands behind the tools."""
    unused = cast("Any", None)
    return [
        *wiring.ROUTES,
        event_routes(unused),
        session_creation_routes(()),
        giving_link_routes(()),
        refund_routes(DisbursementRules()),
        sandbox_routes(unused, unused),
    ]


def own_problems() -> dict[str, type[Problem]]:
    """Every code that the service declares; tests may declare more in the same process."""
    return {
        code: problem
        for code, problem in errors.problem_catalogue().items()
        if problem.__module__.startswith("almoner.")
    }


def _page(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _errors() -> Iterator[str]:
    yield _ERRORS
    endpoints = [endpoint for group in _routes() for endpoint in group.endpoints]
    general = {code: problem for code, problem in own_problems().items() if problem.__module__ == errors.__name__}
    yield _row("Code", "Status", "Message")
    yield _row("---", "---", "---")
    for code, problem in sorted(general.items(), key=lambda item: (http_status_of_problem(item[1]), item[0])):
        yield _row(f"`{code}`", str(http_status_of_problem(problem)), problem.message)
    yield "\n## Of single operations\n"
    yield _row("Code", "Status", "Message", "Operations")
    yield _row("---", "---", "---", "---")
    for code, problem in own_problems().items():
        if code not in general:
            messages = dict.fromkeys(one.message for one in _family(problem))
            yield _row(
                f"`{code}`",
                str(http_status_of_problem(problem)),
                "; or: ".join(messages),
                _answered_by(problem, endpoints),
            )


def _family(problem: type[Problem]) -> Iterator[type[Problem]]:
    """The class of a code, and those that say the same more finely."""
    yield problem
    for finer in problem.__subclasses__():
        if finer.code == problem.code:
            yield from _family(finer)


def _answered_by(problem: type[Problem], endpoints: list[Endpoint]) -> str:
    family = set(_family(problem))
    found = [f"`{endpoint.operation_id}`" for endpoint in endpoints if family & set(errors_of_endpoint(endpoint))]
    return ", ".join(found) or "none: hosted pages and callbacks"


def _events() -> Iterator[str]:
    yield _EVENTS
    yield _row("Event type", "`eventData`", "Sent when")
    yield _row("---", "---", "---")
    for event in EVENT_TYPES.values():
        yield _row(f"`{event.name}`", f"`{event.record}`", event.when)


def _settings() -> Iterator[str]:
    yield _SETTINGS
    yield _row("Variable", "Default", "Meaning", "In production")
    yield _row("---", "---", "---", "---")
    for name, field in Settings.model_fields.items():
        required = f"required: {REQUIRED_IN_PRODUCTION[name]}" if name in REQUIRED_IN_PRODUCTION else ""
        yield _row(f"`{PREFIX}{name.upper()}`", _default(field.default), field.description or "", required)


def _default(value: Any) -> str:
    match value:
        case None | "" | []:
            return ""
        case Rate(per_second=rate, burst=burst):
            return f"`{rate:g}/{burst}`"
        case _:
            return f"`{value}`"


def outdated() -> list[str]:
    """The files that differ from what the code says."""
    return [
        path
        for path, text in render().items()
        if not (PROJECT / path).exists() or (PROJECT / path).read_text("utf-8") != text
    ]


def mentioned_codes() -> set[str]:
    """Every code that some class of the source declares, found without running it."""
    pattern = re.compile(r'^    code = "([a-z_]+/[a-z_]+)"$', re.MULTILINE)
    found = {code for path in _SOURCE.rglob("*.py") for code in pattern.findall(path.read_text("utf-8"))}
    return found - {"bad_request/abstract"}


if __name__ == "__main__":
    for path, text in render().items():
        target = PROJECT / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
        print(path)
