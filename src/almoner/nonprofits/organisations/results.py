"""Lists of organisations as answers, by cursor or by page number (settled 1.1)."""

from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from almoner.kit.errors import IncorrectParams
from almoner.nonprofits.categories import service as categories
from almoner.nonprofits.categories.domain import Category
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.organisations.filters import Filters
from almoner.nonprofits.organisations.schemas import OrganisationOut, OrganisationsQuery, explained, organisation_out
from almoner.nonprofits.organisations.service import Found
from almoner.platform.http.calls import Call
from almoner.platform.http.paging import Listing, Page

NUMBERED: Final = 1_000
"""Results that numbered pages reach."""


async def by_cursor(call: Call, query: OrganisationsQuery, filters: Filters) -> Listing[Any]:
    """The page that the cursor names."""
    page = call.page(query)
    if not query.query:
        found = await organisations.page(call.tx, call.partner, filters, page)
        record = await _recorder(call, found)
        return call.listing(page, found.organisations, found.total, record, lambda row: (row.id.bytes,), _extra(found))
    start, stop = _stretch(page)
    found = await organisations.ranked(
        call.tx, call.partner, filters, query.query, start, stop, best_first=page.descending
    )
    record = await _recorder(call, found)
    placed = list(enumerate(found.organisations, start))
    return call.listing(
        page,
        placed[::-1] if page.backwards else placed,
        found.total,
        lambda row: record(row[1]),
        lambda row: (row[0],),
        _extra(found),
    )


async def by_number(call: Call, query: OrganisationsQuery, number: int, filters: Filters) -> Listing[Any]:
    """The numbered page. Raises IncorrectParams beyond the results that numbers reach."""
    start = (number - 1) * query.page_size
    if start >= NUMBERED:
        raise IncorrectParams(f"query.page reaches the first {NUMBERED} results only; narrow the query or use a cursor")
    stop = min(start + query.page_size, NUMBERED)
    descending = query.direction == "DESC"
    if query.query:
        found = await organisations.ranked(
            call.tx, call.partner, filters, query.query, start, stop, best_first=descending
        )
    else:
        found = await organisations.page(call.tx, call.partner, filters, Page(stop - start, descending), start)
    record = await _recorder(call, found)
    return Listing(
        [record(row) for row in found.organisations[: stop - start]],
        found.total,
        query.page_size,
        _numbered_links(call, number, min(found.total, NUMBERED), query.page_size),
        {**_extra(found), "pageNumber": number},
    )


def _stretch(page: Page) -> tuple[int, int]:
    """The results from ``start`` to ``stop`` (exclusive), one more than is shown."""
    if page.position is None:
        return 0, page.limit
    anchor = int(page.position[0])
    return (max(anchor - page.limit, 0), anchor) if page.backwards else (anchor + 1, anchor + 1 + page.limit)


def _extra(found: Found) -> dict[str, object]:
    return {"exhaustiveTotalResults": found.exhaustive}


def _numbered_links(call: Call, number: int, reachable: int, size: int) -> dict[str, str | None]:
    address = call.db.deployment.links.api + call.path
    kept = [(name, value) for name, value in call.parameters if name != "page"]
    last = max(1, -(-reachable // size))

    def link(page: int) -> str:
        return address + "?" + urlencode([*kept, ("page", str(page))])

    return {
        "current": link(number),
        "next": link(number + 1) if number < last else None,
        "prev": link(min(number - 1, last)) if number > 1 else None,
        "first": link(1),
        "last": link(last),
    }


async def _recorder(call: Call, found: Found) -> Callable[[Organisation], OrganisationOut]:
    """Makes the record of each organisation found, with its explanation where the caller asks for one."""
    own = await _categories(call, found.organisations)
    explain = call.headers.get("explain", "").strip().lower() == "true"

    def record(row: Organisation) -> OrganisationOut:
        made = organisation_out(call.tx, row, own.get(row.id, []))
        return explained(made, found.placed.get(row.id)) if explain else made

    return record


async def _categories(call: Call, shown: Sequence[Organisation]) -> dict[UUID, list[Category]]:
    return await categories.of_organisations(call.tx, call.partner, [row.id for row in shown])


async def single(call: Call, row: Organisation) -> OrganisationOut:
    """The answer for one organisation, dated by its register's data."""
    if row.data_as_of is not None:
        call.answer_headers["Data-As-Of"] = row.data_as_of.strftime("%Y-%m-%d")
    return organisation_out(call.tx, row, (await _categories(call, [row])).get(row.id, []))
