"""Lists of organisations in responses, by cursor or page number (settled 1.1)."""

from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from almoner.kit.errors import IncorrectParams
from almoner.nonprofits.categories import service as categories
from almoner.nonprofits.categories.domain import Category
from almoner.nonprofits.organisations import service
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.organisations.filters import OrganisationFilters
from almoner.nonprofits.organisations.schemas import (
    OrganisationResponse,
    OrganisationsQuery,
    organisation_response,
    with_match_explanation,
)
from almoner.nonprofits.organisations.service import OrganisationResults
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.paging import ListResponse, RequestedPage

_MAX_NUMBERED_RESULTS: Final = 1_000
"""How many results numbered pages can reach."""


async def list_organisations_by_cursor(
    call: ApiCall, query: OrganisationsQuery, filters: OrganisationFilters
) -> ListResponse[Any]:
    """The page at a cursor."""
    page = call.requested_page(query)
    if not query.query:
        found = await service.list_page(call.tx, call.partner, filters, page)
        record = await _record_builder(call, found)
        return call.list_response(
            page, found.organisations, found.total, record, lambda row: (row.id.bytes,), _extra_fields(found)
        )
    start, stop = _result_range(page)
    found = await service.search_by_text(
        call.tx, call.partner, filters, query.query, start, stop, best_first=page.descending
    )
    record = await _record_builder(call, found)
    placed = list(enumerate(found.organisations, start))
    return call.list_response(
        page,
        placed[::-1] if page.backwards else placed,
        found.total,
        lambda row: record(row[1]),
        lambda row: (row[0],),
        _extra_fields(found),
    )


async def list_organisations_by_page_number(
    call: ApiCall, query: OrganisationsQuery, page_number: int, filters: OrganisationFilters
) -> ListResponse[Any]:
    """The page with a number. Raises IncorrectParams beyond ``_MAX_NUMBERED_RESULTS``."""
    start = (page_number - 1) * query.page_size
    if start >= _MAX_NUMBERED_RESULTS:
        raise IncorrectParams(
            f"query.page reaches the first {_MAX_NUMBERED_RESULTS} results only; narrow the query or use a cursor"
        )
    stop = min(start + query.page_size, _MAX_NUMBERED_RESULTS)
    descending = query.direction == "DESC"
    if query.query:
        found = await service.search_by_text(
            call.tx, call.partner, filters, query.query, start, stop, best_first=descending
        )
    else:
        found = await service.list_page(call.tx, call.partner, filters, RequestedPage(stop - start, descending), start)
    record = await _record_builder(call, found)
    return ListResponse(
        [record(row) for row in found.organisations[: stop - start]],
        found.total,
        query.page_size,
        _numbered_links(call, page_number, min(found.total, _MAX_NUMBERED_RESULTS), query.page_size),
        {**_extra_fields(found), "pageNumber": page_number},
    )


def _result_range(page: RequestedPage) -> tuple[int, int]:
    """The results from ``start`` to ``stop`` (exclusive), one more than the page shows."""
    if page.position is None:
        return 0, page.fetch_limit
    anchor = int(page.position[0])
    return (
        (max(anchor - page.fetch_limit, 0), anchor) if page.backwards else (anchor + 1, anchor + 1 + page.fetch_limit)
    )


def _extra_fields(found: OrganisationResults) -> dict[str, object]:
    return {
        "exhaustiveTotalResults": found.is_total_exact,
        "similarResultsOnly": found.similar_results_only,
        "leadingZerosAdded": found.leading_zeros_added,
    }


def _numbered_links(call: ApiCall, number: int, reachable: int, size: int) -> dict[str, str | None]:
    address = call.db.deployment.base_urls.api + call.path
    stored = [(name, value) for name, value in call.query_parameters if name != "page"]
    last = max(1, -(-reachable // size))

    def link(page: int) -> str:
        return address + "?" + urlencode([*stored, ("page", str(page))])

    return {
        "current": link(number),
        "next": link(number + 1) if number < last else None,
        "prev": link(min(number - 1, last)) if number > 1 else None,
        "first": link(1),
        "last": link(last),
    }


async def _record_builder(call: ApiCall, found: OrganisationResults) -> Callable[[Organisation], OrganisationResponse]:
    """A function that builds the API record of each result, with its ranking explanation if the caller asked for it."""
    own = await _categories(call, found.organisations)
    explain = call.headers.get("explain", "").strip().lower() == "true"

    def record(row: Organisation) -> OrganisationResponse:
        made = organisation_response(call.tx, row, own.get(row.id, []))
        return with_match_explanation(made, found.ranked_results_by_id.get(row.id)) if explain else made

    return record


async def _categories(call: ApiCall, shown: Sequence[Organisation]) -> dict[UUID, list[Category]]:
    return await categories.load_categories_by_organisation(call.tx, call.partner, [row.id for row in shown])


async def organisation_response_with_data_date_header(
    call: ApiCall, organisation: Organisation
) -> OrganisationResponse:
    """The API record of one organisation, dated by its register's data."""
    if organisation.data_as_of is not None:
        call.response_headers["Data-As-Of"] = organisation.data_as_of.strftime("%Y-%m-%d")
    return organisation_response(
        call.tx, organisation, (await _categories(call, [organisation])).get(organisation.id, [])
    )
