"""``trigger``: has an event sent by doing what leads to it, and waits for it."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from almoner_client._errors import NotFoundError
from almoner_client._generated.events import EVENT_RECORDS
from almoner_client.cli.failures import CliError, UsageError
from almoner_client.cli.feed import last_sequence
from almoner_client.cli.fields import closest, read_fields
from almoner_client.cli.raw import RawClient
from almoner_client.cli.scenarios import SCENARIOS, World, method_of

_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 10


def trigger_event(
    client: RawClient, event_type: str, pairs: Sequence[str], report: Callable[[str], None]
) -> dict[str, Any]:
    """The event. ``report``: told of each call. Raises UsageError, and CliError if it does not come."""
    scenario = SCENARIOS.get(event_type)
    if scenario is None:
        raise UsageError(f"There is no event {event_type}.", closest(event_type, list(EVENT_RECORDS), "events"))
    given = read_fields(pairs, [method_of(client, name) for name in scenario.calls], "--set")
    _ensure_sandbox(client)
    before = last_sequence(client)
    scenario.run(World(client, given, report))
    return _wait_for(client, event_type, before)


def _ensure_sandbox(client: RawClient) -> None:
    """What is triggered is done to real records, so never to those of production. Raises CliError."""
    try:
        client.sandbox.get_clock()
    except NotFoundError:
        raise CliError("This is not a sandbox, so nothing was triggered.", "Use the address and key of one.") from None


def _wait_for(client: RawClient, event_type: str, after: int) -> dict[str, Any]:
    """The first such event behind a sequence number."""
    ends = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < ends:
        query = {"after": after, "wait": _POLL_SECONDS, "pageSize": 100}
        for event in client.get_page("/v1/events", query, _POLL_SECONDS + 10.0):
            if event["eventType"] == event_type:
                return event
            after = event["sequence"]
    raise CliError(
        f"{event_type} has not come within {_PATIENCE_SECONDS:.0f} seconds.",
        "Is a worker running? `almoner-client events tail` shows what came.",
    )
