"""Calls whose answers stay the JSON that came, as programs want it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import httpx

from almoner_client._calls import Call, following_query, options_of
from almoner_client._core import SyncCore
from almoner_client._generated.resources import Resources
from almoner_client.cli.profile import Profile


class RawList:
    """A list, page by page as it is read."""

    def __init__(self, core: SyncCore, call: Call) -> None:
        self._core = core
        self._call = call

    def __iter__(self) -> Iterator[dict[str, Any]]:
        call: Call | None = self._call
        while call is not None:
            answer, _ = self._core.json(call)
            yield from answer["data"]
            query = following_query(answer.get("_links") or {}, "next")
            call = None if query is None else replace(call, query=query)

    def page(self) -> dict[str, Any]:
        """The answer with the first page."""
        answer, _ = self._core.json(self._call)
        return dict(answer)

    def first(self, number: int) -> list[dict[str, Any]]:
        """At most so many records."""
        return list(islice(self, number))


class _RawCore(SyncCore):
    def record(self, call: Call, record: Any) -> Any:
        """The JSON of a record."""
        del record
        return self.raw(call)

    def page(self, call: Call, record: Any) -> Any:
        """A list of JSON records."""
        del record
        return RawList(self, call)


class RawClient(Resources):
    """As ``Almoner``, but records are JSON and lists are ``RawList``."""

    def __init__(self, profile: Profile, *, max_retries: int = 2) -> None:
        options = options_of(profile.api_key, profile.base_url, timeout=60.0, max_retries=max_retries)
        self._core = _RawCore(options, httpx.Client())
        super().__init__(self._core)

    def get_page(self, path: str, query: Mapping[str, Any], timeout: float) -> list[dict[str, Any]]:
        """The records of one page."""
        answer, _ = self._core.json(Call(method="GET", path=path, query=query, timeout=timeout))
        return list(answer["data"])

    def close(self) -> None:
        """Close the connections."""
        self._core.http.close()
