"""Every test value of the sandbox, through to a submission's end and what is told of it (spec 4.11; settled 9)."""

from typing import Any

import pytest

from almoner.screening.watchlists.domain import CATEGORIES
from tests.support import factories
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.submissions import applied, configured, ended, of_organisation, told
from tests.support.validation import requested

PASSED = ["created", "updated", "succeeded"]
FAILED = ["created", "updated", "failed"]
REQUEST_REJECTIONS = ("other", "not_eligible", "incorrect_documentation", "not_attributable_to_registry")
AGENT_REJECTIONS = (
    "validation_request_failed",
    "user_verification_expired",
    "user_failed_percent_review",
    "reapply",
    "fake_email_used",
    "no_online_presence",
    "nonprofit_association_expired",
    "other",
)


async def end_of(service: Service, api: Client, made: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """How it ended, and that it was told so, each event once, the last with the record as it is shown."""
    assert (made["status"], made["failureReasons"]) == ("pending", None)  # seen by the next GET alone
    done = await ended(service, api, made)
    events = [(name, record) for name, record in await told(service, api) if record["id"] == made["id"]]
    assert [name for name, _ in events] == names
    assert events[0][1]["status"] == "pending"
    assert [record["status"] for _, record in events[1:]] == [done["status"]] * 2
    for _, record in events[1:]:
        assert record["failureReasons"] == done["failureReasons"]
    assert done["processedAt"] is not None
    return done


async def test_an_accepted_name_and_first_name_succeed(service: Service, api: Client) -> None:
    made = await applied(api, organisationName="test_accept", firstName="test_accept")
    done = await end_of(service, api, made, PASSED)
    assert (done["status"], done["failureReasons"]) == ("succeeded", None)
    assert done["validationRequest"]["acceptedAt"] is not None
    assert done["agentVerification"]["status"] == "approved"


@pytest.mark.parametrize("code", REQUEST_REJECTIONS)
async def test_a_rejected_name_fails_all_that_waited_for_it(service: Service, api: Client, code: str) -> None:
    made = await applied(api, organisationName=f"test_reject_{code}")
    done = await end_of(service, api, made, FAILED)
    assert done["status"] == "failed"
    reasons = done["failureReasons"]
    assert reasons["validation_request"] == {"rejectionReasonCode": code}
    assert reasons["agent_verification"] == {"rejectionReasonCode": "validation_request_failed"}
    assert reasons.keys() == {"validation_request", "agent_verification"}  # the others never ran
    assert done["monitoring"]["status"] == done["eligibility"]["status"] == "validation_request_failed"


@pytest.mark.parametrize("code", REQUEST_REJECTIONS)
async def test_a_rejected_name_alone(service: Service, api: Client, code: str) -> None:
    configuration = await configured(api, "validation_request")
    made = await applied(api, configurationId=configuration, organisationName=f"test_reject_{code}")
    done = await end_of(service, api, made, FAILED)
    assert done["failureReasons"] == {"validation_request": {"rejectionReasonCode": code}}


@pytest.mark.parametrize("code", AGENT_REJECTIONS)
async def test_a_rejected_first_name_fails(service: Service, api: Client, code: str) -> None:
    made = await applied(api, organisationName="test_accept", firstName=f"test_reject_{code}")
    done = await end_of(service, api, made, FAILED)
    assert done["failureReasons"] == {"agent_verification": {"rejectionReasonCode": code}}
    assert done["organisationId"] is not None


@pytest.mark.parametrize("status", ["pass", "fail"])
@pytest.mark.parametrize("of", ["organisationId", "validationRequestId"])
async def test_a_suffix_is_compliances(service: Service, api: Client, of: str, status: str) -> None:
    named = await factories.nonprofit(service) if of == "organisationId" else (await requested(api))["id"]
    made = await applied(api, **{of: f"{named}-complianceStatus:{status}-sanction:clear", "firstName": "test_accept"})
    if of == "validationRequestId":
        assert made["validationRequestId"] == named
        await service.drain()
        data(await api.post("/v1/sandbox/simulate", {"id": named, "action": "accept"}))
    done = await end_of(service, api, made, PASSED if status == "pass" else FAILED)
    results = done["monitoring"]["results"]
    assert results["complianceStatus"] == status
    flagged = {category for category in CATEGORIES if results[category]["status"] == "flag"}
    assert flagged == (set() if status == "pass" else set(CATEGORIES) - {"sanction"})
    if status == "fail":
        assert done["failureReasons"] == {"compliance": {"results": results}}


@pytest.mark.parametrize("value", ["pass", "fail"])
@pytest.mark.parametrize("named", [True, False])
async def test_suggested_sub_tags_decide_eligibility(service: Service, api: Client, value: str, *, named: bool) -> None:
    more: dict[str, Any] = {"firstName": "test_accept", "suggestedActivitySubTags": [f"test_{value}"]}
    if named:
        made = await of_organisation(service, api, **more)
    else:
        made = await applied(api, organisationName="test_accept", **more)
    done = await end_of(service, api, made, PASSED if value == "pass" else FAILED)
    assert done["eligibility"]["results"]["eligibilityStatus"] == value
    if value == "fail":
        assert set(done["failureReasons"]) == {"eligibility"}
        assert done["failureReasons"]["eligibility"] == done["eligibility"]


async def test_all_that_fail_are_told(service: Service, api: Client) -> None:
    made = await of_organisation(
        service,
        api,
        "-complianceStatus:fail",
        firstName="test_reject_reapply",
        suggestedActivitySubTags=["test_fail"],
    )
    done = await end_of(service, api, made, FAILED)
    assert set(done["failureReasons"]) == {"compliance", "eligibility", "agent_verification"}
