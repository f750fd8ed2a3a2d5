"""The request log as a record list: requests made with the partner's API keys."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from almoner.access.keys import service as keys
from almoner.access.keys.domain import (
    ApiKey,
    ApiRequest,
    ApiRequestFilter,
    parse_request_id,
)
from almoner.dashboard.member_api_client import ActingMember, ApiCallRejected, Record, RecordListPage
from almoner.kit.errors import NotFound
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.http.edge import format_request_id


class ApiRequestSource:
    """Lists and finds requests."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def list_page(self, member: ActingMember, parameters: Sequence[tuple[str, str]]) -> RecordListPage:
        """One page, newest first. Raises ApiCallRejected."""
        given = dict(parameters)
        partner = Partner(member.realm.id)
        async with self._db.read() as tx:
            wanted = _filter(tx, given)
            before = _parse_cursor(given["cursor"]) if "cursor" in given else None
            found = await keys.list_requests_page(tx, partner, wanted, before, int(given["pageSize"]))
            known = {key.id: key for key in await keys.list_by_partner(tx, partner)}
            records = [_record(tx, request, known.get(request.key_id)) for request in found.requests]
        onward = None if found.next_before_id is None else found.next_before_id.hex
        return RecordListPage(records, len(records), onward, None)

    async def get(self, member: ActingMember, record_id: str) -> Record:
        """One request. Raises NotFound."""
        partner, request_id = Partner(member.realm.id), parse_request_id(record_id)
        if request_id is None:
            raise NotFound
        async with self._db.read() as tx:
            found = await keys.find_request(tx, partner, request_id)
            if found is None:
                raise NotFound
            known = {key.id: key for key in await keys.list_by_partner(tx, partner)}
            return _record(tx, found, known.get(found.key_id))


def _record(tx: Tx, request: ApiRequest, key: ApiKey | None) -> Record:
    return {
        "id": format_request_id(request.request_id),
        "request": f"{request.method} {request.path or request.route}",
        "route": request.route,
        "parameters": request.parameters,
        "statusCode": request.status,
        "errorCode": request.error_code,
        "durationMs": round(request.duration_ms, 2),
        "apiKey": "" if key is None else f"{key.name} ...{key.hint}",
        "apiKeyId": tx.ids.encode("apikey", request.key_id),
        "network": request.network,
        "createdAt": iso_timestamp(request.received_at),
    }


def _filter(tx: Tx, given: Mapping[str, str]) -> ApiRequestFilter:
    """The filters of the query string. Raises ApiCallRejected with all problems."""
    values: dict[str, Any] = {}
    reasons: list[str] = []
    for name, (member, parse, expected) in _PARAMETERS.items():
        if name not in given:
            continue
        values[member] = parse(tx, given[name])
        if values[member] is None:
            reasons.append(f"query.{name} must be {expected}")
    if reasons:
        raise ApiCallRejected(400, "incorrect_params", reasons)
    return ApiRequestFilter(**values)


def _as_typed(_tx: Tx, text: str) -> str:
    return text


def _outcome(_tx: Tx, text: str) -> str | None:
    return text if text in ("succeeded", "failed") else None


def _status(_tx: Tx, text: str) -> int | None:
    return int(text) if len(text) == 3 and text.isascii() and text.isdecimal() else None


def _request_id(_tx: Tx, text: str) -> UUID | None:
    return parse_request_id(text)


def _key_id(tx: Tx, text: str) -> UUID | None:
    return tx.ids.decode("apikey", text)


def _moment(_tx: Tx, text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


_PARAMETERS: Final[Mapping[str, tuple[str, Callable[[Tx, str], object | None], str]]] = {
    "requestId": ("request_id", _request_id, "a Request-Id: req_ and 32 digits"),
    "outcome": ("outcome", _outcome, "succeeded or failed"),
    "statusCode": ("status", _status, "a number such as 404"),
    "errorCode": ("error_code", _as_typed, ""),
    "method": ("method", _as_typed, ""),
    "route": ("route", _as_typed, ""),
    "apiKeyId": ("key_id", _key_id, "the ID of an API key"),
    "startDate": ("since", _moment, "a date such as 2026-11-21"),
    "endDate": ("before", _moment, "a date such as 2026-11-21"),
}
"""By parameter: the filter's field, its parser (returns None if invalid), and a description of valid values."""


def _parse_cursor(text: str) -> UUID:
    """Parse the ID before which a page starts. Raises ApiCallRejected."""
    found = parse_request_id(text)
    if found is None:
        raise ApiCallRejected(400, "incorrect_params", ["query.cursor does not belong to this list"])
    return found
