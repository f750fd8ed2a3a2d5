"""Validation requests on the wire (spec 2.3, 4.3; settled 4 and 8)."""

from almoner.kit.time import iso
from tests.support.client import Client, data
from tests.support.service import Service

PATH = "/v1/validation-requests"
BODY = {
    "name": "Casper Relief Fund",
    "registryName": "IRS",
    "registryId": "53-0196605",
    "website": "https://example.org",
    "countryCode": "USA",
}


async def test_the_record_of_a_new_one(service: Service, api: Client) -> None:
    now = service.clock.now()
    answer = await api.post(PATH, BODY)
    made = data(answer)
    assert answer.json()["object"] == "validation_request"
    assert made == {
        "id": made["id"],
        "organisationId": None,
        "organisationTypes": [],
        **BODY,
        **dict.fromkeys(("email", "addressLine1", "addressLine2", "city", "state", "postal")),
        "createdAt": iso(now),
        **dict.fromkeys(("deletedAt", "acceptedAt", "rejectedAt", "rejectionReason", "rejectionReasonCode")),
        "usaGroupExempt": None,
        "documents": [],
    }
    assert service.db.deployment.ids.parse("validationrequest", made["id"])
    assert data(await api.get(f"{PATH}/{made['id']}")) == made
    listed = await api.get(PATH)
    assert (data(listed), listed.json()["totalResults"]) == ([made], 1)


async def test_what_is_not_listed_waits_for_a_person(service: Service, api: Client) -> None:
    made = data(await api.post(PATH, BODY))
    await service.drain()
    assert data(await api.get(f"{PATH}/{made['id']}")) == made
