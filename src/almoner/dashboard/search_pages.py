"""The search over all records: its page, and suggestions while the member types."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request, redirect_to
from almoner.access.partners import service as partners
from almoner.access.people.domain import MEMBER_ROLES
from almoner.dashboard import store_search
from almoner.dashboard.domain import PERSONAL, RecordList, has_scope
from almoner.dashboard.member_api_client import ApiCallRejected, MemberApiClient, Record
from almoner.dashboard.record_lists import ORGANISATIONS, PATHS_BY_ID_TYPE, SEARCHED_LISTS
from almoner.dashboard.record_pages import RecordPages
from almoner.dashboard.rendering import render_page
from almoner.dashboard.search_terms import hash_terms_of_query
from almoner.dashboard.store_search import HITS
from almoner.platform.pages.record_tables import Cell, Column

_ID: Final = re.compile(r"(?:sandbox_)?[a-z]+_[0-9a-z]{26}")
_SHOWN_COLUMNS: Final = 4
_SHORTEST: Final = 2
_AGE: Final = Column("createdAt", "age")


@dataclass(frozen=True, slots=True)
class SearchResultGroup:
    """Search results of one kind. ``all_results_path``: the filtered list of all results, if there is one."""

    record_list: RecordList
    rows: list[list[Cell]]
    all_results_path: str | None = None


class SearchPages:
    """Pages about search."""

    def __init__(self, context: PageContext, calls: MemberApiClient, records: RecordPages) -> None:
        self._context = context
        self._calls = calls
        self._records = records

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            self._context.route("/search", self.show_results, *MEMBER_ROLES, methods=["GET"]),
            self._context.route("/search/hits", self.show_live_results, *MEMBER_ROLES, methods=["GET"]),
        ]

    async def show_results(self, visitor: SignedInRequest) -> Response:
        """Show all search results; an ID leads directly to its record."""
        typed = _entered_query(visitor)
        if _ID.fullmatch(typed) and (path := PATHS_BY_ID_TYPE.get(typed.removeprefix("sandbox_").split("_")[0])):
            return redirect_to(f"{visitor.portal.home}{path}/{typed}")
        groups = await self._groups(visitor, typed)
        return render_page(self._context, visitor, "search.html", typed=typed, groups=groups, prefix="group")

    async def show_live_results(self, visitor: SignedInRequest) -> Response:
        """Show only the results, while the member types."""
        typed = _entered_query(visitor)
        groups = await self._groups(visitor, typed)
        return render_page(self._context, visitor, "search_hits.html", typed=typed, groups=groups, prefix="hits")

    async def _groups(self, visitor: SignedInRequest, entered: str) -> list[SearchResultGroup]:
        """Search results by kind of record, limited to those that the visitor may see."""
        if len(entered) < _SHORTEST:
            return []
        found = [
            *[(one, await self._load_records(visitor, one, ids)) for one, ids in await self._find(visitor, entered)],
            (ORGANISATIONS, await self._find_organisations(visitor, entered)),
        ]
        return [await self._group(visitor, one, records, entered) for one, records in found if records]

    async def _find(self, visitor: SignedInRequest, entered: str) -> list[tuple[RecordList, list[str]]]:
        """The IDs of the newest matching records of each kind."""
        partner, found = partner_from_request(visitor), []
        async with self._context.db.read() as tx:
            shared = (await partners.get(tx, partner)).shares_donor_details
            personal = shared and has_scope(visitor.person.roles, PERSONAL)
            for one in SEARCHED_LISTS:
                if has_scope(visitor.person.roles, one.scope):
                    words = hash_terms_of_query(partner.id, one.id_type, entered, includes_personal_terms=personal)
                    ids = await store_search.find_record_ids(tx, partner, one.id_type, words) if words else []
                    found.append((one, [tx.ids.encode(one.id_type, id_) for id_ in ids]))
        return found

    async def _load_records(
        self, visitor: SignedInRequest, record_list: RecordList, ids: Sequence[str]
    ) -> list[Record]:
        """The records as the visitor may see them, without deleted ones."""
        found = []
        for name in ids:
            try:
                found.append(await self._calls.get(visitor, f"{record_list.api_path}/{name}"))
            except ApiCallRejected as refused:
                if refused.status != 404:
                    raise
        return found

    async def _find_organisations(self, visitor: SignedInRequest, entered: str) -> list[Record]:
        """Nonprofits by name or number."""
        if "@" in entered:
            return []
        asked = [("query", entered), ("pageSize", str(HITS))]
        try:
            return (await self._calls.list_page(visitor, ORGANISATIONS.api_path, asked)).records
        except ApiCallRejected as refused:
            if refused.status != 400:
                raise
            return []  # a query without words matches nothing

    async def _group(
        self, visitor: SignedInRequest, record_list: RecordList, records: Sequence[Record], entered: str
    ) -> SearchResultGroup:
        await self._records.files.record_donor_data_access(visitor, record_list, records)
        rows = [_hit(cells) for cells in await self._records.build_rows(visitor, record_list, records)]
        parameter = "email" if "@" in entered else "query"
        filtered = len(records) == HITS and any(one.parameter == parameter for one in record_list.filters)
        address = f"{visitor.portal.home}{record_list.path}?{urlencode({parameter: entered})}"
        return SearchResultGroup(record_list, rows, address if filtered else None)


def _entered_query(visitor: SignedInRequest) -> str:
    return visitor.query.get("q", "").strip()[:500]


def _hit(cells: Sequence[Cell]) -> list[Cell]:
    """The display of a search result: its first cells, and its age, which distinguishes similar records."""
    made = [replace(one, column=_AGE) for one in cells[_SHOWN_COLUMNS:] if one.column.member == _AGE.member]
    return [*cells[:_SHOWN_COLUMNS], *made]
