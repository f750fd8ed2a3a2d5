"""`almoner giving-links` as people type it, over the database of a service."""

from pathlib import Path

from tests.support import factories
from tests.support.client import Client
from tests.support.console import entries
from tests.support.service import Service
from tests.support.terminal import in_process, operator


async def test_an_operator_records_a_refusal_and_lifts_it(service: Service, api: Client, tmp_path: Path) -> None:
    almoner = in_process(service, tmp_path, await operator(service, "reviewer", name="Rosa"))
    organisation = await factories.nonprofit(service, name="Quiet Fund")
    code, _ = await almoner("giving-links", "refuse", organisation, "--note", "their letter of 3 May")
    assert code == 0
    body = {"title": "Appeal", "organisationIds": [organisation]}
    refused = await api.post("/v1/giving-links", body)
    assert refused.json()["error"]["code"] == "giving_link/cannot_accept_donations"
    _, listed = await almoner("giving-links", "refusals")
    for told in ("Quiet Fund", "their letter of 3 May", "Rosa"):
        assert told in listed
    assert "has already opted out" in (await almoner("giving-links", "refuse", organisation, "--note", "again"))[1]
    assert (await almoner("giving-links", "allow", organisation))[0] == 0
    assert "has not opted out" in (await almoner("giving-links", "allow", organisation))[1]
    assert (await api.post("/v1/giving-links", body)).status_code == 200
    for action in ("giving_link.refused", "giving_link.allowed"):
        assert await entries(service, action, organisation) == 1, "who changes nothing has no entry"
