"""Endpoints of countries (settled 8)."""

from almoner.nonprofits.countries import service as countries
from almoner.nonprofits.countries.schemas import CountriesQuery, CountryOut, country_out
from almoner.platform.http.caller import PUBLISHABLE
from almoner.platform.http.calls import Call
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.paging import Listing

routes = Routes("Countries")


@routes.get("/v1/countries", key=PUBLISHABLE, scope="registries:read")
async def list_countries(call: Call, query: CountriesQuery) -> Listing[CountryOut]:
    """List all countries in the order of their codes, in one page."""
    rows = await countries.every(call.tx, query.has_registry)
    return call.all_of(rows, country_out, query)
