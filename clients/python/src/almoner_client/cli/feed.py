"""All events in their order, by long polling, whatever happens to connections on the way."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from almoner_client._errors import ApiConnectionError, RateLimitError, ServerError
from almoner_client.cli.raw import RawClient

_LONGEST_POLL = 25
_SHORTEST_POLL = 2
_PAGE = 100
_LONGEST_PAUSE = 5.0


class EventFeed:
    """Events behind a sequence number, each once and in order. ``report``: told when the connection is lost or back.

    The place in the list is the last number that was handed out, so a lost answer is asked for again.
    """

    def __init__(self, client: RawClient, after: int, report: Callable[[str], None]) -> None:
        self.after = after
        self._client = client
        self._report = report
        self._poll = _LONGEST_POLL
        self._failures = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            for event in self._next_page():
                yield event
                self.after = event["sequence"]

    def _next_page(self) -> list[dict[str, Any]]:
        """The next events; none where the time ran out or the connection was lost."""
        query = {"after": self.after, "wait": self._poll, "pageSize": _PAGE}
        try:
            found = self._client.get_page("/v1/events", query, self._poll + 10.0)
        except ApiConnectionError as error:
            # Some proxies drop a connection on which nothing is sent for long.
            self._poll = max(_SHORTEST_POLL, self._poll // 2)
            self._pause(f"Connection lost ({error}). Reconnecting.", None)
            return []
        except (RateLimitError, ServerError) as error:
            self._pause(f"{error.message}. Waiting.", error.retry_after)
            return []
        if self._failures > 1:
            self._report("Connected again.")
        self._failures = 0
        self._poll = min(_LONGEST_POLL, self._poll + 1)
        return found

    def _pause(self, message: str, seconds: float | None) -> None:
        self._failures += 1
        if self._failures == 2:  # a single lost connection is nothing to be told of
            self._report(message)
        time.sleep(seconds if seconds is not None else min(_LONGEST_PAUSE, 0.1 * 2.0 ** (self._failures - 1)))


def last_sequence(client: RawClient) -> int:
    """The number of the newest event; 0 where there is none."""
    newest = client.events.list(direction="DESC", page_size=1)
    records = newest.first(1)  # type: ignore[attr-defined]
    return int(records[0]["sequence"]) if records else 0
