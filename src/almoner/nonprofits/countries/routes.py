"""Endpoints of countries (settled 8)."""

from almoner.nonprofits.countries import service
from almoner.nonprofits.countries.schemas import CountriesQuery, CountryResponse, country_response
from almoner.platform.http.caller import PUBLISHABLE
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.paging import ListResponse

routes = Routes("Countries")


@routes.get("/v1/countries", key=PUBLISHABLE, scope="registries:read")
async def list_countries(call: ApiCall, query: CountriesQuery) -> ListResponse[CountryResponse]:
    """List all countries in the order of their codes, in one page."""
    rows = await service.list_countries(call.tx, query.has_registry)
    return call.unpaged_list_response(rows, country_response, query)
