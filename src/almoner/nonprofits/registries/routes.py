"""Endpoints of registries (settled 8)."""

from typing import Annotated
from uuid import UUID

from almoner.nonprofits.registries import service
from almoner.nonprofits.registries.schemas import RegistriesQuery, RegistryResponse, registry_response
from almoner.platform.http.caller import PUBLISHABLE
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import Routes
from almoner.platform.http.ids import PathId
from almoner.platform.http.paging import ListResponse

RegistryId = Annotated[UUID, PathId("registry")]

routes = Routes("Registries")


@routes.get("/v1/registries", key=PUBLISHABLE, scope="registries:read")
async def list_registries(call: ApiCall, query: RegistriesQuery) -> ListResponse[RegistryResponse]:
    """List the registries of a country: in order of their codes, in one page."""
    rows = await service.list_by_country(call.tx, query.country_code)
    return call.unpaged_list_response(rows, lambda row: registry_response(call.tx, row), query)


@routes.get("/v1/registries/{id}", key=PUBLISHABLE, scope="registries:read")
async def get_registry(call: ApiCall, id: RegistryId) -> RegistryResponse:
    """Retrieve a registry."""
    return registry_response(call.tx, await service.get(call.tx, id))
