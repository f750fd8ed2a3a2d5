"""Validation submissions (spec 2.6, 3.5, 4.7; settled 4, 5, 6 and 8)."""

from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.submissions import (
    ADA,
    DETAILS,
    PATH,
    applied,
    configured,
    ended,
    of_organisation,
    told,
)


async def test_a_submission_starts_every_check(service: Service, api: Client) -> None:
    made = await applied(api, metadata={"campaign": "winter"})
    assert set(made) == {
        *("id", "status", "validationInviteId", "organisationId", "organisationName", "organisation"),
        *("validationRequestId", "validationRequest", "monitoringSubscriptionId", "monitoring"),
        *("eligibilitySubscriptionId", "eligibility", "agentVerificationId", "agentVerification", "configuration"),
        *("metadata", "partnerFields", "failureReasons", "requirements", "processedAt", "createdAt"),
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
    assert await configured(api)
