"""UK taxpayers and their declarations, for tests."""

from typing import Any

from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service

PERSON = {
    "title": "Ms",
    "firstName": "Ada",
    "lastName": "Byron",
    "buildingNameNumber": "12",
    "roadName": "St James's Square",
    "city": "London",
    "country": "United Kingdom",
    "postcode": "SW1Y 4JH",
}


async def declared(api: Client, **body: Any) -> dict[str, Any]:
    """Create a declaration."""
    made: dict[str, Any] = data(await api.post("/v1/gift-aid", {**PERSON, **body}))
    return made


async def charity(service: Service, **given: Any) -> str:
    """Create a charity in the United Kingdom."""
    return await factories.nonprofit(service, country="GBR", **given)
