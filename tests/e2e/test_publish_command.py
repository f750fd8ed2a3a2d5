"""`almoner organisations publish` as a reviewer types it: a partner's own nonprofit is seen by all (settled 5)."""

from pathlib import Path

from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.terminal import terminal
from tests.support.validation import decided

NOTE = ("--note", "The ministry's letter of 3 March, case 7")


async def test_a_partners_own_organisation_is_seen_by_everybody_once_it_is_published(
    service: Service, api: Client, other: Client, tmp_path: Path
) -> None:
    ours = (await decided(service, api, name="test_accept"))["organisationId"]
    theirs = (await decided(service, other, name="test_accept"))["organisationId"]
    almoner = terminal(service, tmp_path, "reviewer")
    assert (await other.get(f"/v1/organisations/{ours}")).status_code == 404
    assert await almoner("organisations", "publish", ours, *NOTE) == (0, f"{ours} is published.\n")
    assert data(await other.get(f"/v1/organisations/{ours}"))["name"] == "test_accept"
    for organisation, words in (
        (ours, "that one partner sees alone"),
        (theirs, "another organisation of its number is published"),
        ("organisation_x", "there is no organisation"),
    ):
        status, printed = await almoner("organisations", "publish", organisation, *NOTE)
        assert status == 2
        assert words in " ".join(printed.replace("│", " ").split())
    assert (await almoner("organisations", "publish", theirs, "--note", " "))[0] == 2


async def test_it_takes_a_reviewer(service: Service, api: Client, other: Client, tmp_path: Path) -> None:
    ours = (await decided(service, api, name="test_accept", registryId="13-1623829"))["organisationId"]
    assert (await terminal(service, tmp_path, "finance")("organisations", "publish", ours, *NOTE))[0] != 0
    assert (await other.get(f"/v1/organisations/{ours}")).status_code == 404
