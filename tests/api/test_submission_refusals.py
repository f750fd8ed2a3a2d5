"""What is refused when a submission is made: every code, and every problem at once (settled 3)."""

from datetime import timedelta
from typing import Any

import pytest

from almoner.access.keys import service as keys
from almoner.access.partners import service as partners
from almoner.platform.database.transactions import Partner
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service, Tenant
from tests.support.submissions import ADA, DETAILS, PATH, applied, configured, of_organisation, refused
from tests.support.validation import UNHEARD_OF, decided, requested

AREA = "validation_submission/"


async def invited(api: Client, **body: Any) -> str:
    """The id of a new invite."""
    return str(data(await api.post("/v1/validation-invites", body))["id"])


async def code_of(api: Client, **body: Any) -> str:
    """The code of a refusal, without its area if that is submissions."""
    code, _ = await refused(api, **body)
    return code.removeprefix(AREA)


async def test_organisation_not_found(service: Service, api: Client, other: Client) -> None:
    theirs = data(await other.get("/v1/organisations", query="no such thing"))
    assert theirs == []
    unknown = service.db.deployment.ids.example_id("organisation")
    for text in (unknown, "organisation_1", f"{unknown}-complianceStatus:pass", "x" * 500):
        code, reasons = await refused(api, **ADA, organisationId=text)
        assert (code, reasons) == (
            f"{AREA}organisation_not_found",
            [f"body.organisationId '{text[:100]}' names no organisation"],
        )


async def test_organisation_not_active(service: Service, api: Client) -> None:
    inactive = await factories.nonprofit(service, active=False)
    assert await code_of(api, **ADA, organisationId=inactive) == "organisation_not_active"
    without = await configured(api, "compliance")
    assert await code_of(api, organisationId=inactive, configurationId=without) == "organisation_not_active"


async def test_validation_request_not_found(service: Service, api: Client, other: Client) -> None:
    theirs = (await requested(other))["id"]
    for text in (theirs, service.db.deployment.ids.example_id("validationrequest"), "nothing"):
        assert await code_of(api, **ADA, validationRequestId=text) == "validation_request_not_found"


async def test_validation_request_already_rejected(service: Service, api: Client) -> None:
    rejected = await decided(service, api, name="test_reject_other")
    assert await code_of(api, **ADA, validationRequestId=rejected["id"]) == "validation_request_already_rejected"


async def test_invalid_sub_tags(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    code, reasons = await refused(
        api, **ADA, organisationId=organisation, suggestedActivitySubTags=["nothing", "test_pass"]
    )
    assert code == f"{AREA}invalid_sub_tags"
    assert [reason.split("'")[1] for reason in reasons] == ["nothing", "test_pass"]


async def test_validation_invite_not_found(service: Service, api: Client, other: Client) -> None:
    theirs = await invited(other)
    for text in (theirs, service.db.deployment.ids.example_id("validationinvite"), "nothing"):
        assert await code_of(api, **ADA, **DETAILS, validationInviteId=text) == "validation_invite_not_found"


async def test_an_invite_is_for_one_submission(api: Client) -> None:
    invite = await invited(api)
    made = await applied(api, validationInviteId=invite)
    assert made["validationInviteId"] == invite
    assert data(await api.get(f"/v1/validation-invites/{invite}"))["status"] == "complete"
    assert await code_of(api, **ADA, **DETAILS, validationInviteId=invite) == "validation_invite_invalid_state"


async def test_an_expired_invite_is_told_so_exactly(service: Service, api: Client) -> None:
    invite = await invited(api)
    service.clock.advance(timedelta(days=7))
    assert await code_of(api, **ADA, **DETAILS, validationInviteId=invite) == (
        "validation_invite/validation_invite_expired"
    )


async def test_invalid_payload_config_invite_id(api: Client) -> None:
    body = {"configurationId": await configured(api), "validationInviteId": await invited(api)}
    assert await code_of(api, **ADA, **DETAILS, **body) == "invalid_payload_config_invite_id"


async def test_no_configuration_for_partner(service: Service) -> None:
    async with service.db.write() as tx:
        account = await partners.create(tx, "Without a configuration")
        _, secret = await keys.create(tx, Partner(account.id), "secret", "tests")
    client = service.client(secret)
    assert await code_of(client, **ADA, **DETAILS) == "no_configuration_for_partner"
    first = data(await client.post("/v1/validation-submission-configurations", {}))
    assert first["isDefault"]
    assert (await applied(client))["configuration"] == {"id": first["id"], "name": None}
    await client.close()


async def test_invalid_configuration_id(service: Service, api: Client, other: Client) -> None:
    theirs = await configured(other)
    for text in (theirs, service.db.deployment.ids.example_id("hostedconfiguration"), "nothing"):
        assert await code_of(api, **ADA, **DETAILS, configurationId=text) == "invalid_configuration_id"


async def test_validation_submission_document_not_found(service: Service, api: Client) -> None:
    unknown = service.db.deployment.ids.example_id("validationsubmissiondocument")
    body = {**ADA, **DETAILS, "documentIds": [unknown, "nothing"]}
    invite = await invited(api)
    code, reasons = await refused(api, **body, validationInviteId=invite)
    assert (code, len(reasons)) == (f"{AREA}validation_submission_document_not_found", 2)
    assert data(await api.get(f"/v1/validation-invites/{invite}"))["status"] == "open"  # nothing was done
    assert (await refused(api, **body))[0] == "bad_request"


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"registryName": "Nobody"}, "validation_request/registry_not_found"),
        ({"registryId": "no number at all"}, "validation_request/invalid_registry_id"),
    ],
)
async def test_registries_have_their_own_codes(api: Client, wrong: dict[str, Any], code: str) -> None:
    assert await code_of(api, **ADA, **{**DETAILS, **wrong}) == code


async def test_all_that_is_missing_is_named_at_once(api: Client) -> None:
    code, reasons = await refused(api, metadata={"k" * 41: "v"}, partnerFields={"use": "x"})
    assert code == "bad_request"
    assert [reason.split()[0] for reason in reasons] == [
        *("body.organisationName", "body.registryName", "body.registryId", "body.website", "body.countryCode"),
        *("body.language", "body.firstName", "body.email", "body.metadata", "body.partnerFields.use"),
    ]


async def test_who_applies_is_asked_only_where_agents_are_verified(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    _, reasons = await refused(api, organisationId=organisation)
    assert [reason.split()[0] for reason in reasons] == ["body.firstName", "body.email"]
    without = await configured(api, "compliance")
    made = data(await api.post(PATH, {"organisationId": organisation, "configurationId": without}))
    assert (made["agentVerificationId"], made["agentVerification"]) == (None, None)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"email": "nobody"}, "body.email must be an email address"),
        ({"countryCode": "us"}, "body.countryCode"),
        ({"website": "no address"}, "body.website must be a web address"),
        ({"language": "?"}, "body.language must be a language tag"),
        ({"organisationName": "x" * 501}, "body.organisationName must be at most 500 characters"),
        ({"firstName": "x" * 256}, "body.firstName"),
        ({"metadata": {"a": 1}}, "body.metadata.a"),
        ({"documentIds": ["x"] * 21}, "body.documentIds"),
        ({"partnerFields": {"members": 10**400}}, "body.partnerFields.members"),
        ({"partnerFields": {"members": True}}, "body.partnerFields.members"),
        ({"partnerFields": {str(n): n for n in range(31)}}, "body.partnerFields"),
        ({"suggestedActivitySubTags": "x"}, "body.suggestedActivitySubTags"),
        ({"organisationId": "a", "validationRequestId": "b"}, "not both"),
    ],
)
async def test_bad_input_is_named(api: Client, body: dict[str, Any], reason: str) -> None:
    code, reasons = await refused(api, **{**ADA, **DETAILS, **body})
    assert code == "bad_request"
    assert any(reason in reported for reported in reasons), reasons


QUESTIONS = [
    {"id": "why", "type": "short_text", "required": True, "labels": {"en": "Why?"}},
    {"id": "story", "type": "long_text", "labels": {"en": "Tell us"}},
    {"id": "members", "type": "number", "labels": {"en": "How many?"}},
    {"id": "page", "type": "url", "labels": {"en": "Where?"}},
    {
        "id": "plan",
        "type": "choice",
        "labels": {"en": "Which?"},
        "choices": [{"value": "a", "labels": {"en": "A"}}, {"value": "b", "labels": {"en": "B"}}],
    },
]


async def test_answers_to_the_partners_own_questions(service: Service, api: Client) -> None:
    configuration = await configured(api, "compliance", partnerFields=QUESTIONS)
    answers = {"why": "Trees", "story": "Long\nago", "members": 4.5, "page": "example.org", "plan": "b"}
    made = await of_organisation(service, api, configurationId=configuration, partnerFields=answers)
    assert made["partnerFields"] == answers
    wrong = {"why": "x" * 256, "members": "many", "page": "no address", "plan": "c", "else": "x", "story": 1}
    _, reasons = await refused(
        api, organisationId=made["organisationId"], configurationId=configuration, partnerFields=wrong
    )
    assert sorted(reason.split()[0].rpartition(".")[2] for reason in reasons) == sorted(wrong)


async def test_without_a_validation_request_the_organisation_must_be_listed(service: Service, api: Client) -> None:
    configuration = await configured(api, "compliance")
    code, reasons = await refused(api, **{**DETAILS, **UNHEARD_OF}, configurationId=configuration)
    assert code == f"{AREA}organisation_not_found"
    assert "asks for no validation request" in reasons[0]
    async with service.db.read() as tx:
        number = await tx.fetchval(
            "select registry_number from organisation where id = $1",
            tx.ids.decode("organisation", await factories.nonprofit(service)),
        )
    made = await applied(api, configurationId=configuration, registryId=number)
    assert made["organisationId"] is not None
    assert (made["validationRequestId"], made["monitoring"]["status"]) == (None, "pending")


USE = {"id": "use", "type": "short_text", "required": True, "labels": {"en": "Where?"}}
SIZE = {"id": "size", "type": "number", "required": True, "labels": {"en": "How many?"}}
MORE = {"id": "more", "type": "short_text", "required": False, "labels": {"en": "Anything else?"}}


@pytest.mark.parametrize("key", ["secret", "publishable"])
async def test_who_is_invited_answers_what_the_configuration_asks_with_all_problems_at_once(
    service: Service, api: Client, tenant: Tenant, key: str
) -> None:
    asks = await configured(api, "validation_request", partnerFields=[USE, SIZE, MORE])
    invite = await invited(api, hostedConfigId=asks)
    client = api if key == "secret" else service.client(tenant.publishable)
    given = {**DETAILS, "validationInviteId": invite}
    for answers, wrong in (
        ({}, ["use", "size"]),
        ({"partnerFields": {"more": "x", "use": ""}}, ["use", "size"]),
        ({"partnerFields": {"size": "many", "other": 1}}, ["size", "other", "use"]),
    ):
        code, reasons = await refused(client, **given, **answers)
        assert code == "bad_request"
        assert [reason.split()[0] for reason in reasons] == [f"body.partnerFields.{name}" for name in wrong]
    made = await client.post(PATH, {**given, "partnerFields": {"use": "Here", "size": 3}})
    assert made.status_code == 200, made.text
    if key == "publishable":
        await client.close()


async def test_without_an_invite_answers_are_checked_and_not_demanded(api: Client) -> None:
    asks = await configured(api, "validation_request", partnerFields=[USE, SIZE])
    _, reasons = await refused(api, **DETAILS, configurationId=asks, partnerFields={"size": "many"})
    assert reasons == ["body.partnerFields.size must be a number"]
    assert (await api.post(PATH, {**DETAILS, "configurationId": asks})).status_code == 200
