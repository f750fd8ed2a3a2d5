"""API calls that the dashboard makes for a member, so that the API alone decides what a member may see and do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from typing import Any, Final, Protocol
from urllib.parse import urlencode

import msgspec
from starlette.exceptions import HTTPException

from almoner.access.people.domain import Person, Realm
from almoner.dashboard.domain import scopes_for_roles
from almoner.kit.errors import OriginalCallInProgress
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.caller import SECRET, Caller
from almoner.platform.http.endpoints import Method
from almoner.platform.http.replies import Reply
from almoner.platform.http.service import ApiApplication

Record = dict[str, Any]
"""A record as the API returns it, with wire names."""

_MAX_PAGE: Final = 100
_PAUSES: Final = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds to wait while the same form, submitted twice at once, is being applied."""


class ApiCallRejected(HTTPException):
    """The API rejected the call. ``reasons``: all of them, as sentences.

    Where a page does not catch it, the page about a refused request shows them.
    """

    def __init__(self, status: int, code: str, reasons: Sequence[str]) -> None:
        super().__init__(status, " ".join(f"{one[:1].upper()}{one[1:].rstrip('.')}." for one in reasons))
        self.status = status
        self.code = code
        self.reasons = tuple(reasons)


@dataclass(frozen=True, slots=True)
class RecordListPage:
    """One page of a list. ``next_cursor``, ``previous_cursor``: the cursor of the neighbouring page."""

    records: list[Record]
    total: int
    next_cursor: str | None
    previous_cursor: str | None


class ActingMember(Protocol):
    """The person who makes a call: a visitor, or the person a job works for."""

    @property
    def person(self) -> Person:
        """The member as a person."""
        ...

    @property
    def realm(self) -> Realm:
        """The partner that the person belongs to."""
        ...

    @property
    def ip_address(self) -> str:
        """The network address, for the audit log; empty without a browser."""
        ...


@dataclass(frozen=True, slots=True)
class JobActingMember:
    """A person whose request a job carries out."""

    person: Person
    ip_address: str = ""

    @property
    def realm(self) -> Realm:
        """The partner that the person belongs to."""
        return self.person.realm


class MemberApiClient:
    """Makes API calls as a member, with all rules of the API: scopes, masks, idempotency keys, audit log."""

    def __init__(self, api: ApiApplication) -> None:
        self._api = api

    async def get(self, member: ActingMember, path: str) -> Record:
        """One record. Raises ApiCallRejected."""
        found: Record = (await self._call(member, "GET", path))["data"]
        return found

    async def list_page(self, member: ActingMember, path: str, parameters: Sequence[tuple[str, str]]) -> RecordListPage:
        """One page of a list. Raises ApiCallRejected."""
        answer = await self._call(member, "GET", path, parameters)
        links = answer["_links"]
        return RecordListPage(answer["data"], answer["totalResults"], _cursor(links["next"]), _cursor(links["prev"]))

    async def post(
        self,
        member: ActingMember,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Record:
        """Make a POST call. ``idempotency_key``: sends the same form only once. Raises ApiCallRejected."""
        answer: Record = (await self._call(member, "POST", path, body=body or {}, key=idempotency_key)).get("data", {})
        return answer

    async def upload_file(
        self,
        member: ActingMember,
        path: str,
        content: bytes,
        form_field_name: str,
        *,
        idempotency_key: str | None = None,
    ) -> Record:
        """Send one file. Raises ApiCallRejected."""
        edge = token_hex(16)
        head = f'--{edge}\r\nContent-Disposition: form-data; name="{form_field_name}"; filename="file"\r\n\r\n'
        sent = head.encode() + content + f"\r\n--{edge}--\r\n".encode()
        kind = f"multipart/form-data; boundary={edge}"
        answer: Record = (await self._send(member, "POST", path, sent, kind, key=idempotency_key))["data"]
        return answer

    async def patch(
        self,
        member: ActingMember,
        path: str,
        body: Mapping[str, object],
        *,
        precondition: Callable[[Tx], Awaitable[None]] | None = None,
    ) -> Record:
        """Change some members of a record. ``precondition``: awaited first in the transaction.

        Raises ApiCallRejected.
        """
        answer = await self._send(
            member, "PATCH", path, msgspec.json.encode(body), "application/json", precondition=precondition
        )
        changed: Record = answer["data"]
        return changed

    async def delete(self, member: ActingMember, path: str) -> None:
        """Delete a record. Raises ApiCallRejected."""
        await self._call(member, "DELETE", path)

    async def _call(
        self,
        member: ActingMember,
        method: Method,
        path: str,
        parameters: Sequence[tuple[str, str]] = (),
        body: Mapping[str, object] | None = None,
        key: str | None = None,
    ) -> Record:
        sent = b"" if body is None else msgspec.json.encode(body)
        return await self._send(member, method, path, sent, "application/json", parameters=parameters, key=key)

    async def _send(
        self,
        member: ActingMember,
        method: Method,
        path: str,
        sent: bytes,
        media_type: str,
        *,
        parameters: Sequence[tuple[str, str]] = (),
        key: str | None = None,
        precondition: Callable[[Tx], Awaitable[None]] | None = None,
    ) -> Record:
        caller = Caller(
            member.person.id, Partner(member.realm.id), SECRET, scopes_for_roles(member.person.roles), is_member=True
        )
        headers = {"content-type": media_type, **({"idempotency-key": key} if key else {})}
        call = partial(
            self._api.handle_member_call,
            caller,
            method,
            path,
            urlencode(parameters),
            sent,
            headers=headers,
            ip_address=member.ip_address,
            precondition=precondition,
        )
        reply = await call()
        for pause in _PAUSES:
            if reply.status < 400 or _problem(reply)["code"] != OriginalCallInProgress.code:
                break
            await asyncio.sleep(pause)
            reply = await call()
        if reply.status >= 400:
            problem = _problem(reply)
            raise ApiCallRejected(reply.status, problem["code"], problem["reasons"] or [problem["message"]])
        answer: Record = msgspec.json.decode(reply.body) if reply.body else {}
        return answer


def _problem(reply: Reply) -> Record:
    """The problem in the response to a rejected call."""
    problem: Record = msgspec.json.decode(reply.body)["error"]
    return problem


async def iterate_pages(
    list_page: Callable[[Sequence[tuple[str, str]]], Awaitable[RecordListPage]], parameters: Sequence[tuple[str, str]]
) -> AsyncIterator[list[Record]]:
    """All pages of a list, one after the other; no connection is held in between. Raises ApiCallRejected."""
    cursor: str | None = None
    while True:
        page = await list_page([*parameters, ("pageSize", str(_MAX_PAGE)), *([("cursor", cursor)] if cursor else [])])
        yield page.records
        if page.next_cursor is None:
            return
        cursor = page.next_cursor


def _cursor(link: str | None) -> str | None:
    return None if link is None else link.rpartition("cursor=")[2]
