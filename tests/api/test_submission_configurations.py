"""Submission configurations (settled 4 and 8)."""

import asyncio
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from almoner.kit.ids import RecordIdCodec
from almoner.nonprofits.activities.domain import SUB_TAGS
from tests.support.client import Client, data
from tests.support.service import Service, Tenant

PATH = "/v1/validation-submission-configurations"
TAG = RecordIdCodec(sandbox=True).encode("activitysubtag", SUB_TAGS["AR301"].id)
QUESTION = {"id": "use", "type": "short_text", "required": True, "labels": {"en": "Where?", "de": "Wo?"}}
ANSWERS = [{"value": "a", "labels": {"en": "A"}}, {"value": "b", "labels": {"en": "B"}}]
CHOICE = {
    "id": "plan",
    "type": "choice",
    "labels": {"en": "Which?"},
    "choices": ANSWERS,
}


async def created(api: Client, **body: Any) -> dict[str, Any]:
    """A new configuration."""
    record: dict[str, Any] = data(await api.post(PATH, body))
    return record


async def test_a_partner_begins_with_a_default_of_all_four_checks(api: Client, tenant: Tenant) -> None:
    listed = (await api.get(PATH)).json()
    assert (listed["object"], listed["totalResults"], listed["_links"]["next"]) == (
        "validation_submission_configuration",
        1,
        None,
    )
    only = listed["data"][0]
    assert only == {
        "id": only["id"],
        "name": None,
        "branding": {"displayName": tenant.name, "logo": None, "primaryColor": None},
        "isDefault": True,
        "checks": ["validation_request", "compliance", "eligibility", "agent_verification"],
        "allowedOrganisationTypes": ["nonprofit", "social_impact", "education"],
        "complianceFlags": ["sanction", "warning", "hateSpeech"],
        "allowedActivitySubTags": None,
        "emailVerification": True,
        "partnerFields": [],
        "createdAt": only["createdAt"],
        "updatedAt": only["createdAt"],
    }
    assert data(await api.get(f"{PATH}/{only['id']}")) == only


async def test_a_configuration_is_answered_as_it_was_made(api: Client) -> None:
    body = {
        "name": "Schools",
        "branding": {"displayName": "Schools Fund", "primaryColor": "#ABC"},
        "checks": ["validation_request", "eligibility"],
        "allowedOrganisationTypes": ["education"],
        "complianceFlags": ["adverseMedia"],
        "allowedActivitySubTags": [TAG],
        "emailVerification": False,
        "partnerFields": [QUESTION, CHOICE],
    }
    made = await created(api, **body)
    assert made["branding"] == {"displayName": "Schools Fund", "logo": None, "primaryColor": "#aabbcc"}
    assert made["partnerFields"] == [{**QUESTION, "choices": []}, {**CHOICE, "required": False}]
    assert made["isDefault"] is False
    for same in ("name", "checks", "allowedOrganisationTypes", "complianceFlags", "allowedActivitySubTags"):
        assert made[same] == body[same]
    assert data(await api.get(f"{PATH}/{made['id']}")) == made
    assert [row["id"] for row in data(await api.get(PATH, direction="ASC"))][1] == made["id"]


async def test_another_default_takes_it_from_the_former(api: Client) -> None:
    former = data(await api.get(PATH))[0]
    second = await created(api, isDefault=True)
    third = await created(api)
    assert data(await api.patch(f"{PATH}/{third['id']}", {"isDefault": True}))["isDefault"]
    rows = {row["id"]: row["isDefault"] for row in data(await api.get(PATH))}
    assert rows == {former["id"]: False, second["id"]: False, third["id"]: True}
    refused = await api.patch(f"{PATH}/{third['id']}", {"isDefault": False})
    assert refused.json()["error"]["reasons"] == [
        "body.isDefault cannot become false: make another configuration the default"
    ]
    assert data(await api.patch(f"{PATH}/{second['id']}", {"isDefault": False}))["isDefault"] is False


async def test_there_is_one_default_however_many_ask(api: Client) -> None:
    ids = [(await created(api))["id"] for _ in range(8)]
    await asyncio.gather(*(api.patch(f"{PATH}/{one}", {"isDefault": True}) for one in ids))
    assert [row["isDefault"] for row in data(await api.get(PATH))].count(True) == 1


async def test_a_patch_changes_what_it_names(api: Client, tenant: Tenant) -> None:
    made = await created(api, name="A", branding={"displayName": "X", "primaryColor": "#0d5c4a"})
    path = f"{PATH}/{made['id']}"
    changed = data(await api.patch(path, {"branding": {"primaryColor": None}, "complianceFlags": []}))
    assert changed["branding"] == {"displayName": "X", "logo": None, "primaryColor": None}
    assert (changed["complianceFlags"], changed["name"]) == ([], "A")
    changed = data(await api.patch(path, {"name": None, "branding": {"displayName": None}}))
    assert (changed["name"], changed["branding"]["displayName"]) == (None, tenant.name)
    changed = data(await api.patch(path, {"allowedActivitySubTags": [TAG], "partnerFields": [QUESTION]}))
    assert changed["allowedActivitySubTags"] == [TAG]
    changed = data(await api.patch(path, {"allowedActivitySubTags": None, "partnerFields": []}))
    assert (changed["allowedActivitySubTags"], changed["partnerFields"]) == (None, [])
    assert data(await api.patch(path, {})) == changed


async def test_changes_are_told_inside(api: Client, service: Service) -> None:
    made = await created(api)

    async def told() -> int:
        async with service.db.read() as tx:
            return int(
                await tx.fetchval(
                    "select count(*) from internal_event where type = 'internal.configuration_changed' "
                    "and position($1 in convert_from(payload, 'utf8')) > 0",
                    str(tx.ids.decode("hostedconfiguration", made["id"])),
                )
            )

    before = await told()
    await api.patch(f"{PATH}/{made['id']}", {"complianceFlags": ["commercial"]})
    assert await told() == before + 1
    await api.patch(f"{PATH}/{made['id']}", {"complianceFlags": ["commercial"]})
    assert await told() == before + 1


async def test_all_that_is_wrong_is_named_at_once(api: Client) -> None:
    wrong = {
        "checks": [],
        "complianceFlags": ["sanction", "sanction"],
        "branding": {"primaryColor": "green"},
        "allowedOrganisationTypes": ["church"],
    }
    reasons = (await api.post(PATH, wrong)).json()["error"]["reasons"]
    assert {reason.split()[0] for reason in reasons} == {
        "body.checks",
        "body.complianceFlags",
        "body.branding.primaryColor",
        "body.allowedOrganisationTypes.0",
    }


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            {"allowedActivitySubTags": ["nothing"]},
            "body.allowedActivitySubTags 'nothing' is not the ID of an activity sub-tag",
        ),
        ({"allowedActivitySubTags": []}, "body.allowedActivitySubTags"),
        (
            {"checks": ["compliance"], "allowedOrganisationTypes": ["nonprofit"]},
            "body.allowedOrganisationTypes narrows nothing without the check validation_request",
        ),
        ({"partnerFields": [QUESTION, QUESTION]}, "body.partnerFields.1.id 'use' is the id of another question"),
        ({"partnerFields": [{**QUESTION, "id": "9 a"}]}, "body.partnerFields.0.id must begin with a letter"),
        ({"partnerFields": [{**QUESTION, "labels": {}}]}, "body.partnerFields.0.labels must have a label"),
        ({"partnerFields": [{**QUESTION, "labels": {"?": "x"}}]}, "has '?', which is no language tag"),
        ({"partnerFields": [{**QUESTION, "labels": {"en": "x" * 301}}]}, "labels.en must have 1 to 300 characters"),
        ({"partnerFields": [{**QUESTION, "choices": ANSWERS}]}, "is for questions of type choice alone"),
        ({"partnerFields": [{**CHOICE, "choices": ANSWERS[:1]}]}, "must have 2 to 50 answers, there are 1"),
        ({"partnerFields": [{**CHOICE, "choices": [ANSWERS[0]] * 2}]}, "is the value of another answer"),
        ({"partnerFields": [QUESTION] * 31}, "body.partnerFields"),
        ({"name": ""}, "body.name"),
    ],
)
async def test_bad_input_is_named(api: Client, body: dict[str, Any], reason: str) -> None:
    answer = await api.post(PATH, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request"), answer.text
    assert any(reason in reported for reported in answer.json()["error"]["reasons"]), answer.text


async def test_a_logo_is_written_anew_and_shown(api: Client, anonymous: Client) -> None:
    made = await created(api)
    picture = BytesIO()
    Image.new("RGB", (900, 900), "green").save(picture, "PNG")
    answer = await api.upload(f"{PATH}/{made['id']}/logo", "logo", "x.png", picture.getvalue(), "image/png")
    first = data(answer)["branding"]["logo"]
    assert Image.open(BytesIO((await anonymous.get(first)).content)).size == (320, 320)
    await api.upload(f"{PATH}/{made['id']}/logo", "logo", "x.png", picture.getvalue(), "image/png")
    assert (await anonymous.get(first)).status_code == 404
    noise = BytesIO()
    Image.effect_noise((320, 320), 90).convert("RGB").save(noise, "PNG")
    refused = await api.upload(f"{PATH}/{made['id']}/logo", "logo", "x.png", noise.getvalue(), "image/png")
    assert "maximum is 40000" in refused.json()["error"]["reasons"][0]


async def test_a_logo_that_is_no_square_is_centred_in_one(api: Client, anonymous: Client) -> None:
    made = await created(api)
    for kind, size, seen, beside in (
        ("PNG", (900, 300), (160, 160), (160, 20)),
        ("JPEG", (300, 900), (160, 160), (20, 160)),
    ):
        picture = BytesIO()
        Image.new("RGB", size, "green").save(picture, kind)
        answer = await api.upload(f"{PATH}/{made['id']}/logo", "logo", "x", picture.getvalue(), f"image/{kind.lower()}")
        logo = Image.open(BytesIO((await anonymous.get(data(answer)["branding"]["logo"])).content))
        assert (logo.format, logo.mode, logo.size) == ("PNG", "RGBA", (320, 320))
        assert logo.getpixel(beside) == (0, 0, 0, 0)
        assert [abs(a - b) < 3 for a, b in zip(logo.getpixel(seen), (0, 128, 0, 255), strict=True)] == [True] * 4  # type: ignore[arg-type]


async def test_there_are_at_most_a_hundred(api: Client, service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await tx.execute(
            """
            insert into hosted_configuration (
                id, partner_id, display_name, is_default, checks, allowed_organisation_types, compliance_flags,
                email_verification, created_at, updated_at
            ) select gen_random_uuid(), $1, 'x', false, array['compliance'], array['nonprofit'], '{}', true, $2, $2
            from generate_series(2, 100)
            """,
            tenant.partner.id,
            tx.now,
        )
    refused = await api.post(PATH, {})
    assert "which is the maximum" in refused.json()["error"]["reasons"][0]
    assert (await api.get(PATH)).json()["totalResults"] == 100


async def test_those_of_another_partner_are_not_there(api: Client, other: Client) -> None:
    made = await created(api)
    assert (await other.get(f"{PATH}/{made['id']}")).status_code == 404
    assert (await other.patch(f"{PATH}/{made['id']}", {})).status_code == 404
