"""Documents as evidence of validation requests (settled 4 and 8)."""

from urllib.parse import urlsplit

import pytest

from almoner.kit.time import iso_timestamp
from tests.support.client import Client, data
from tests.support.hostile_files import HONEST, JPEG, PDF, PNG
from tests.support.service import Service
from tests.support.validation import PATH, decided, requested, shown, simulate, told


def place(record: dict[str, object]) -> str:
    return f"{PATH}/{record['id']}/document"


@pytest.mark.parametrize("media_type", [JPEG, PNG, PDF])
async def test_the_answer_is_the_whole_request_with_its_documents(
    service: Service, api: Client, anonymous: Client, media_type: str
) -> None:
    made = await requested(api)
    answer = await api.upload(place(made), "file", "proof", HONEST[media_type], media_type)
    record = data(answer)
    (document,) = record["documents"]
    assert answer.json()["object"] == "validation_request"
    assert record == {**made, "documents": [document]}
    assert document == {
        "id": document["id"],
        "validationRequestId": made["id"],
        "status": "clean",
        "url": document["url"],
        "createdAt": iso_timestamp(service.clock.now()),
        "deletedAt": None,
    }
    assert service.db.deployment.ids.decode("validationrequestdocument", document["id"])
    assert (await anonymous.get(document["url"])).headers["content-type"] == media_type
    address = urlsplit(document["url"])
    assert "/validation-requests" not in address.path, "documents have a path of their own"


async def test_documents_are_listed_in_the_order_they_came_wherever_the_request_is(
    service: Service, api: Client
) -> None:
    made, other = await requested(api), await requested(api)
    for media_type in (JPEG, PDF):
        service.clock.advance(minutes=1)
        data(await api.upload(place(made), "file", "proof", HONEST[media_type], media_type))
    ids = [document["id"] for document in (await shown(api, made))["documents"]]
    assert len(ids) == 2
    assert ids == sorted(ids)
    by_id = {row["id"]: row["documents"] for row in data(await api.get(PATH))}
    assert ([document["id"] for document in by_id[made["id"]]], by_id[other["id"]]) == (ids, [])
    await simulate(api, made, "accept")
    ((kind, record),) = await told(service, api)
    assert (kind, [document["id"] for document in record["documents"]]) == ("approved", ids)


async def test_evidence_may_come_after_a_decision_and_changes_none(service: Service, api: Client) -> None:
    made = await decided(service, api, name="test_reject_incorrect_documentation")
    record = data(await api.upload(place(made), "file", "proof", HONEST[PDF], PDF))
    assert {**record, "documents": []} == made


async def test_a_document_comes_once_under_one_key(api: Client) -> None:
    made = await requested(api)
    files, headers = {"file": ("proof", HONEST[PNG], PNG)}, {"Idempotency-Key": "proof"}
    first, again = [await api.request("POST", place(made), files=files, headers=headers) for _ in range(2)]
    assert (first.status_code, again.content) == (200, first.content)
    assert len((await shown(api, made))["documents"]) == 1


async def test_what_is_no_document_is_refused_and_kept_nowhere(api: Client, other: Client) -> None:
    made = await requested(api)
    for field, content, media_type, code in (
        ("file", b"GIF89a", "image/gif", "filetype_not_supported"),
        ("proof", HONEST[PNG], PNG, "file_is_missing"),
        ("file", bytes(5_242_881), PNG, "max_file_size"),
    ):
        answer = await api.upload(place(made), field, "proof", content, media_type)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, f"upload/{code}")
    assert (await api.post(place(made), {})).json()["error"]["code"] == "upload/content_type_error"
    foreign = await other.upload(place(made), "file", "proof", HONEST[PNG], PNG)
    assert foreign.status_code == 404
    assert await shown(api, made) == made
