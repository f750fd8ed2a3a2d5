"""Runs a search: matching rows, their order, and the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asyncpg import Record
from scim2_models import Resource, ScimFilter, SearchRequest
from scim2_server.utils import parametrize

from almoner.kit.ids import RecordIdCodec
from almoner.platform.database.transactions import Partner, Tx
from almoner.scim import filters, ordering, store
from almoner.scim.attributes import AttributeMap
from almoner.scim.filters import SqlParameters
from almoner.scim.ordering import PagePosition
from almoner.scim.resources import Kind
from almoner.scim.store import SearchTarget

_EVERYTHING = 2**62


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The places of a page in their order. ``next_position``, ``previous_position``: positions, for cursors."""

    total: int | None
    resource_kinds_and_ids: list[tuple[Kind, UUID]]
    next_position: dict[str, Any] | None = None
    previous_position: dict[str, Any] | None = None


class ScimSearch:
    """A search over users, groups or both. Raises InvalidFilterException."""

    def __init__(
        self,
        ids: RecordIdCodec,
        partner: Partner,
        models: Mapping[Kind, type[Resource[Any]]],
        request: SearchRequest[Any],
    ) -> None:
        self._request = request
        self._parameters = SqlParameters(partner.id)
        self._searched = []
        for kind, model in models.items():
            places = AttributeMap(ids, kind, model)
            condition = "true"
            if request.filter is not None:
                bound = parametrize(ScimFilter, model)(str(request.filter))
                condition = filters.filter_to_sql(bound, places, self._parameters)
            value = ordering.sort_value_sql(places, request.sort_binding(model), searches_several_kinds=len(models) > 1)
            self._searched.append(SearchTarget(kind, condition, value))
        self._order = ordering.build_sort_order(request, [one.sort_value for one in self._searched])

    async def fetch_page(self, tx: Tx, position: PagePosition | None) -> SearchResult:
        """One page; ``position``: of its beginning or end, for cursors. Raises InvalidCursorException."""
        if self._request.count == 0:
            return SearchResult(await self._total(tx), [])
        if self._request.cursor is None:
            return await self._by_index(tx)
        return await self._by_cursor(tx, position)

    async def _by_index(self, tx: Tx) -> SearchResult:
        """Return a page by index; a filter that must scan all rows does so once, for the page and the total."""
        offset, count = self._request.start_index_0 or 0, self._request.count
        rows = await self._page(tx, "true", self._parameters, count, offset, counted=self._request.filter is not None)
        if rows and rows[0]["total"] is not None:
            return SearchResult(rows[0]["total"], _resource_keys(rows))
        whole = offset == 0 and (count is None or len(rows) < count)
        return SearchResult(len(rows) if whole else await self._total(tx), _resource_keys(rows))

    async def _by_cursor(self, tx: Tx, position: PagePosition | None) -> SearchResult:
        """Return a page by cursor. Only the first has the total (optional by RFC 9865 2): others need not count."""
        parameters, beyond = SqlParameters(*self._parameters.values), "true"
        if position is not None:
            beyond = self._order.beyond_position_sql(position, parameters)
        count, backwards = self._request.count, position is not None and position.direction == "previous"
        rows = await self._page(tx, beyond, parameters, None if count is None else count + 1, 0, backwards=backwards)
        more = count is not None and len(rows) > count
        rows = rows[:count]
        if backwards:
            rows.reverse()
        total = None
        if position is None:
            total = await self._total(tx) if more else len(rows)
        after = bool(rows) and (more or backwards)
        before = bool(rows) and position is not None and (more or not backwards)
        return SearchResult(
            total,
            _resource_keys(rows),
            PagePosition("next", rows[-1]["v"], rows[-1]["id"]).to_json() if after else None,
            PagePosition("previous", rows[0]["v"], rows[0]["id"]).to_json() if before else None,
        )

    async def _page(
        self,
        tx: Tx,
        beyond: str,
        parameters: SqlParameters,
        limit: int | None,
        offset: int,
        *,
        backwards: bool = False,
        counted: bool = False,
    ) -> list[Record]:
        bound = SqlParameters(*parameters.values, _EVERYTHING if limit is None else limit, offset)
        return await store.list_matches(
            tx, self._searched, self._order, beyond, bound, backwards=backwards, with_total=counted
        )

    async def _total(self, tx: Tx) -> int:
        return await store.count_matches(tx, self._searched, self._parameters.values)


def _resource_keys(rows: list[Record]) -> list[tuple[Kind, UUID]]:
    return [(row["kind"], row["id"]) for row in rows]
