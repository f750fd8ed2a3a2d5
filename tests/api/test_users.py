"""Users (settled 4 and 8)."""

import pytest

from almoner.kit.time import iso_timestamp
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service, Tenant


async def test_a_user_is_made_from_nothing_and_holds_nothing_personal(api: Client) -> None:
    for answer in (await api.post("/v1/users"), await api.post("/v1/users", {})):
        assert answer.status_code == 200
        assert answer.json()["object"] == "user"
        made = answer.json()["data"]
        assert set(made) == {"id", "organisationId", "createdAt", "deletedAt"}
        assert (made["organisationId"], made["deletedAt"]) == (None, None)
        assert data(await api.get(f"/v1/users/{made['id']}")) == made


async def test_the_default_organisation_can_be_chosen_and_changed(service: Service, api: Client) -> None:
    user = (await factories.user(api))["id"]
    for organisation in (await factories.nonprofit(service), await factories.nonprofit(service)):
        answer = await api.put(f"/v1/users/{user}/organisation", {"organisationId": organisation})
        assert answer.json() == {
            "data": {"userId": user, "organisationId": organisation, "timestamp": iso_timestamp(service.clock.now())},
            "object": "user",
        }
        assert data(await api.get(f"/v1/users/{user}"))["organisationId"] == organisation


async def test_an_organisation_that_the_partner_cannot_see_is_not_found(
    service: Service, api: Client, tenant: Tenant
) -> None:
    user = (await factories.user(api))["id"]
    foreign = await factories.nonprofit(service, partner=(await service.tenant()).partner)
    for organisation in (foreign, service.db.deployment.ids.example_id("organisation"), "nowhere", user):
        answer = await api.put(f"/v1/users/{user}/organisation", {"organisationId": organisation})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "user/organisation_not_found")
    own = await factories.nonprofit(service, partner=tenant.partner)
    assert (await api.put(f"/v1/users/{user}/organisation", {"organisationId": own})).status_code == 200


@pytest.mark.parametrize("named", ["unknown", "malformed", "foreign"])
async def test_a_user_that_is_not_there_is_not_found(service: Service, api: Client, other: Client, named: str) -> None:
    organisation = await factories.nonprofit(service)
    unknown = {
        "unknown": service.db.deployment.ids.example_id("user"),
        "malformed": "user_1",
        "foreign": (await factories.user(other))["id"],
    }[named]
    assert (await api.get(f"/v1/users/{unknown}")).status_code == 404
    for chosen in (organisation, "nowhere"):
        answer = await api.put(f"/v1/users/{unknown}/organisation", {"organisationId": chosen})
        assert answer.status_code == 404
