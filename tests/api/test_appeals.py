"""Appeals: a second look by another operator, and what follows from it (settled 4 and 8)."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from almoner.kit.time import iso_timestamp
from almoner.validation.decisions.reviews.domain import ReviewRefused, Verdict
from tests.support import agents, appeals, factories
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.submissions import CHOIRS, PATH, SIMULATE, applied, configured, ended, shown, simulate, told

INVALID_STATE = (400, "validation_submission/invalid_state")
SATURDAY = 5


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: weeks of the shared service's clock would be weeks of work for all that other tests have left."""
    return alone


async def refused(service: Service, api: Client, **body: Any) -> dict[str, Any]:
    """A submission that failed with its validation request."""
    made = await applied(api, **{"organisationName": "test_reject_not_eligible", **body})
    done = await ended(service, api, made)
    assert done["status"] == "failed", done
    return done


async def names(service: Service, api: Client, submission: dict[str, Any]) -> list[str]:
    """What was told of a submission, oldest first."""
    return [name for name, record in await told(service, api) if record["id"] == submission["id"]]


async def test_an_appeal_is_answered_shown_and_due_in_ten_business_days(service: Service, api: Client) -> None:
    failed = await refused(service, api)
    appeal = await appeals.made(api, failed, " We are on the register. ")
    assert set(appeal) == {"id", "validationSubmissionId", "status", "text", "dueAt", "createdAt", "decidedAt"}
    assert (appeal["status"], appeal["text"], appeal["decidedAt"]) == ("open", "We are on the register.", None)
    assert appeal["validationSubmissionId"] == failed["id"]
    made, due = (datetime.fromisoformat(appeal[name]) for name in ("createdAt", "dueAt"))
    days = [made + timedelta(days=one) for one in range(1, (due - made).days + 1)]
    assert sum(day.weekday() < SATURDAY for day in days) == 10  # business days
    assert due.weekday() < SATURDAY
    assert await appeals.shown(api, appeal) == appeal
    assert await names(service, api, failed) == ["created", "updated", "failed", "updated"]


async def test_a_submission_shows_its_newest_appeal_wherever_it_is_told(service: Service, api: Client) -> None:
    failed = await refused(service, api)
    assert failed["appeal"] is None
    verdicts: dict[Verdict, str] = {"rejected": "upheld", "accepted": "reversed"}
    for verdict, status in verdicts.items():
        appeal = await appeals.made(api, failed)
        for state in ("open", status):
            now = await ended(service, api, failed)
            assert now["appeal"] == {"id": appeal["id"], "status": state, "dueAt": appeal["dueAt"]}
            assert data(await api.get(PATH)) == [now]
            assert [record["appeal"] for _, record in await told(service, api)][-1] == now["appeal"]
            if state == "open":
                await appeals.decide(service, appeal, verdict)


async def test_what_an_appeal_may_not_say(service: Service, api: Client) -> None:
    failed = await refused(service, api)
    for text in ("", "  ", "x" * 5001, None):
        answer = await api.post(f"{PATH}/{failed['id']}/appeals", {"text": text})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")
        assert any("body.text" in reason for reason in answer.json()["error"]["reasons"])


async def test_only_what_failed_is_appealed_against_and_once_at_a_time(service: Service, api: Client) -> None:
    pending = await applied(api)
    answer = await api.post(f"{PATH}/{pending['id']}/appeals", {"text": "Why?"})
    assert (answer.status_code, answer.json()["error"]["code"]) == INVALID_STATE
    failed = await refused(service, api)
    await appeals.made(api, failed)
    answer = await api.post(f"{PATH}/{failed['id']}/appeals", {"text": "Again."})
    assert (answer.status_code, answer.json()["error"]["code"]) == INVALID_STATE
    assert "open already" in " ".join(answer.json()["error"]["reasons"] + [answer.json()["error"]["message"]])


async def test_appeals_of_others_are_not_there(service: Service, api: Client) -> None:
    failed = await refused(service, api)
    appeal = await appeals.made(api, failed)
    other = service.client((await service.tenant()).secret)
    assert (await other.get(f"/v1/appeals/{appeal['id']}")).status_code == 404
    assert (await other.post(f"{PATH}/{failed['id']}/appeals", {"text": "Mine."})).status_code == 404
    await other.close()


async def test_who_decided_first_does_not_decide_the_appeal(service: Service, api: Client) -> None:
    made = await applied(api, registryId="99-1234567", organisationName="Nobody Knows Us")
    await service.drain()
    first = appeals.operator()
    await appeals.reject_first(
        service, "validation_request", "validationrequest", made["validationRequestId"], "other", first
    )
    failed = await ended(service, api, made)
    assert failed["status"] == "failed"
    appeal = await appeals.made(api, failed)
    for verdict in ("accepted", "rejected"):
        with pytest.raises(ReviewRefused, match="another operator"):
            await appeals.decide(service, appeal, verdict, first)
    assert (await appeals.shown(api, appeal))["status"] == "open"
    await appeals.release(service, appeal, first)
    await appeals.decide(service, appeal, "rejected")
    upheld = await appeals.shown(api, appeal)
    assert (upheld["status"], upheld["decidedAt"] is not None) == ("upheld", True)
    assert (await shown(api, failed))["status"] == "failed"
    assert await names(service, api, failed) == ["created", "updated", "failed", "updated", "updated"]
    # The second appeal is for a third operator.
    again = await appeals.made(api, failed)
    with pytest.raises(ReviewRefused, match="another operator"):
        await appeals.decide(service, again, "accepted", first)


async def test_a_reversal_accepts_the_request_and_takes_up_what_ended_with_it(service: Service, api: Client) -> None:
    failed = await refused(service, api)
    service.clock.advance(days=40)
    appeal = await appeals.made(api, failed)
    reversed_at = service.clock.now()
    await appeals.decide(service, appeal, "accepted")
    assert (await appeals.shown(api, appeal))["status"] == "reversed"
    now = await ended(service, api, failed)
    request = data(await api.get(f"/v1/validation-requests/{failed['validationRequestId']}"))
    assert (request["rejectedAt"], request["rejectionReasonCode"]) == (None, None)
    assert request["acceptedAt"] is not None
    assert now["organisationId"] == request["organisationId"]
    assert now["monitoring"]["status"] == "live"
    assert now["eligibility"]["status"] != "validation_request_failed"
    # Nobody has yet confirmed the applicant's address: the submission waits for that.
    assert (now["status"], now["agentVerification"]["status"]) == ("failed", "pending_user_verification")
    [missing] = now["requirements"]
    assert (missing["check"], missing["code"], missing["from"]) == ("agent_verification", "confirmation", "applicant")
    assert (missing["since"], missing["due"]) == (
        iso_timestamp(reversed_at),
        iso_timestamp(reversed_at + timedelta(days=30)),
    )
    email = now["agentVerification"]["email"]
    await agents.simulate(api, {"id": now["agentVerificationId"]}, "confirm_email")
    assert email is not None
    done = await ended(service, api, failed)
    assert (done["status"], done["failureReasons"]) == ("succeeded", None)
    assert (await names(service, api, failed))[-2:] == ["updated", "succeeded"]
    assert (await names(service, api, failed)).count("succeeded") == 1


@pytest.mark.parametrize("later", ["configuration", "eligibility"])
async def test_what_was_reversed_stays_so_however_the_other_checks_end(
    service: Service, api: Client, later: str
) -> None:
    organisation = await factories.nonprofit(service)
    asked = await configured(api, "compliance", "eligibility", allowedActivitySubTags=[CHOIRS])
    made = await applied(api, organisationId=f"{organisation}-complianceStatus:fail", configurationId=asked)
    failed = await ended(service, api, made)
    assert list(failed["failureReasons"]) == ["compliance"]
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    assert (await ended(service, api, failed))["status"] == "processed"
    if later == "configuration":
        data(await api.patch(f"/v1/validation-submission-configurations/{asked}", {"allowedActivitySubTags": None}))
    else:
        results = {"eligibilityStatus": "pass", "confirmedActivitySubTags": [CHOIRS]}
        await simulate(api, made["eligibilitySubscriptionId"], "set_results", results=results)
    done = await ended(service, api, failed)
    assert (done["status"], done["failureReasons"]) == ("succeeded", None)
    told_of = await names(service, api, failed)
    assert (told_of.count("failed"), told_of.count("succeeded")) == (1, 1)


async def test_a_reversal_succeeds_at_once_where_nothing_else_is_open(service: Service, api: Client) -> None:
    configuration = await configured(api, "validation_request")
    failed = await refused(service, api, configurationId=configuration)
    appeal = await appeals.made(api, failed)
    await appeals.decide(service, appeal, "accepted")
    done = await shown(api, failed)
    assert done["status"] == "succeeded"
    told_of = await names(service, api, failed)
    assert told_of == ["created", "updated", "failed", "updated", "updated", "succeeded"]
    kinds = [event["eventType"] for event in data(await api.get("/v1/events", pageSize=100))]
    assert "validation_request.approved" in kinds
    answer = await api.post(f"{PATH}/{failed['id']}/appeals", {"text": "Once more."})
    assert (answer.status_code, answer.json()["error"]["code"]) == INVALID_STATE


async def test_compliance_is_overruled_for_the_submission_and_stays_as_it_is(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    made = await applied(
        api, organisationId=f"{organisation}-complianceStatus:fail", firstName="test_accept",
        configurationId=await configured(api, "compliance", "agent_verification"),
    )  # fmt: skip
    failed = await ended(service, api, made)
    assert set(failed["failureReasons"]) == {"compliance"}
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    done = await shown(api, failed)
    assert done["status"] == "succeeded"
    assert done["monitoring"]["results"]["complianceStatus"] == "fail"  # what the lists say is for monitoring


async def test_a_rejected_agent_is_approved(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    made = await applied(
        api, organisationId=organisation, firstName="test_reject_no_online_presence",
        configurationId=await configured(api, "agent_verification", emailVerification=False),
    )  # fmt: skip
    failed = await ended(service, api, made)
    assert failed["failureReasons"] == {"agent_verification": {"rejectionReasonCode": "no_online_presence"}}
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    done = await shown(api, failed)
    assert (done["status"], done["agentVerification"]["status"]) == ("succeeded", "approved")


async def test_what_is_taken_up_may_fail_by_itself(service: Service, api: Client) -> None:
    configuration = await configured(api, "validation_request", "compliance", "eligibility")
    failed = await refused(
        service, api, configurationId=configuration, suggestedActivitySubTags=["test_fail"],
    )  # fmt: skip
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    done = await ended(service, api, failed)
    assert done["status"] == "failed"
    assert set(done["failureReasons"]) == {"eligibility"}
    assert (await appeals.made(api, done))["status"] == "open"


async def test_a_check_that_is_cancelled_after_a_reversal_is_undecided(service: Service, api: Client) -> None:
    checks = ("validation_request", "compliance", "eligibility")
    configuration = await configured(api, *checks, allowedActivitySubTags=[CHOIRS])
    failed = await refused(service, api, configurationId=configuration, suggestedActivitySubTags=["test_fail"])
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    data(await api.post(f"/v1/eligibility-subscriptions/{failed['eligibilitySubscriptionId']}/cancel"))
    assert (await ended(service, api, failed))["status"] == "processed"


async def test_what_was_overruled_once_stays_so_after_a_second_appeal(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    checks = await configured(api, "compliance", "agent_verification")
    whom = {"firstName": "test_reject_other", "configurationId": checks}
    made = await applied(api, organisationId=f"{organisation}-complianceStatus:fail", **whom)
    failed = await ended(service, api, made)
    assert set(failed["failureReasons"]) == {"compliance", "agent_verification"}
    for _ in range(2):
        await appeals.decide(service, await appeals.made(api, failed), "accepted")
        service.clock.advance(days=31)  # nobody confirms the address
        failed = await ended(service, api, failed)
        agent = {"rejectionReasonCode": "user_verification_expired"}
        assert (failed["status"], failed["failureReasons"]) == ("failed", {"agent_verification": agent})
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    await agents.simulate(api, {"id": made["agentVerificationId"]}, "confirm_email")
    assert (await ended(service, api, failed))["status"] == "succeeded"
    told_of = await names(service, api, failed)
    assert (told_of.count("failed"), told_of.count("succeeded")) == (1, 1)


async def test_that_it_fails_by_the_same_after_all_is_told(service: Service, api: Client) -> None:
    speaks = await configured(api, "agent_verification")
    organisation = await factories.nonprofit(service)
    late = {"firstName": "test_reject_user_verification_expired", "configurationId": speaks}
    failed = await ended(service, api, await applied(api, organisationId=organisation, **late))
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    before = await names(service, api, failed)
    assert (await shown(api, failed))["requirements"] != []
    service.clock.advance(days=31)
    again = await ended(service, api, failed)
    assert (again["failureReasons"], again["requirements"]) == (failed["failureReasons"], [])
    assert await names(service, api, failed) == [*before, "updated"]


async def test_each_submission_of_one_request_has_its_own_appeal(service: Service, api: Client) -> None:
    configuration = await configured(api, "validation_request", "compliance")
    first = await applied(api, registryId="99-1234567", configurationId=configuration)
    second = await applied(api, validationRequestId=first["validationRequestId"], configurationId=configuration)
    await service.drain()
    by = appeals.operator()
    await appeals.reject_first(
        service, "validation_request", "validationrequest", first["validationRequestId"], "other", by
    )
    await service.drain()
    for made in (first, second):
        failed = await shown(api, made)
        assert failed["status"] == "failed"
        await appeals.decide(service, await appeals.made(api, failed), "accepted")
        done = await ended(service, api, made)
        assert (done["status"], done["monitoring"]["status"]) == ("succeeded", "live"), done


async def test_what_an_appeal_has_accepted_is_found_by_its_organisation_wherever_it_was_asked_for(
    service: Service, api: Client
) -> None:
    alone = await configured(api, "validation_request")
    first = await applied(api, registryId="99-1234567", configurationId=alone)
    second = await applied(api, validationRequestId=first["validationRequestId"], configurationId=alone)
    await simulate(api, first["validationRequestId"], "reject", rejectionReasonCode="other")
    await appeals.decide(service, await appeals.made(api, await ended(service, api, first)), "accepted")
    other = await ended(service, api, second)
    assert (other["status"], other["organisationId"] is not None) == ("failed", True)
    both = {first["id"], second["id"]}
    query = {"organisationIds[]": other["organisationId"]}
    assert {one["id"] for one in data(await api.get(PATH, **query))} == both
    earlier = data(await api.get("/v1/validation-submissions-organisations", **query))["results"]
    assert {one["validationSubmissionId"] for one in earlier} == both


@pytest.mark.parametrize(
    ("action", "status", "answer"), [("uphold", "upheld", "failed"), ("reverse", "reversed", "succeeded")]
)
async def test_the_decision_about_an_appeal_is_simulated(
    service: Service, api: Client, other: Client, action: str, status: str, answer: str
) -> None:
    alone = await configured(api, "validation_request")
    body = {"organisationName": "test_reject_not_eligible", "configurationId": alone}
    failed = await ended(service, api, await applied(api, **body))
    one = await appeals.made(api, failed)
    asked = {"id": one["id"], "action": action}
    foreign = await other.post(SIMULATE, asked)
    assert (foreign.status_code, foreign.json()["error"]["code"]) == (400, "sandbox/record_not_found")
    decided = data(await api.post(SIMULATE, asked))
    assert (decided["id"], decided["status"], decided["decidedAt"] is None) == (one["id"], status, False)
    assert (await ended(service, api, failed))["status"] == answer
    for again in ("uphold", "reverse"):
        forbidden = await api.post(SIMULATE, {"id": one["id"], "action": again})
        assert (forbidden.status_code, forbidden.json()["error"]["code"]) == INVALID_STATE


async def test_the_dossier_names_the_appeal_that_a_request_was_accepted_by(service: Service, api: Client) -> None:
    failed = await refused(service, api)
    one = await appeals.made(api, failed)
    await appeals.decide(service, one, "accepted")
    path = f"/v1/validation-requests/{failed['validationRequestId']}/dossier"
    *_, last = data(await api.get(path))["decisions"]
    assert (last["verdict"], last["note"]) == ("accepted", f"By appeal {one['id']}.")  # and not what was noted
