"""Documents of validation submissions, and earlier applications of a nonprofit (settled 2, 3, 4 and 8)."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.support import appeals, factories
from tests.support.applications import invited
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, JPEG, PDF, PNG
from tests.support.service import Service
from tests.support.submissions import applied, ended

PATH, SUBMISSIONS = "/v1/validation-submission-documents", "/v1/validation-submissions"
FOUND = "/v1/validation-submissions-organisations"
PERSON = {"firstName": "Amina", "lastName": "El-Sayed", "email": "amina@relief.example"}
UNLISTED = {
    "organisationName": "Hill Road Relief",
    "registryName": "IRS",
    "registryId": "85-0196605",
    "website": "relief.example",
    "countryCode": "USA",
    "language": "en",
}


async def hand_in(
    api: Client, content: bytes = HONEST[PNG], media_type: str = PNG, *, field: str = "file", **texts: str
) -> httpx.Response:
    """Upload one document."""
    files = {field: ("proof", content, media_type)}
    return await api.request("POST", PATH, files=files, data={"type": "validation_request", **texts})


async def submitted(api: Client, **body: Any) -> dict[str, Any]:
    """A submission of a nonprofit that no register lists."""
    made: dict[str, Any] = data(await api.post(SUBMISSIONS, {**UNLISTED, **PERSON, **body}))
    return made


def refused(answer: httpx.Response) -> tuple[int, str]:
    """Status and code."""
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize("media_type", [JPEG, PNG, PDF])
async def test_a_document_of_a_submission_is_answered_and_listed(
    api: Client, anonymous: Client, media_type: str
) -> None:
    made = await submitted(api)
    answer = await hand_in(api, HONEST[media_type], media_type, validationSubmissionId=made["id"])
    document = data(answer)
    assert answer.json()["object"] == "validation_submission_document"
    members = {"id", "validationSubmissionId", "validationInviteId", "type", "status", "url", "createdAt"}
    assert set(document) == members
    assert document["status"] == "clean"
    assert document["id"].startswith("sandbox_validationsubmissiondocument_")
    assert (document["validationSubmissionId"], document["validationInviteId"]) == (made["id"], None)
    assert document["type"] == "validation_request"
    assert (await anonymous.get(document["url"])).headers["content-type"] == media_type
    listed = data(await api.get(f"{SUBMISSIONS}/{made['id']}/documents"))
    assert [{**one, "url": ""} for one in listed] == [{**document, "url": ""}]


async def test_evidence_of_the_nonprofit_is_that_of_its_request_too(api: Client) -> None:
    made = await submitted(api)
    data(await hand_in(api, validationSubmissionId=made["id"], type="agent_verification"))
    assert data(await api.get(f"/v1/validation-requests/{made['validationRequestId']}"))["documents"] == []
    data(await hand_in(api, validationSubmissionId=made["id"]))
    assert len(data(await api.get(f"/v1/validation-requests/{made['validationRequestId']}"))["documents"]) == 1
    assert len(data(await api.get(f"{SUBMISSIONS}/{made['id']}/documents"))) == 2


async def test_documents_of_an_invite_become_those_of_its_submission(api: Client, publishable: Client) -> None:
    invite = await invited(api)
    before = data(await hand_in(publishable, validationInviteId=invite["id"]))
    assert (before["validationSubmissionId"], before["validationInviteId"]) == (None, invite["id"])
    made = data(await publishable.post(SUBMISSIONS, {**UNLISTED, **PERSON, "validationInviteId": invite["id"]}))
    (after,) = data(await api.get(f"{SUBMISSIONS}/{made['id']}/documents"))
    assert (after["id"], after["validationSubmissionId"]) == (before["id"], made["id"])
    assert len(data(await api.get(f"/v1/validation-requests/{made['validationRequestId']}"))["documents"]) == 1


async def test_publishable_keys_upload_for_open_invites_and_for_nothing_else(
    service: Service, api: Client, publishable: Client, other: Client
) -> None:
    made, invite = await submitted(api), await invited(api)
    assert refused(await hand_in(publishable, validationSubmissionId=made["id"])) == (403, "forbidden")
    assert (await publishable.get(f"{SUBMISSIONS}/{made['id']}/documents")).status_code == 403
    assert (await publishable.get(FOUND)).status_code == 403
    theirs = await invited(other)
    assert refused(await hand_in(publishable, validationInviteId=theirs["id"])) == (
        400,
        "validation_submission_document/validation_invite_not_found",
    )
    data(await hand_in(publishable, validationInviteId=invite["id"]))
    service.clock.advance(timedelta(days=7))
    assert refused(await hand_in(publishable, validationInviteId=invite["id"])) == (
        400,
        "validation_invite/validation_invite_expired",
    )


async def test_an_invite_that_was_used_takes_no_more(api: Client) -> None:
    invite = await invited(api)
    await submitted(api, validationInviteId=invite["id"])
    code = "validation_submission/validation_invite_invalid_state"
    assert refused(await hand_in(api, validationInviteId=invite["id"])) == (400, code)


async def test_what_does_not_exist_is_told_apart(api: Client, other: Client) -> None:
    theirs = await submitted(other)
    area = "validation_submission_document"
    for text in (theirs["id"], "sandbox_validationsubmission_x", theirs["id"].replace("sandbox_", "")):
        answer = await hand_in(api, validationSubmissionId=text)
        assert refused(answer) == (400, f"{area}/validation_submission_not_found")
    answer = await hand_in(api, validationInviteId="sandbox_validationinvite_x")
    assert refused(answer) == (400, f"{area}/validation_invite_not_found")
    assert (await api.get(f"{SUBMISSIONS}/{theirs['id']}/documents")).status_code == 404


async def test_texts_beside_the_file_are_checked_all_at_once(api: Client) -> None:
    answer = await hand_in(api, type="other")
    assert refused(answer) == (400, "bad_request")
    assert any("body.type" in reason for reason in answer.json()["error"]["reasons"])
    both = await hand_in(api, validationInviteId="a", validationSubmissionId="b")
    assert refused(both) == (400, "bad_request")
    assert "either" in both.json()["error"]["reasons"][0]
    assert refused(await hand_in(api)) == (400, "bad_request")
    assert refused(await hand_in(api, validationInviteId="a\x00")) == (400, "bad_request")


async def test_what_is_no_document_is_refused_by_its_code(api: Client) -> None:
    made = await submitted(api)
    named = {"validationSubmissionId": made["id"]}
    for content, media_type, field, code in (
        (b"GIF89a", "image/gif", "file", "filetype_not_supported"),
        (b"<html><script>", PNG, "file", "filetype_not_supported"),
        (HONEST[PNG], PNG, "proof", "file_is_missing"),
        (b"", PNG, "file", "file_is_missing"),
        (bytes(5_242_881), PNG, "file", "max_file_size"),
    ):
        answer = await hand_in(api, content, media_type, field=field, **named)
        assert refused(answer) == (400, f"upload/{code}"), answer.text
    two = [("file", ("a", HONEST[PNG], PNG)), ("file", ("b", HONEST[PNG], PNG))]
    texts = {**named, "type": "validation_request"}
    assert refused(await api.request("POST", PATH, files=two, data=texts)) == (400, "upload/too_many_files")
    assert refused(await api.post(PATH, texts)) == (400, "upload/content_type_error")
    headers = {"Content-Type": "multipart/form-data"}
    answer = await api.request("POST", PATH, content=b"x", headers=headers)
    assert refused(answer) == (400, "upload/multipart_boundary_not_found")
    assert data(await api.get(f"{SUBMISSIONS}/{made['id']}/documents")) == []


async def test_the_same_key_hands_in_one_document(api: Client) -> None:
    made = await submitted(api)
    files, headers = {"file": ("proof", HONEST[PNG], PNG)}, {"Idempotency-Key": "proof"}
    texts = {"validationSubmissionId": made["id"], "type": "validation_request"}
    first, again = [await api.request("POST", PATH, files=files, data=texts, headers=headers) for _ in range(2)]
    assert (first.status_code, again.content) == (200, first.content)
    assert len(data(await api.get(f"{SUBMISSIONS}/{made['id']}/documents"))) == 1
    changed = {**texts, "type": "agent_verification"}
    answer = await api.request("POST", PATH, files=files, data=changed, headers=headers)
    assert refused(answer) == (400, "idempotency/same_key_different_data")


async def test_earlier_applications_of_a_nonprofit_are_found(service: Service, api: Client, other: Client) -> None:
    organisation = await factories.nonprofit(service, name="Orchard Street Choir")
    first = await submitted(api)
    second = data(await api.post(SUBMISSIONS, {"organisationId": organisation, **PERSON}))
    await submitted(other)
    answer = await api.get(FOUND)
    found = data(answer)["results"]
    assert [one["validationSubmissionId"] for one in found] == [second["id"], first["id"]]
    assert found[1] == {
        "name": "Hill Road Relief",
        "organisationId": None,
        "validationSubmissionId": first["id"],
        "validationRequestId": first["validationRequestId"],
    }

    async def ids(**query: str) -> list[str]:
        asked: dict[str, Any] = {name.replace("Ids", "Ids[]"): value for name, value in query.items()}
        return [one["validationSubmissionId"] for one in data(await api.get(FOUND, **asked))["results"]]

    assert await ids(query="orchard") == [second["id"]]
    assert await ids(query="hill relief") == [first["id"]]
    assert await ids(query="nobody") == await ids(query="!!") == []
    assert await ids(organisationIds=organisation) == [second["id"]]
    assert await ids(validationRequestIds=first["validationRequestId"]) == [first["id"]]
    wrong: dict[str, Any] = {"organisationIds[]": "x"}
    assert refused(await api.get(FOUND, **wrong)) == (400, "bad_request")


async def test_an_answered_submission_takes_documents_for_an_open_appeal_alone(service: Service, api: Client) -> None:
    failed = await ended(service, api, await applied(api, organisationName="test_reject_other"))
    code = (400, "validation_submission/invalid_state")
    assert refused(await hand_in(api, validationSubmissionId=failed["id"])) == code
    appeal = await appeals.made(api, failed)
    stored = data(await hand_in(api, validationSubmissionId=failed["id"]))
    await appeals.decide(service, appeal, "rejected")
    assert refused(await hand_in(api, validationSubmissionId=failed["id"])) == code
    assert [one["id"] for one in data(await api.get(f"{SUBMISSIONS}/{failed['id']}/documents"))] == [stored["id"]]
