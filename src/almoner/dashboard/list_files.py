"""Lists as CSV files, with the values of their columns as the API returns them to the member."""

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Final, Protocol
from urllib.parse import urlencode

from almoner.access.accounts.page_texts import parse_time_zone
from almoner.dashboard import store
from almoner.dashboard.domain import PERSONAL, RecordList, SortOrder, has_scope
from almoner.dashboard.facts import value_at_path
from almoner.dashboard.member_api_client import (
    ActingMember,
    ApiCallRejected,
    MemberApiClient,
    Record,
    RecordListPage,
    iterate_pages,
)
from almoner.kit.time import convert_day_to_start_timestamp
from almoner.platform.database.transactions import Database, Partner
from almoner.platform.pages.csv_files import csv_header_line, csv_line

MAX_DOWNLOAD: Final = 50_000
"""The maximum number of records in a file that is written during its download. Larger files are prepared by a job."""
_MOST_TYPED: Final = 500


class RecordSource(Protocol):
    """The source of a list's records that no API call returns."""

    async def list_page(self, member: ActingMember, parameters: Sequence[tuple[str, str]]) -> RecordListPage:
        """One page, filtered. Raises ApiCallRejected."""
        ...

    async def get(self, member: ActingMember, record_id: str) -> Record:
        """One record. Raises NotFound."""
        ...


class RecordListReader:
    """Reads the records of lists, and writes them as files."""

    def __init__(self, db: Database, calls: MemberApiClient, sources: Mapping[RecordList, RecordSource]) -> None:
        """Create it. ``sources``: of lists that no API call returns."""
        self._db = db
        self._calls = calls
        self.sources = sources

    async def list_page(
        self, member: ActingMember, record_list: RecordList, parameters: Sequence[tuple[str, str]]
    ) -> RecordListPage:
        """One page of a list. Raises ApiCallRejected."""
        parameters = self._with_moments(member, record_list, parameters)
        if source := self.sources.get(record_list):
            return await source.list_page(member, parameters)
        if ("sort", "status") in parameters:
            return await self._list_by_status(member, record_list, dict(parameters))
        if not record_list.is_paged:
            parameters = [pair for pair in parameters if pair[0] not in ("pageSize", "cursor")]
        return await self._calls.list_page(member, record_list.api_path, parameters)

    def _with_moments(
        self, member: ActingMember, record_list: RecordList, parameters: Sequence[tuple[str, str]]
    ) -> list[tuple[str, str]]:
        """The parameters with days as their start in the member's time zone, in which the list shows moments."""
        days = {one.parameter for one in record_list.filters if one.kind == "day"}
        zone = parse_time_zone(member.person.time_zone) or self._db.deployment.time_zone
        return [
            (name, convert_day_to_start_timestamp(value, zone) if name in days else value) for name, value in parameters
        ]

    async def _list_by_status(
        self, member: ActingMember, record_list: RecordList, given: dict[str, str]
    ) -> RecordListPage:
        """One page of the list filtered by each status in turn; a cursor contains the status to continue with."""
        statuses = record_list.statuses if given.pop("direction") == "ASC" else record_list.statuses[::-1]
        first, _, cursor = given.pop("cursor", statuses[0]).partition("~")
        size, _ = int(given.pop("pageSize")), given.pop("sort")
        if first not in statuses:
            raise ApiCallRejected(400, "incorrect_params", ["query.cursor does not belong to this list"])
        filters, records = list(given.items()), list[Record]()
        total = (await self._calls.list_page(member, record_list.api_path, [*filters, ("pageSize", "1")])).total
        for status in statuses[statuses.index(first) :]:
            left = size - len(records)
            asked = [*filters, ("status", status), ("pageSize", str(left or 1))]
            page = await self._calls.list_page(
                member, record_list.api_path, [*asked, *([("cursor", cursor)] if cursor else [])]
            )
            if not left and page.records:
                return RecordListPage(records, total, status, None)
            records += page.records
            if page.next_cursor:
                return RecordListPage(records, total, f"{status}~{page.next_cursor}", None)
            cursor = ""
        return RecordListPage(records, total, None, None)

    async def count_records(self, member: ActingMember, record_list: RecordList, query: Mapping[str, str]) -> int:
        """The number of matching records. Raises ApiCallRejected."""
        page = await self.list_page(
            member, record_list, [*build_filter_parameters(record_list, query), ("pageSize", "1")]
        )
        return page.total

    async def stream_csv_lines(
        self, member: ActingMember, record_list: RecordList, query: Mapping[str, str], max_count: int, notice: str
    ) -> AsyncIterator[bytes]:
        """The lines of the file, for at most ``max_count`` records; ``notice``: a last line if there are more.

        Raises ApiCallRejected.
        """
        members = _members(record_list)
        yield csv_header_line(members)
        asked = [*build_filter_parameters(record_list, query), *requested_sort_order(record_list, query).api_parameters]
        written = 0
        async for records in iterate_pages(partial(self.list_page, member, record_list), asked):
            if written >= max_count:
                yield csv_line([notice])
                return
            await self.record_donor_data_access(member, record_list, records)
            written += len(records)
            yield b"".join(csv_line(_text(value_at_path(record, name)) for name in members) for record in records)

    async def record_donor_data_access(
        self, member: ActingMember, record_list: RecordList, records: Sequence[Record]
    ) -> None:
        """Record which member viewed which donors' data."""
        if not may_see_donor_data(member, record_list):
            return
        ids = self._db.deployment.ids
        shown = [ids.decode(record_list.id_type, record["id"]) for record in records if record.get("email")]
        if found := [one for one in shown if one is not None]:
            async with self._db.write() as tx:
                await store.insert_donor_data_accesses(tx, Partner(member.realm.id), member.person.id, found)


def may_see_donor_data(member: ActingMember, record_list: RecordList) -> bool:
    """Whether the list shows the member donors' personal data."""
    return record_list.contains_donor_data and has_scope(member.person.roles, PERSONAL)


def entered_filter_values(record_list: RecordList, query: Mapping[str, str]) -> list[tuple[str, str]]:
    """The values of all filters in a query, as entered."""
    return [(one.parameter, query.get(one.parameter, "").strip()[:_MOST_TYPED]) for one in record_list.filters]


def build_filter_parameters(record_list: RecordList, query: Mapping[str, str]) -> list[tuple[str, str]]:
    """The filters that a query string sets."""
    return [(name, value) for name, value in entered_filter_values(record_list, query) if value]


def requested_sort_order(record_list: RecordList, query: Mapping[str, str]) -> SortOrder:
    """The order that a query string requests."""
    return record_list.parse_sort_order(
        query.get("sort", ""), query.get("direction", ""), dict(build_filter_parameters(record_list, query))
    )


def build_query_string_of_list(record_list: RecordList, query: Mapping[str, str]) -> str:
    """The filters and order of a query string, as the list's URL has them."""
    return urlencode(
        [*build_filter_parameters(record_list, query), *requested_sort_order(record_list, query).page_parameters]
    )


def _members(record_list: RecordList) -> list[str]:
    """The columns of a file: those of the list, plus the currency of an amount and the donor's names."""
    members: list[str] = []
    for column in record_list.columns:
        match column.kind:
            case "amount":
                members += [column.member, "currencyCode"]
            case "donor":
                members += ["firstName", "lastName", column.member]
            case _:
                members.append(column.member)
    return members


def _text(value: object) -> str:
    return "" if value is None else str(value)
