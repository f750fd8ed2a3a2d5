"""Submissions made with an invite by the interface: whose metadata, whose words, and what is left (settled 2)."""

from typing import Any

from tests.support import factories
from tests.support.applications import Form, invited
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.submissions import ADA, DETAILS, PATH, applied, shown


async def test_the_metadata_of_an_invite_is_that_of_its_submission(api: Client, publishable: Client) -> None:
    winter, summer = {"campaign": "winter", "n": "1"}, {"campaign": "summer"}
    first, second, third = [(await invited(api, metadata=winter))["id"] for _ in range(3)]
    assert (await applied(api, validationInviteId=first))["metadata"] == winter
    assert (await applied(api, validationInviteId=second, metadata=summer))["metadata"] == summer
    by_page = data(await publishable.post(PATH, {**ADA, **DETAILS, "validationInviteId": third}))
    assert by_page["metadata"] is None
    assert (await shown(api, by_page))["metadata"] == winter


async def test_k7_a_publishable_key_says_nothing_in_the_partners_name(api: Client, publishable: Client) -> None:
    invite = await invited(api, metadata={"customer": "42"})
    request = (await applied(api))["validationRequestId"]
    body = {**ADA, **DETAILS, "validationInviteId": invite["id"]}
    wrong: list[dict[str, Any]] = [
        {"metadata": {"customer": "666"}},
        {"metadata": {}},
        {"validationRequestId": request},
    ]
    for more in (*wrong, {**wrong[0], **wrong[2]}):
        answer = await publishable.post(PATH, {**body, **more})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (403, "forbidden")
        assert error["reasons"] == [f"body.{name} needs the secret key" for name in more]
    assert data(await api.get(f"/v1/validation-invites/{invite['id']}"))["status"] == "open"
    data(await publishable.post(PATH, {**body, "metadata": None}))


async def test_what_was_answered_in_the_form_is_forgotten_when_another_way_was_taken(
    service: Service, api: Client
) -> None:
    form, other = Form(service, await invited(api)), Form(service, await invited(api))
    for one in (form, other):
        await one.open()
        await one.fill()
    named = {"organisationId": await factories.nonprofit(service)}
    await applied(api, validationInviteId=form.invite["id"], **named)
    await service.drain()

    async def left(one: Form) -> int:
        async with service.db.read() as tx:
            invite_id = tx.ids.decode("validationinvite", one.invite["id"])
            return int(await tx.fetchval("select count(*) from application_draft where invite_id = $1", invite_id))

    assert (await left(form), await left(other)) == (0, 1)
