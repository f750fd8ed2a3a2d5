"""Giving links as partners make, list and change them."""

from io import BytesIO
from typing import Any

import asyncpg
import pytest
from PIL import Image

from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service

FULL: dict[str, Any] = {
    "title": "Winter appeal",
    "text": "Blankets for everybody.\nThank you.",
    "suggestedAmounts": [700, 5000],
    "minimum": 500,
    "maximum": 80_000,
    "currencies": ["USD"],
    "frequencies": ["monthly", "one_time"],
    "designations": ["Where it is needed most", "Roof"],
    "goal": 1_000_000,
    "showsProgress": True,
    "offersDedication": True,
    "allowedOrigins": ["https://www.example.org"],
    "successUrl": "https://www.example.org/thanks",
    "metadata": {"campaign": "winter"},
    "active": True,
    "expiresAt": "2099-01-01T00:00:00.000Z",
}


async def refused(api: Client, code: str, **body: Any) -> list[str]:
    """The reasons of a 400 with this code."""
    answer = await api.post("/v1/giving-links", {"title": "Appeal", **body})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code), answer.text
    reasons: list[str] = answer.json()["error"]["reasons"]
    return reasons


async def test_a_link_is_answered_as_it_was_made(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    slug = factories.unique("winter").lower().replace(" ", "-")
    made = await factories.giving_link(service, api, **FULL, slug=slug, organisationIds=[organisation])
    assert {name: made[name] for name in FULL} == FULL
    url = f"{service.db.deployment.base_urls.pages}/g/{slug}"
    assert (made["url"], made["qrCode"]) == (url, {"svg": f"{url}/qr.svg", "png": f"{url}/qr.png"})
    assert (made["organisationIds"], made["categoryId"], made["imageUrl"]) == ([organisation], None, None)
    picture = (await api.get(f"/g/{slug}/qr.svg")).text
    assert 'viewBox="0 0 ' in picture, "printed at any size"
    assert made["id"].startswith("sandbox_givinglink_")
    assert data(await api.get(f"/v1/giving-links/{made['id']}")) == made


async def test_what_is_left_out_is_null_and_the_slug_is_of_the_title(service: Service, api: Client) -> None:
    title = factories.unique("Dächer für Łódź")
    first, second = (
        await factories.giving_link(service, api, title=title),
        await factories.giving_link(service, api, title=title),
    )
    assert first["slug"].startswith("dacher-fur-")
    assert second["slug"].startswith(f"{first['slug']}-")
    third = await factories.giving_link(service, api, title="屋根")
    assert len(third["slug"]) == 12
    named = ("text", "suggestedAmounts", "minimum", "maximum", "currencies", "designations", "goal", "allowedOrigins")
    assert {first[name] for name in (*named, "successUrl", "metadata", "expiresAt")} == {None}
    assert (first["active"], first["showsProgress"], first["frequencies"]) == (True, False, ["one_time"])


async def test_a_slug_is_never_given_again(service: Service, api: Client, other: Client) -> None:
    made = await factories.giving_link(service, api)
    await api.patch(f"/v1/giving-links/{made['id']}", {"active": False})
    organisation = await factories.nonprofit(service)
    assert await refused(other, "giving_link/slug_taken", slug=made["slug"], organisationIds=[organisation])
    changed = await api.patch(f"/v1/giving-links/{made['id']}", {"slug": "another-one"})
    [reason] = changed.json()["error"]["reasons"]
    assert reason.startswith("body.slug is read-only")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"slug": "A"}, "body.slug must be at least 3 characters"),
        ({"slug": "win--ter"}, "body.slug must be lower-case letters, digits and single hyphens between them"),
        ({"minimum": 500}, "body.currencies must contain exactly one currency if there are amounts or a goal"),
        (
            {"goal": 500, "currencies": ["USD", "EUR"]},
            "body.currencies must contain exactly one currency if there are amounts or a goal",
        ),
        ({"minimum": 1, "currencies": ["USD"]}, "body.minimum must be 100 or more in USD"),
        ({"expiresAt": "2001-01-01T00:00:00Z"}, "body.expiresAt must be in the future"),
        ({"allowedOrigins": ["https://x.example/path"]}, "body.allowedOrigins.0 must be an origin"),
        ({"allowedOrigins": ["*"]}, "body.allowedOrigins.0 must be an origin"),
        ({"allowedOrigins": ["https://x.example:0"]}, "body.allowedOrigins.0 must be an origin"),
        ({"allowedOrigins": ["http://localhost.x.example"]}, "body.allowedOrigins.0 must be an origin"),
        ({"frequencies": ["fortnightly"]}, "body.frequencies.0 must be"),
        ({"organisationIds": []}, "body.organisationIds must"),
        ({"successUrl": "ftp://x.example"}, "body.successUrl"),
    ],
)
async def test_what_is_wrong_is_named(service: Service, api: Client, body: dict[str, Any], reason: str) -> None:
    body = {"organisationIds": [await factories.nonprofit(service)], **body}
    assert (await refused(api, "bad_request", **body))[0].startswith(reason)


async def test_it_is_for_organisations_or_a_category(service: Service, api: Client, other: Client) -> None:
    organisation, category = await factories.nonprofit(service), await factories.category(api)
    for body in ({}, {"organisationIds": [organisation], "categoryId": category["id"]}):
        assert await refused(api, "bad_request", **body) == ["body must have either organisationIds or categoryId"]
    theirs = await factories.category(other)
    assert await refused(api, "giving_link/category_not_found", categoryId=theirs["id"])
    assert await refused(api, "giving_link/organisation_not_found", organisationIds=[category["id"]])
    made = await factories.giving_link(service, api, categoryId=category["id"])
    path = f"/v1/giving-links/{made['id']}"
    gone = await api.patch(path, {"categoryId": None})
    assert gone.status_code == 400
    changed = data(await api.patch(path, {"organisationIds": [organisation]}))
    assert (changed["organisationIds"], changed["categoryId"]) == ([organisation], None)


async def test_nobody_is_asked_to_give_where_it_cannot_be_received(service: Service, api: Client) -> None:
    closed = await factories.nonprofit(service, active=False)
    code = "giving_link/cannot_accept_donations"
    [reason] = await refused(api, code, organisationIds=[await factories.nonprofit(service), closed])
    assert reason.startswith(f"{closed} cannot accept donations")
    unwilling = await factories.nonprofit(service)
    async with service.db.write() as tx:
        await tx.execute(
            "insert into giving_link_refusal values ($1, 'a letter', 'operator', now())",
            service.db.deployment.ids.decode("organisation", unwilling),
        )
    assert "does not want donations" in (await refused(api, code, organisationIds=[unwilling]))[0]
    american = await factories.nonprofit(service)
    assert await refused(api, "bad_request", organisationIds=[american], currencies=["JPY"]) == [
        f"body.currencies JPY is not one that {american} receives"
    ]


async def test_changes_are_kept_and_what_is_not_named_stays(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api, **FULL)
    path = f"/v1/giving-links/{made['id']}"
    same = data(await api.patch(path, {"title": FULL["title"]}))
    assert same == made
    service.clock.advance(seconds=1)
    changed = data(await api.patch(path, {"text": None, "active": False, "metadata": {"campaign": None, "a": "b"}}))
    assert (changed["text"], changed["active"], changed["metadata"]) == (None, False, {"a": "b"})
    many = await api.patch(path, {"metadata": {f"key{number}": None for number in range(21)}})
    assert (many.status_code, many.json()["error"]["code"]) == (400, "giving_link/invalid_metadata"), "20 at a time"
    assert {**changed, "text": made["text"], "active": True, "metadata": made["metadata"], "updatedAt": None} == {
        **made,
        "updatedAt": None,
    }


async def test_the_list_is_filtered_and_of_one_partner(service: Service, api: Client, other: Client) -> None:
    on, off = await factories.giving_link(service, api), await factories.giving_link(service, api, active=False)
    assert [one["id"] for one in data(await api.get("/v1/giving-links"))] == [off["id"], on["id"]]
    assert [one["id"] for one in data(await api.get("/v1/giving-links", active="true"))] == [on["id"]]
    assert [one["id"] for one in data(await api.get("/v1/giving-links", active="false"))] == [off["id"]]
    assert data(await other.get("/v1/giving-links")) == []
    assert (await other.get(f"/v1/giving-links/{on['id']}")).status_code == 404
    assert (await other.patch(f"/v1/giving-links/{on['id']}", {"active": False})).status_code == 404


async def test_a_picture_takes_the_place_of_the_one_before(service: Service, api: Client) -> None:
    made, addresses = await factories.giving_link(service, api), []
    for colour in ("red", "blue"):
        content = BytesIO()
        Image.new("RGB", (40, 30), colour).save(content, "PNG")
        files = {"image": ("a.png", content.getvalue(), "image/png")}
        answer = await api.request("POST", f"/v1/giving-links/{made['id']}/image", files=files)
        addresses.append(data(answer)["imageUrl"])
    async with service.db.read() as tx:
        assert not await tx.fetchval("select exists (select from media where key = $1)", addresses[0].split("/")[-1])
        assert await tx.fetchval("select exists (select from media where key = $1)", addresses[1].split("/")[-1])


async def test_the_database_keeps_slugs_and_rows(service: Service, api: Client) -> None:
    made = await factories.giving_link(service, api)
    identifier = service.db.deployment.ids.decode("givinglink", made["id"])
    for statement in (
        "update giving_link set slug = 'other-one' where id = $1",
        "delete from giving_link where id = $1",
    ):
        with pytest.raises(asyncpg.PostgresError, match="giving_link"):
            async with service.db.write() as tx:
                await tx.execute(statement, identifier)
