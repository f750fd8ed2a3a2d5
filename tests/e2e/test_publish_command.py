"""`almoner organisations publish` as a reviewer types it: a partner's own nonprofit is seen by all (settled 5)."""

import asyncio
from pathlib import Path
from typing import cast
from uuid import UUID

from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import RegistryNumberTaken
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
    assert await almoner("organisations", "publish", ours, *NOTE) == (0, f"{ours} has been published.\n")
    assert data(await other.get(f"/v1/organisations/{ours}"))["name"] == "test_accept"
    for organisation, words in (
        (ours, "there is no unpublished organisation"),
        (theirs, "another organisation of its number is published"),
        ("organisation_x", "there is no unpublished organisation"),
    ):
        status, printed = await almoner("organisations", "publish", organisation, *NOTE)
        assert status == 2
        assert words in " ".join(printed.replace("│", " ").split())
    assert (await almoner("organisations", "publish", theirs, "--note", " "))[0] == 2


async def test_the_website_is_the_reviewers_word_and_not_the_partners(
    service: Service, api: Client, tmp_path: Path
) -> None:
    almoner = terminal(service, tmp_path, "reviewer")
    reported = (await decided(service, api, name="test_accept", registryId="94-1156365"))["organisationId"]
    checked = (await decided(service, api, name="test_accept", registryId="95-1831116"))["organisationId"]
    assert data(await api.get(f"/v1/organisations/{reported}"))["websites"] != []
    status, printed = await almoner("organisations", "publish", checked, *NOTE, "--website", "no website")
    assert (status, "must be a web address" in " ".join(printed.replace("│", " ").split())) == (2, True)
    for organisation, websites in ((reported, []), (checked, ["https://checked.example"])):
        given = [part for site in websites for part in ("--website", site)]
        assert (await almoner("organisations", "publish", organisation, *NOTE, *given))[0] == 0
        assert data(await api.get(f"/v1/organisations/{organisation}"))["websites"] == websites


async def test_of_two_published_at_once_one_is_refused_in_words(service: Service, api: Client, other: Client) -> None:
    parse = service.db.deployment.ids.decode
    both = [
        parse(
            "organisation", (await decided(service, one, name="test_accept", registryId="13-5562351"))["organisationId"]
        )
        for one in (api, other)
    ]
    holds = asyncio.Event()

    async def first() -> None:
        async with service.db.write() as tx:
            await organisations.make_organisation_public(tx, cast("UUID", both[0]))
            holds.set()
            while not await tx.fetchval("select exists (select from pg_locks where not granted)"):
                pass

    async def second() -> None:
        await holds.wait()
        async with service.db.write() as tx:
            await organisations.make_organisation_public(tx, cast("UUID", both[1]))

    done = await asyncio.gather(first(), second(), return_exceptions=True)
    assert [type(one) for one in done] == [type(None), RegistryNumberTaken]


async def test_it_takes_a_reviewer(service: Service, api: Client, other: Client, tmp_path: Path) -> None:
    ours = (await decided(service, api, name="test_accept", registryId="13-1623829"))["organisationId"]
    assert (await terminal(service, tmp_path, "finance")("organisations", "publish", ours, *NOTE))[0] != 0
    assert (await other.get(f"/v1/organisations/{ours}")).status_code == 404
