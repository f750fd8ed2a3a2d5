"""Sends calls: one class that waits, and one to be awaited. Pages iterate over all that follow."""

import time
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import anyio
import httpx

from almoner_client._calls import Attempts, Call, Options, following_query, json_of
from almoner_client._errors import ApiConnectionError
from almoner_client._generated.codes import ERRORS_BY_CODE
from almoner_client._records import Record

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, kw_only=True)
class PageData(Generic[R]):
    """The records of one page, and what the answer says beside them."""

    data: list[R]
    total_results: int
    page_size: int
    links: Mapping[str, Any]
    beside: Mapping[str, Any]
    request_id: str | None


def _page_data(answer: Mapping[str, Any], record: type[R], request_id: str | None) -> PageData[R]:
    own = {"data", "object", "totalResults", "pageSize", "_links"}
    return PageData(
        data=[record.from_json(one, request_id) for one in answer["data"]],
        total_results=answer["totalResults"],
        page_size=answer["pageSize"],
        links=answer.get("_links") or {},
        beside={name: value for name, value in answer.items() if name not in own},
        request_id=request_id,
    )


class _PageView(Generic[R]):
    """What a page shows without asking again."""

    def __init__(self, call: Call, record: type[R], page: PageData[R]) -> None:
        self._call = call
        self._record = record
        self._page = page

    def __repr__(self) -> str:
        return f"{type(self).__name__}(total_results={self.total_results}, data={self.data})"

    @property
    def data(self) -> list[R]:
        """The records of this page alone."""
        return self._page.data

    @property
    def total_results(self) -> int:
        """How many records there are on all pages."""
        return self._page.total_results

    @property
    def page_size(self) -> int:
        """How many records were asked for."""
        return self._page.page_size

    @property
    def beside(self) -> Mapping[str, Any]:
        """What the answer says beside the records, such as ``exhaustiveTotalResults``."""
        return self._page.beside

    @property
    def request_id(self) -> str | None:
        """The Request-Id of the answer."""
        return self._page.request_id

    def _call_of(self, direction: str) -> Call | None:
        query = following_query(self._page.links, direction)
        return None if query is None else replace(self._call, query=query)


class Page(_PageView[R]):
    """A page of a list. Iterating goes on to the pages that follow, and asks for each when it is needed."""

    def __init__(self, core: "SyncCore", call: Call, record: type[R], page: PageData[R]) -> None:
        super().__init__(call, record, page)
        self._core = core

    def next_page(self) -> "Page[R] | None":
        """The page that follows; None after the last one."""
        return self._beside_this("next")

    def previous_page(self) -> "Page[R] | None":
        """The page before this one; None before the first one."""
        return self._beside_this("prev")

    def _beside_this(self, direction: str) -> "Page[R] | None":
        call = self._call_of(direction)
        return None if call is None else self._core.page(call, self._record)

    def pages(self) -> "Iterator[Page[R]]":
        """This page and all that follow."""
        page: Page[R] | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[R]:
        for page in self.pages():
            yield from page.data


class AsyncPage(_PageView[R]):
    """A page of a list that was awaited. ``async for`` goes on to the pages that follow."""

    def __init__(self, core: "AsyncCore", call: Call, record: type[R], page: PageData[R]) -> None:
        super().__init__(call, record, page)
        self._core = core

    async def next_page(self) -> "AsyncPage[R] | None":
        """The page that follows; None after the last one."""
        return await self._beside_this("next")

    async def previous_page(self) -> "AsyncPage[R] | None":
        """The page before this one; None before the first one."""
        return await self._beside_this("prev")

    async def _beside_this(self, direction: str) -> "AsyncPage[R] | None":
        call = self._call_of(direction)
        return None if call is None else await self._core.fetch(call, self._record)

    async def pages(self) -> "AsyncIterator[AsyncPage[R]]":
        """This page and all that follow."""
        page: AsyncPage[R] | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[R]:
        async for page in self.pages():
            for record in page.data:
                yield record


class AsyncPages(Generic[R]):
    """A list: ``await`` it for its first page, or go through all records with ``async for``."""

    def __init__(self, core: "AsyncCore", call: Call, record: type[R]) -> None:
        self._core = core
        self._call = call
        self._record = record

    def __await__(self) -> Generator[Any, None, AsyncPage[R]]:
        return self._core.fetch(self._call, self._record).__await__()

    async def __aiter__(self) -> AsyncIterator[R]:
        async for record in await self:
            yield record


class SyncCore:
    """Sends calls and waits for their answers."""

    def __init__(self, options: Options, http: httpx.Client) -> None:
        self.options = options
        self.http = http

    def send(self, call: Call) -> httpx.Response:
        """The answer of the last attempt, whatever its status."""
        attempts = Attempts(self.options, call)
        try:
            while True:
                outcome: httpx.Response | httpx.TransportError
                try:
                    outcome = self.http.send(attempts.request(self.http.build_request))
                except httpx.TransportError as error:
                    outcome = error
                if (seconds := attempts.wait_after(outcome)) is None:
                    break
                time.sleep(seconds)
            if isinstance(outcome, httpx.Response):
                return outcome
            raise attempts.failure(outcome) from outcome
        finally:
            attempts.close()

    def json(self, call: Call) -> tuple[Any, str | None]:
        """The JSON of an answer, and its Request-Id."""
        response = self.send(call)
        return json_of(response, ERRORS_BY_CODE), response.headers.get("request-id")

    def record(self, call: Call, record: type[R]) -> R:
        """The record of an answer."""
        answer, request_id = self.json(call)
        return record.from_json(_data_of(answer), request_id)

    def raw(self, call: Call) -> Any:
        """The JSON of a record whose type the call alone does not tell."""
        return _data_of(self.json(call)[0])

    def empty(self, call: Call) -> None:
        """Nothing, if all went well."""
        self.json(call)

    def content(self, call: Call) -> bytes:
        """The bytes of an answer that is no JSON."""
        response = self.send(call)
        if not response.is_success:
            json_of(response, ERRORS_BY_CODE)
        return response.content

    def page(self, call: Call, record: type[R]) -> Page[R]:
        """A page of a list."""
        answer, request_id = self.json(call)
        return Page(self, call, record, _page_data(answer, record, request_id))


class AsyncCore:
    """Sends calls; their answers are awaited, under asyncio or trio."""

    def __init__(self, options: Options, http: httpx.AsyncClient) -> None:
        self.options = options
        self.http = http

    async def send(self, call: Call) -> httpx.Response:
        """The answer of the last attempt, whatever its status."""
        attempts = Attempts(self.options, call)
        try:
            while True:
                outcome: httpx.Response | httpx.TransportError
                try:
                    outcome = await self.http.send(attempts.request(self.http.build_request))
                except httpx.TransportError as error:
                    outcome = error
                if (seconds := attempts.wait_after(outcome)) is None:
                    break
                await anyio.sleep(seconds)
            if isinstance(outcome, httpx.Response):
                return outcome
            raise attempts.failure(outcome) from outcome
        finally:
            attempts.close()

    async def json(self, call: Call) -> tuple[Any, str | None]:
        """The JSON of an answer, and its Request-Id."""
        response = await self.send(call)
        return json_of(response, ERRORS_BY_CODE), response.headers.get("request-id")

    async def record(self, call: Call, record: type[R]) -> R:
        """The record of an answer."""
        answer, request_id = await self.json(call)
        return record.from_json(_data_of(answer), request_id)

    async def raw(self, call: Call) -> Any:
        """The JSON of a record whose type the call alone does not tell."""
        return _data_of((await self.json(call))[0])

    async def empty(self, call: Call) -> None:
        """Nothing, if all went well."""
        await self.json(call)

    async def content(self, call: Call) -> bytes:
        """The bytes of an answer that is no JSON."""
        response = await self.send(call)
        if not response.is_success:
            json_of(response, ERRORS_BY_CODE)
        return response.content

    async def fetch(self, call: Call, record: type[R]) -> AsyncPage[R]:
        """A page of a list."""
        answer, request_id = await self.json(call)
        return AsyncPage(self, call, record, _page_data(answer, record, request_id))

    def page(self, call: Call, record: type[R]) -> AsyncPages[R]:
        """A list, which is asked for when it is awaited."""
        return AsyncPages(self, call, record)


def _data_of(answer: Any) -> Any:
    if not isinstance(answer, dict) or "data" not in answer:
        raise ApiConnectionError("The answer holds no record")
    return answer["data"]
