"""What decisions rest on is kept for a term after them, and no longer: documents, and who applied (V6)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from almoner.validation.agents import service as agents
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import DatedEvidenceOutcome, EvidenceOutcome, RetentionPeriods
from almoner.validation.applications.submission_documents import jobs as submission_documents_jobs
from tests.support import appeals
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, PNG
from tests.support.service import Service
from tests.support.submissions import ADA, PATH, applied, configured, ended, shown

SHORT = RetentionPeriods(after_rejection=timedelta(days=40), after_acceptance=timedelta(days=60))
MADE = datetime(2026, 3, 2, tzinfo=UTC)
INVALID_STATE = (400, "validation_submission/invalid_state")


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: weeks of the shared service's clock would be weeks of work for all that other tests have left."""
    return alone


def after(days: int) -> datetime:
    return MADE + timedelta(days=days)


@pytest.mark.parametrize(
    ("ends", "until"),
    [
        ([], after(40)),
        ([("refused", after(10))], after(50)),
        ([("accepted", after(10))], after(70)),
        ([("refused", after(30)), ("accepted", after(1))], after(70)),
        ([("accepted", after(10)), ("open", None)], None),
        ([("refused", after(-90))], after(40)),
    ],
)
def test_a_document_is_kept_as_long_as_anything_needs_it(
    ends: list[tuple[EvidenceOutcome, datetime | None]], until: datetime | None
) -> None:
    assert SHORT.retention_ends_at(MADE, [DatedEvidenceOutcome(*one) for one in ends]) == until


async def later(service: Service, **time: float) -> None:
    """So much later, all work done; terms are short."""
    service.clock.advance(timedelta(**time))
    await service.drain()
    async with service.db.write() as tx:
        await tx.execute(
            "update document set next_check_at = created_at where deleted_at is null"
        )  # the usual terms are longer
        while await submission_documents_jobs.delete_expired_documents(SHORT, tx):
            pass
        while await agents.erase_personal_data(SHORT, tx):
            pass
    await service.drain()


async def hand_in(api: Client, submission: dict[str, Any]) -> dict[str, Any]:
    """One more document that shows the registration."""
    fields = {"validationSubmissionId": submission["id"], "type": "validation_request"}
    files = {"file": ("proof", HONEST[PNG], PNG)}
    made: dict[str, Any] = data(
        await api.request("POST", "/v1/validation-submission-documents", data=fields, files=files)
    )
    return made


async def held(api: Client, submission: dict[str, Any]) -> list[str]:
    """The documents of a submission."""
    return [one["id"] for one in data(await api.get(f"{PATH}/{submission['id']}/documents"))]


async def decided(service: Service, api: Client, verdict: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A submission with a document that was answered, and the document."""
    only = await configured(api, "validation_request")
    made = await applied(api, registryId="99-1234567", configurationId=only)
    await service.drain()
    document = await hand_in(api, made)
    more = {"rejectionReasonCode": "other"} if verdict == "reject" else {}
    data(await api.post("/v1/sandbox/simulate", {"id": made["validationRequestId"], "action": verdict, **more}))
    done = await ended(service, api, made)
    assert done["status"] == ("failed" if verdict == "reject" else "succeeded")
    return done, document


async def test_v6_documents_of_decided_submissions_go_and_what_is_known_of_them_stays(
    service: Service, api: Client
) -> None:
    refused, first = await decided(service, api, "reject")
    accepted, second = await decided(service, api, "accept")
    only = await configured(api, "validation_request")
    waiting = await ended(service, api, await applied(api, registryId="85-0196605", configurationId=only))
    third = await hand_in(api, waiting)
    await later(service, days=39)
    assert [await held(api, one) for one in (refused, accepted, waiting)] == [
        [one["id"]] for one in (first, second, third)
    ]
    await later(service, days=2)
    assert [await held(api, one) for one in (refused, accepted, waiting)] == [[], [second["id"]], [third["id"]]]
    request = data(await api.get(f"/v1/validation-requests/{refused['validationRequestId']}"))
    assert (request["rejectionReasonCode"], [one["deletedAt"] is None for one in request["documents"]]) == (
        "other",
        [False],
    )
    dossier = data(await api.get(f"/v1/validation-requests/{refused['validationRequestId']}/dossier"))
    [paper] = dossier["documents"]
    assert len(paper["sha256"]) == 64
    await later(service, days=20)
    assert [await held(api, one) for one in (accepted, waiting)] == [[], [third["id"]]]
    assert [(await shown(api, one))["status"] for one in (refused, accepted, waiting)] == [
        "failed",
        "succeeded",
        "pending",
    ]


async def test_v6_the_bytes_are_gone_and_the_row_says_what_they_were(service: Service, api: Client) -> None:
    refused, document = await decided(service, api, "reject")
    named = service.db.deployment.ids.decode("validationsubmissiondocument", document["id"])
    async with service.db.read() as tx:
        file = await tx.fetchval("select document_id from validation_submission_document where id = $1", named)
    await later(service, days=41)
    async with service.db.read() as tx:
        row = await tx.fetchrow(
            "select deleted_at, removed_at, sha256, media_type, size_bytes from document where id = $1", file
        )
        assert row is not None
        assert None not in tuple(row)
        assert await documents.find_removable_blob_key(tx, file) is None
    assert await held(api, refused) == []


async def test_v6_what_is_appealed_against_is_kept_until_a_term_after_that_decision(
    service: Service, api: Client
) -> None:
    refused, document = await decided(service, api, "reject")
    await later(service, days=35)
    appeal = await appeals.made(api, refused)
    await later(service, days=35)
    assert await held(api, refused) == [document["id"]]
    await appeals.decide(service, appeal, "rejected")
    await later(service, days=39)
    assert await held(api, refused) == [document["id"]]
    await later(service, days=2)
    assert await held(api, refused) == []


async def test_v6_agents_are_forgotten_a_term_after_the_decision_and_cannot_be_let_through_then(
    service: Service, api: Client
) -> None:
    every = await configured(api, "validation_request", "agent_verification")
    names = {"organisationName": "test_accept", "configurationId": every}
    approved = await ended(service, api, await applied(api, firstName="test_accept", **names))
    refused = await ended(service, api, await applied(api, firstName="test_reject_no_online_presence", **names))
    assert [one["status"] for one in (approved, refused)] == ["succeeded", "failed"]

    async def known() -> list[str | None]:
        return [(await shown(api, one))["agentVerification"]["email"] for one in (approved, refused)]

    await later(service, days=39)
    assert await known() == [ADA["email"]] * 2
    await later(service, days=2)
    assert await known() == [ADA["email"], None]
    answer = await api.post(f"{PATH}/{refused['id']}/appeals", {"text": "Look again."})
    assert (answer.status_code, answer.json()["error"]["code"]) == INVALID_STATE
    assert "apply again" in answer.text
    await later(service, days=20)
    assert await known() == [None, None]
    assert (await shown(api, refused))["failureReasons"]["agent_verification"][
        "rejectionReasonCode"
    ] == "no_online_presence"


async def test_v6_an_agent_stays_known_while_the_application_waits_and_may_be_appealed_against(
    service: Service, api: Client
) -> None:
    both = await configured(api, "validation_request", "agent_verification")
    late = {"firstName": "test_reject_user_verification_expired", "configurationId": both}
    waiting = await ended(service, api, await applied(api, registryId="99-1234568", **late))
    assert (waiting["status"], waiting["agentVerification"]["status"]) == ("pending", "rejected")
    await later(service, days=60)
    assert (await shown(api, waiting))["agentVerification"]["email"] == ADA["email"]
    data(
        await api.post(
            "/v1/sandbox/simulate",
            {"id": waiting["validationRequestId"], "action": "reject", "rejectionReasonCode": "other"},
        )
    )
    failed = await ended(service, api, waiting)
    assert failed["status"] == "failed"
    mails = data(await api.get("/v1/sandbox/mailbox", to=ADA["email"], pageSize=100))
    assert any("application?" in link for link in mails[0]["links"]), "the refusal reaches somebody"
    await later(service, days=29)
    assert (await shown(api, failed))["agentVerification"]["email"] == ADA["email"]
    appeal = await appeals.made(api, failed)
    await appeals.decide(service, appeal, "rejected")
    await later(service, days=29)
    assert (await shown(api, failed))["agentVerification"]["email"] == ADA["email"]
    await later(service, days=2)
    assert (await shown(api, failed))["agentVerification"]["email"] is None
