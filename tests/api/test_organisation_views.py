"""Organisations: who sees them, profile, branding, milestones, and who can be given to (settled 4, 5, 8)."""

import pytest

from almoner.nonprofits.organisations import service as organisations
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service, Tenant


async def test_an_unpublished_organisation_is_its_partners_own(
    api: Client, other: Client, anonymous: Client, service: Service, tenant: Tenant
) -> None:
    own = await factories.nonprofit(service, name="Hobbledehoy Shelter", partner=tenant.partner)
    paths = [f"/v1/organisations/{own}", f"/v1/organisations/{own}/branding", f"/v1/organisations/{own}/milestones"]
    for path in paths:
        assert (await api.get(path)).status_code == 200
        assert (await other.get(path)).status_code == 404
    number = data(await api.get(paths[0]))["registryId"]
    for query in ({"query": "hobbledehoy"}, {"registryId": number, "query": "shelter"}):
        assert [record["id"] for record in data(await api.get("/v1/organisations", **query))] == [own]
        assert data(await other.get("/v1/organisations", **query)) == []
    assert (await anonymous.get(f"/v1/organisations/{own}/profile")).status_code == 404
    category = (await factories.category(other))["id"]
    assert (await other.put(f"/v1/categories/{category}/{own}")).status_code == 404


async def test_the_profile_is_public(anonymous: Client, api: Client, service: Service) -> None:
    record = data(await api.get(f"/v1/organisations/{await factories.nonprofit(service)}"))
    answer = await anonymous.get(f"/v1/organisations/{record['id']}/profile")
    assert answer.json() == {
        "data": {key: record[key] for key in ("id", "name", "displayName", "description", "logo")},
        "object": "organisation",
    }
    assert (await anonymous.get(f"/v1/organisations/{record['id']}")).status_code == 401


async def test_branding_falls_back_to_the_record(api: Client, publishable: Client, service: Service) -> None:
    own = await factories.nonprofit(service, name="Marram Trust")
    path = f"/v1/organisations/{own}/branding"
    plain = {"organisationId": own, "displayName": "Marram Trust", "description": "", "logo": None}
    assert data(await publishable.get(path)) == {**plain, "images": [], "primaryColor": None}
    async with service.db.write() as tx:
        await tx.execute(
            """
            insert into organisation_branding (organisation_id, display_name, description, logo, images, primary_color)
            values ($1, 'Marram', 'Holds dunes.', 'a_logo', '{an_image}', '#0a3d2e')
            """,
            tx.ids.decode("organisation", own),
        )
    shown = data(await api.get(path))
    assert shown == {
        "organisationId": own,
        "displayName": "Marram",
        "description": "Holds dunes.",
        "logo": f"{service.db.deployment.base_urls.pages}/media/a_logo",
        "images": [f"{service.db.deployment.base_urls.pages}/media/an_image"],
        "primaryColor": "#0a3d2e",
    }
    record = data(await api.get(f"/v1/organisations/{own}"))
    assert [record[key] for key in ("displayName", "description", "logo")] == ["Marram", "Holds dunes.", shown["logo"]]


async def test_milestones_are_listed(api: Client, service: Service) -> None:
    own = await factories.nonprofit(service)
    path = f"/v1/organisations/{own}/milestones"
    empty = (await api.get(path)).json()
    assert (empty["data"], empty["totalResults"], empty["pageSize"]) == ([], 0, 25)
    async with service.db.write() as tx:
        for amount in (1000, 5000, 25000):
            await tx.execute(
                "insert into organisation_milestone (id, organisation_id, amount_minor, currency, reward) "
                "values ($1, $2, $3, 'USD', 'A postcard')",
                tx.new_id(),
                tx.ids.decode("organisation", own),
                amount,
            )
    answer = (await api.get(path, pageSize=2, direction="ASC")).json()
    assert [row["amount"] for row in answer["data"]] == [1000, 5000]
    assert set(answer["data"][0]) == {"id", "amount", "reward", "currencyCode", "organisationId"}
    assert answer["totalResults"] == 3
    assert [row["amount"] for row in data(await api.get(path))] == [25000, 5000, 1000]
    assert (await api.get(f"/v1/organisations/{own[:-4]}0000/milestones")).status_code == 404


@pytest.mark.parametrize(
    "id_", ["x", "sandbox_organisation_00000000000000000000000000", "organisation_00000000000000000000000000"]
)
async def test_an_unknown_organisation_is_404(api: Client, id_: str) -> None:
    for tail in ("", "/branding", "/milestones", "/profile"):
        assert (await api.get(f"/v1/organisations/{id_}{tail}")).status_code == 404


async def test_only_listed_nonprofits_are_receivable(service: Service, tenant: Tenant) -> None:
    async with service.db.read() as tx:

        async def currencies(id_: str) -> tuple[str, ...]:
            parsed = tx.ids.decode("organisation", id_)
            assert parsed is not None
            return (await organisations.get(tx, tenant.partner, parsed)).donation_currencies

        assert await currencies(await factories.nonprofit(service)) == ("USD", "EUR", "GBP")
        assert await currencies(await factories.nonprofit(service, types=("social_impact",))) == ()
        assert await currencies(await factories.nonprofit(service, active=False)) == ()
