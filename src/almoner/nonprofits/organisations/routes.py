"""Endpoints of organisations (settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.nonprofits.organisations import results, service
from almoner.nonprofits.organisations.schemas import (
    MilestoneResponse,
    OrganisationBrandingResponse,
    OrganisationChangeResponse,
    OrganisationProfileResponse,
    OrganisationQuery,
    OrganisationResponse,
    OrganisationsQuery,
    SearchResponse,
    donation_milestone_response,
    organisation_branding_response,
    organisation_change_response,
    organisation_profile_response,
    parse_filters,
)
from almoner.platform.http.caller import NO_KEY, PUBLISHABLE, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse
from almoner.platform.http.wire import PageQuery

OrganisationId = Annotated[UUID, PathId("organisation")]

_DATA_AS_OF_HEADER = {
    "Data-As-Of": "The day of the register's data, such as 2026-04-13; missing if the day is not known."
}
_EXPLAIN_HEADER = {"Explain": "`true` adds `explain` to each result, which says how the result was found."}

routes = Routes("Organisations")


class OrganisationHistoryQuery(PageQuery):
    """Query parameters of an organisation's history: paging only."""


class OrganisationMilestonesPageQuery(PageQuery):
    """Query parameters of an organisation's milestones: paging only."""


@routes.get(
    "/v1/organisations",
    key=PUBLISHABLE,
    scope="organisations:read",
    list_extras=SearchResponse,
    request_headers=_EXPLAIN_HEADER,
)
async def search_organisations(call: ApiCall, query: OrganisationsQuery) -> ListResponse[OrganisationResponse]:
    """Search organisations.

    With `query`, the best matches come first: the words of a name in any order, with typos corrected, and the last word
    may be incomplete. Without `query`, the list is in order of creation.
    """
    filters = await service.resolve_filters(
        call.tx, parse_filters(call.tx, query), registry_name=query.registry_name, registry_number=query.registry_id
    )
    if query.page is not None:
        return await results.list_organisations_by_page_number(call, query, query.page, filters)
    return await results.list_organisations_by_cursor(call, query, filters)


@routes.get("/v1/organisations/{id}", key=PUBLISHABLE, scope="organisations:read", headers=_DATA_AS_OF_HEADER)
async def get_organisation(call: ApiCall, id: OrganisationId, query: OrganisationQuery) -> OrganisationResponse:
    """Retrieve an organisation, as it is now or was on a date.

    The header `Data-As-Of` contains the date of its register's data.
    """
    if query.as_of is not None:
        return await results.organisation_response_with_data_date_header(
            call, await service.get_as_of(call.tx, call.partner, id, query.as_of)
        )
    return await results.organisation_response_with_data_date_header(call, await service.get(call.tx, call.partner, id))


@routes.get("/v1/organisations/{id}/history", key=PUBLISHABLE, scope="organisations:read")
async def list_organisation_history(
    call: ApiCall, id: OrganisationId, query: OrganisationHistoryQuery
) -> ListResponse[OrganisationChangeResponse]:
    """List the changes of an organisation.

    The list has all changes by imports of the organisation's register since the first import.
    """
    page = call.requested_page(query)
    rows, total = await service.list_changes(call.tx, call.partner, id, page)
    return call.list_response(
        page, rows, total, lambda row: organisation_change_response(call.tx, row), lambda row: (row.id,)
    )


@routes.get(
    "/v1/organisations/{countryCode}/{registry}/{registryId}",
    key=SECRET,
    scope="organisations:read",
    headers=_DATA_AS_OF_HEADER,
)
async def find_organisation(call: ApiCall, country_code: str, registry: str, registry_id: str) -> OrganisationResponse:
    """Retrieve an organisation by its registration number.

    The registry is an ID, code or name, and the number can be in any format. A 404 has the header `Data-As-Of` if the
    register does not list the number, and no such header if the register is not loaded.
    """
    return await results.organisation_response_with_data_date_header(
        call, await service.get_by_number(call.tx, call.partner, country_code, registry, registry_id)
    )


@routes.get("/v1/organisations/{id}/profile", key=NO_KEY)
async def get_organisation_profile(call: ApiCall, id: OrganisationId) -> OrganisationProfileResponse:
    """Retrieve the public information about an organisation; no API key is needed."""
    return organisation_profile_response(call.tx, await service.get_published(call.tx, id))


@routes.get("/v1/organisations/{id}/branding", key=PUBLISHABLE, scope="organisations:read")
async def get_organisation_branding(call: ApiCall, id: OrganisationId) -> OrganisationBrandingResponse:
    """Retrieve an organisation's branding. Values that the organisation has not set are those of its record."""
    return organisation_branding_response(call.tx, await service.get_effective_branding(call.tx, call.partner, id))


@routes.get("/v1/organisations/{id}/milestones", key=PUBLISHABLE, scope="organisations:read")
async def list_organisation_milestones(
    call: ApiCall,
    id: OrganisationId,
    query: OrganisationMilestonesPageQuery,
) -> ListResponse[MilestoneResponse]:
    """List the goals that an organisation publishes."""
    page = call.requested_page(query)
    rows, total = await service.list_donation_milestones(call.tx, call.partner, id, page)
    return call.list_response(
        page, rows, total, lambda row: donation_milestone_response(call.tx, row), lambda row: (row.id.bytes,)
    )
