"""Validation submissions (spec 2.6, 3.5, 4.7; settled 4, 5, 6 and 8)."""

from datetime import timedelta
from typing import Any

from tests.support import factories
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, PDF
from tests.support.service import Service
from tests.support.submissions import (
    ADA,
    CHOIRS,
    CONFIGURATIONS,
    DETAILS,
    PATH,
    applied,
    configured,
    ended,
    of_organisation,
    shown,
    simulate,
    told,
)
from tests.support.validation import UNHEARD_OF, decided, requested


async def accepted(service: Service, api: Client, name: str) -> dict[str, Any]:
    """A validation request that a person has accepted."""
    made = await decided(service, api, name=name)
    await simulate(api, made["id"], "accept")
    found: dict[str, Any] = data(await api.get(f"/v1/validation-requests/{made['id']}"))
    return found


async def test_a_submission_starts_every_check(service: Service, api: Client) -> None:
    made = await applied(api, metadata={"campaign": "winter"})
    assert set(made) == {
        *("id", "status", "validationInviteId", "organisationId", "organisationName", "organisation"),
        *("validationRequestId", "validationRequest", "monitoringSubscriptionId", "monitoring"),
        *("eligibilitySubscriptionId", "eligibility", "agentVerificationId", "agentVerification", "configuration"),
        *("metadata", "partnerFields", "failureReasons", "requirements", "appeal", "processedAt", "createdAt"),
    }
    assert (made["status"], made["organisationId"], made["organisation"]) == ("pending", None, None)
    assert made["organisationName"] == DETAILS["organisationName"]
    assert made["metadata"] == {"campaign": "winter"}
    assert made["monitoring"]["status"] == made["eligibility"]["status"] == "pending_validation_request"
    agent = made["agentVerification"]
    assert {name: agent[name] for name in ADA} == ADA
    assert (agent["status"], agent["language"]) == ("pending", "en")
    for path, id_ in {
        "validation-requests": made["validationRequestId"],
        "monitoring-subscriptions": made["monitoringSubscriptionId"],
        "eligibility-subscriptions": made["eligibilitySubscriptionId"],
        "agent-verifications": made["agentVerificationId"],
    }.items():
        assert data(await api.get(f"/v1/{path}/{id_}"))["id"] == id_
    assert data(await api.get(f"{PATH}/{made['id']}")) == made


async def test_what_is_said_of_the_nonprofit_reaches_its_validation_request(api: Client) -> None:
    address = {"addressLine1": "12 High Street", "addressLine2": "Floor 2", "city": "Casper", "state": "WY"}
    made = await applied(api, organisationEmail="office@example.org", postal="82601", **address)
    request = data(await api.get(f"/v1/validation-requests/{made['validationRequestId']}"))
    stated = {"email": "office@example.org", "postal": "82601", **address}
    assert {name: request[name] for name in stated} == stated
    assert made["agentVerification"]["email"] == ADA["email"]
    refused = await api.post(PATH, {**ADA, **DETAILS, "organisationEmail": "office", "city": "x" * 256})
    reasons = refused.json()["error"]["reasons"]
    assert [reason.split()[0] for reason in reasons] == ["body.organisationEmail", "body.city"]


async def test_all_checks_pass(service: Service, api: Client) -> None:
    made = await applied(api, organisationName="test_accept", firstName="test_accept")
    done = await ended(service, api, made)
    assert done["status"] == "succeeded", done
    assert done["organisationId"] is not None
    assert done["organisation"] == {"name": "test_accept", "countryCode": "USA"}
    assert done["requirements"] == []
    assert [name for name, _ in await told(service, api)] == ["created", "updated", "succeeded"]


async def test_of_an_organisation(service: Service, api: Client) -> None:
    made = await of_organisation(service, api, firstName="test_accept")
    assert made["validationRequestId"] is None
    assert (await ended(service, api, made))["status"] == "succeeded"


async def test_who_was_accepted_before_is_not_asked_again(service: Service, api: Client, other: Client) -> None:
    before = await accepted(service, api, name=DETAILS["organisationName"])
    made = await applied(api, registryId="85 0196605", firstName="test_accept")  # in another spelling
    assert made["organisationId"] == before["organisationId"]
    assert made["validationRequestId"] == before["id"]
    assert made["monitoring"]["status"] == "pending"  # of the organisation, at once
    assert data(await api.get("/v1/validation-requests"))[1:] == []
    assert (await ended(service, api, made))["status"] == "succeeded"
    # Another name may mean another nonprofit, and what another partner knows is not known here.
    assert (await applied(api, organisationName="Somebody Else"))["validationRequestId"] != before["id"]
    assert (await applied(other))["organisationId"] is None


async def test_a_request_that_was_made_before_is_built_on(service: Service, api: Client) -> None:
    pending = await requested(api)
    made = await applied(api, validationRequestId=pending["id"], firstName="test_accept")
    assert (made["validationRequestId"], made["organisationId"]) == (pending["id"], None)
    assert made["organisationName"] == pending["name"]
    await service.drain()
    await simulate(api, pending["id"], "accept")
    done = await ended(service, api, made)
    assert (done["status"], done["validationRequest"]["id"]) == ("succeeded", pending["id"])
    again = await applied(api, validationRequestId=pending["id"])
    assert again["organisationId"] == done["organisationId"]


async def test_both_submissions_of_a_request_end_with_it(service: Service, api: Client) -> None:
    pending = await requested(api)
    both = [await applied(api, validationRequestId=pending["id"]) for _ in range(2)]
    await service.drain()
    await simulate(api, pending["id"], "reject", rejectionReasonCode="other")
    assert [(await ended(service, api, made))["status"] for made in both] == ["failed", "failed"]


async def test_an_organisation_of_another_type_is_not_eligible(service: Service, api: Client) -> None:
    schools = await configured(api, "validation_request", allowedOrganisationTypes=["education"])
    for made in (
        await of_organisation(service, api, configurationId=schools),
        await applied(api, configurationId=schools, organisationName="test_accept"),
    ):
        done = await ended(service, api, made)
        assert (done["status"], done["failureReasons"]) == (
            "failed",
            {"validation_request": {"rejectionReasonCode": "not_eligible"}},
        )
    school = await factories.nonprofit(service, types=("education", "nonprofit"))
    made = await applied(api, configurationId=schools, organisationId=school)
    assert made["status"] == "pending"
    assert (await ended(service, api, made))["status"] == "succeeded"


async def test_what_cannot_be_decided_is_processed_and_may_be_decided_later(service: Service, api: Client) -> None:
    configuration = await configured(api, "eligibility", "compliance", allowedActivitySubTags=[CHOIRS])
    made = await of_organisation(service, api, configurationId=configuration)
    done = await ended(service, api, made)
    assert done["eligibility"]["status"] == "cannot_define_eligibility"
    assert (done["status"], done["failureReasons"], done["requirements"]) == ("processed", None, [])
    assert done["processedAt"] is not None
    assert [name for name, _ in await told(service, api)] == ["created", "updated"]
    results = {"eligibilityStatus": "pass", "confirmedActivitySubTags": [CHOIRS]}
    await simulate(api, made["eligibilitySubscriptionId"], "set_results", results=results)
    assert (await ended(service, api, made))["status"] == "succeeded"
    assert [name for name, _ in await told(service, api)] == ["created", "updated", "updated", "succeeded"]


async def test_a_configuration_that_asks_for_less_decides(service: Service, api: Client) -> None:
    configuration = await configured(api, "eligibility", allowedActivitySubTags=[CHOIRS])
    made = await of_organisation(service, api, configurationId=configuration)
    assert (await ended(service, api, made))["status"] == "processed"
    data(await api.patch(f"{CONFIGURATIONS}/{configuration}", {"allowedActivitySubTags": None}))
    assert (await ended(service, api, made))["status"] == "succeeded"


async def test_cancelled_checks_end_undecided(service: Service, api: Client) -> None:
    configuration = await configured(api, "compliance", "eligibility")
    made = await applied(api, configurationId=configuration, validationRequestId=(await requested(api))["id"])
    await service.drain()
    data(await api.post(f"/v1/monitoring-subscriptions/{made['monitoringSubscriptionId']}/cancel"))
    assert (await ended(service, api, made))["status"] == "pending"
    data(await api.post(f"/v1/eligibility-subscriptions/{made['eligibilitySubscriptionId']}/cancel"))
    assert (await ended(service, api, made))["status"] == "processed"


async def test_an_answer_stays_whatever_monitoring_finds_later(service: Service, api: Client) -> None:
    made = await of_organisation(service, api, firstName="test_accept")
    assert (await ended(service, api, made))["status"] == "succeeded"
    await simulate(api, made["monitoringSubscriptionId"], "set_results", results={"complianceStatus": "fail"})
    done = await ended(service, api, made)
    assert (done["status"], done["monitoring"]["results"]["complianceStatus"]) == ("succeeded", "fail")
    assert [name for name, _ in await told(service, api)] == ["created", "updated", "succeeded"]


async def test_a_configuration_decides_which_flags_fail(service: Service, api: Client) -> None:
    for flags, status in (["adverseMedia"], "failed"), (["commercial"], "succeeded"):
        configuration = await configured(api, "compliance", complianceFlags=flags)
        made = await of_organisation(service, api, configurationId=configuration)
        assert made["monitoring"]["status"] == "pending"
        await simulate(
            api,
            made["monitoringSubscriptionId"],
            "set_results",
            results={"adverseMedia": {"status": "flag"}},
        )
        assert (await ended(service, api, made))["status"] == status


async def test_what_is_missing_is_told(service: Service, api: Client) -> None:
    made = await applied(api, **UNHEARD_OF)
    await service.drain()
    found = await shown(api, made)
    evidence, confirmation = found["requirements"]
    assert evidence == {
        "check": "validation_request",
        "code": "registration_evidence",
        "from": "applicant",
        "message": "Waiting for a document that proves the registration. The registers alone do not prove it. "
        "HMRC, X6243: "
        "This register is not loaded, so the number could not be checked.",
        "accepted": [
            *("corrected_registry_number", "registration_certificate", "governing_document"),
            "tax_exemption_letter",
        ],
        "since": evidence["since"],
        "due": None,
        "registryName": "HMRC",
        "registryId": "X6243",
    }
    agent = data(await api.get(f"/v1/agent-verifications/{made['agentVerificationId']}"))
    assert (confirmation["from"], confirmation["code"], confirmation["since"]) == (
        *("applicant", "confirmation"),
        agent["createdAt"],
    )
    assert confirmation["due"] > confirmation["since"]
    path = f"/v1/validation-requests/{made['validationRequestId']}/document"
    data(await api.upload(path, "file", "proof", HONEST[PDF], PDF))
    await simulate(api, made["agentVerificationId"], "confirm_email")
    found = await ended(service, api, made)
    assert (found["status"], found["requirements"]) == ("pending", [])  # reviewers alone have to act


async def test_without_the_check_of_the_address_nobody_confirms(service: Service, api: Client) -> None:
    configuration = await configured(api, emailVerification=False)
    made = await of_organisation(service, api, configurationId=configuration)
    assert (made["agentVerification"]["status"], made["requirements"]) == ("pending_review", [])


async def test_an_applicant_who_never_confirms_fails_the_submission(alone: Service) -> None:
    service, api = alone, alone.client((await alone.tenant()).secret)
    made = await of_organisation(service, api)
    await service.drain()
    service.clock.advance(timedelta(days=30))
    done = await ended(service, api, made)
    assert done["failureReasons"] == {"agent_verification": {"rejectionReasonCode": "user_verification_expired"}}


async def test_the_language_is_the_agents(api: Client) -> None:
    assert (await applied(api, language="pt-BR"))["agentVerification"]["language"] == "pt-BR"


async def test_a_retry_answers_with_the_same_submission(service: Service, api: Client) -> None:
    body = {**ADA, **DETAILS}
    first = await api.post(PATH, body, idempotency_key="once")
    again = await api.post(PATH, body, idempotency_key="once")
    assert (again.content, again.headers["Idempotent-Replayed"]) == (first.content, "true")
    assert (await api.get(PATH)).json()["totalResults"] == 1
    other = await api.post(PATH, {**body, "firstName": "Eve"}, idempotency_key="once")
    assert other.json()["error"]["code"] == "idempotency/same_key_different_data"


async def test_what_is_refused_leaves_nothing(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    refused = await api.post(PATH, {**ADA, "organisationId": organisation, "suggestedActivitySubTags": ["nothing"]})
    assert refused.status_code == 400
    for path in ("agent-verifications", "monitoring-subscriptions", "validation-submissions", "validation-requests"):
        assert (await api.get(f"/v1/{path}")).json()["totalResults"] == 0
    assert data(await api.get("/v1/events")) == []


async def test_those_of_another_partner_are_not_there(api: Client, other: Client) -> None:
    made = await applied(api)
    assert (await other.get(f"{PATH}/{made['id']}")).status_code == 404
    assert data(await other.get(PATH)) == []


async def test_k7_a_publishable_key_applies_with_an_open_invite_alone(
    service: Service, api: Client, publishable: Client
) -> None:
    body = {**ADA, **DETAILS}
    without = await publishable.post(PATH, body)
    assert (without.status_code, without.json()["error"]["code"]) == (403, "forbidden")
    invite = data(await api.post("/v1/validation-invites", {"metadata": {"a": "b"}}))["id"]
    answer = await publishable.request(
        "POST", PATH, json={**body, "validationInviteId": invite}, headers={"Origin": "https://shop.example"}
    )
    made = data(answer)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert not any(personal in answer.text for personal in (*ADA.values(), "firstName", "email"))
    assert (made["agentVerification"], made["metadata"], made["partnerFields"]) == (None, None, None)
    seen = data(await api.get(f"{PATH}/{made['id']}"))
    assert seen["agentVerification"]["email"] == ADA["email"]
    again = await publishable.post(PATH, {**body, "validationInviteId": invite})
    assert again.json()["error"]["code"] == "validation_submission/validation_invite_invalid_state"
    assert (await publishable.get(PATH)).status_code == 403
    assert (await publishable.get(f"{PATH}/{made['id']}")).status_code == 403


async def test_pages_of_other_origins_may_ask_first(anonymous: Client) -> None:
    asked = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
    preflight = await anonymous.options(PATH, headers=asked)
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert "GET" not in preflight.headers["access-control-allow-methods"]


async def test_the_invites_configuration_and_language_count(api: Client) -> None:
    configuration = await configured(api, "validation_request", "agent_verification", name="Agents")
    invite = data(await api.post("/v1/validation-invites", {"hostedConfigId": configuration, "language": "fr"}))
    body = {name: value for name, value in {**ADA, **DETAILS}.items() if name != "language"}
    made = data(await api.post(PATH, {**body, "validationInviteId": invite["id"]}))
    assert made["agentVerification"]["language"] == "fr"
    assert made["configuration"] == {"id": configuration, "name": "Agents"}
    assert made["monitoring"] is None
