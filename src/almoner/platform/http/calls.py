"""The API call that an endpoint's handler receives, and its paging."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlencode

from almoner.platform import idempotency
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.http.caller import Caller
from almoner.platform.http.endpoints import Endpoint
from almoner.platform.http.paging import (
    CursorCodec,
    ListResponse,
    PageRows,
    Position,
    RequestedPage,
    page_links,
    select_page_rows,
)
from almoner.platform.http.wire import PageQuery, ResponseRecord, UnpagedQuery

R = TypeVar("R")


@dataclass(slots=True)
class ApiCall:
    """One API call as its handler receives it: transaction, caller, parameters, headers."""

    db: Database
    headers: Mapping[str, str]
    ip_address: str
    path: str
    query_parameters: list[tuple[str, str]]
    endpoint: Endpoint
    authenticated_caller: Caller | None
    idempotency_claim: idempotency.IdempotencyClaim | None
    request_id: str | None = None
    precondition: Callable[[Tx], Awaitable[None]] | None = None
    open_tx: Tx | None = None
    response_headers: dict[str, str] = field(default_factory=dict)

    @property
    def tx(self) -> Tx:
        """The open transaction. Raises RuntimeError on a route with ``tx=None``."""
        if self.open_tx is None:
            raise RuntimeError(f"{self.endpoint.operation_id} is declared without a transaction")
        return self.open_tx

    @property
    def caller(self) -> Caller:
        """The authenticated caller. Raises RuntimeError on a route without a key."""
        if self.authenticated_caller is None:
            raise RuntimeError(f"{self.endpoint.operation_id} is declared without a key")
        return self.authenticated_caller

    @property
    def partner(self) -> Partner:
        """The calling partner's scope."""
        return self.caller.partner

    @property
    def audit_entry_context(self) -> audit.AuditEntryContext:
        """The audit context of the call (V8)."""
        caller = self.caller
        ids = self.db.deployment.ids
        if caller.is_member:
            actor = audit.Actor("member", ids.encode("member", caller.key_id))
        else:
            actor = audit.Actor("key", ids.encode("apikey", caller.key_id))
        return audit.AuditEntryContext(
            caller.partner.id, actor, self.endpoint.operation_id, self.ip_address, self.request_id
        )

    def requested_page(self, query: PageQuery) -> RequestedPage:
        """The page that the query requests. Raises CursorError."""
        descending = query.direction == "DESC"
        if query.cursor is None:
            return RequestedPage(query.page_size, descending)
        cursor = self._cursors().decode(query.cursor)
        return RequestedPage(query.page_size, descending, cursor.position, cursor.backwards)

    def list_response(
        self,
        page: RequestedPage,
        fetched_rows: Sequence[R],
        total: int,
        to_response: Callable[[R], ResponseRecord],
        to_position: Callable[[R], Position],
        extra_members: dict[str, object] | None = None,
    ) -> ListResponse[Any]:
        """The response for one page, from ``page.fetch_limit`` fetched rows in reading order."""
        shown: PageRows[R] = select_page_rows(page, fetched_rows)
        result = page_links(
            self.db.deployment.base_urls.api + self.path, self.query_parameters, self._cursors(), shown, to_position
        )
        return ListResponse([to_response(row) for row in shown.rows], total, page.size, result, extra_members)

    def unpaged_list_response(
        self, rows: Sequence[R], to_response: Callable[[R], ResponseRecord], query: UnpagedQuery
    ) -> ListResponse[Any]:
        """The response of a list that is returned whole (settled 1.1); ``rows`` ascend."""
        if query.direction == "DESC":
            rows = rows[::-1]
        address = self.db.deployment.base_urls.api + self.path
        current = address + ("?" + urlencode(self.query_parameters) if self.query_parameters else "")
        result: dict[str, str | None] = {"current": current, "next": None, "prev": None}
        return ListResponse([to_response(row) for row in rows], len(rows), len(rows), result)

    def _cursors(self) -> CursorCodec:
        partner = self.authenticated_caller.partner.id if self.authenticated_caller else None
        filters = [(name, value) for name, value in self.query_parameters if name not in ("cursor", "pageSize")]
        return CursorCodec(self.db.deployment.vault, partner, self.path, filters)
