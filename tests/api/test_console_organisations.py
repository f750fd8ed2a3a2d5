"""Organisations in the console: search, the record with its history and screening, branding, and publishing."""

import asyncio
import io
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.giving.checkout.giving_links import service as giving_links
from almoner.nonprofits.registers import flows as registers_flows
from tests.support import factories
from tests.support.bmf import bodies, body, write
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.console import act, closed, entries, refused, upload, words
from tests.support.eventually import eventually
from tests.support.locking import waits_for_lock
from tests.support.operators import operator, signed_in
from tests.support.payouts import uuid_of
from tests.support.service import Service, Tenant
from tests.support.validation import decided

PATH = "/operator/organisations"
RENAMED = "850300001"
SNAPSHOTS = {
    datetime(2026, 1, 9, tzinfo=UTC): [body(RENAMED, "HAWKBIT RELIEF FUND", STATE="OR", RULING="200105")],
    datetime(2026, 2, 9, tzinfo=UTC): [body(RENAMED, "SALTGRASS AID FUND", STATE="OR", RULING="200105")],
}


@pytest.fixture(scope="module", autouse=True)
async def register(service: Service, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[None]:
    """Two months of a register."""
    folder: Path = tmp_path_factory.mktemp("register")
    for day, rows in SNAPSHOTS.items():
        others = bodies(30, start=850_400_000, state="OR", name="QUARTZITE GUILD")
        file = write(folder / f"{day:%Y-%m-%d}.csv", [*rows, *others])
        await registers_flows.import_files(service.db, IrsBmfReader(), [file], as_of=day)
    yield  # noqa: PT022 (the data stay; names and numbers in them occur nowhere else)


@pytest.fixture
async def admin(service: Service) -> AsyncIterator[Browser]:
    """An administrator's browser."""
    browser = await signed_in(service, await operator(service, "administrator"))
    yield browser
    await browser.close()


@pytest.fixture
async def reviewer(service: Service) -> AsyncIterator[Browser]:
    """A reviewer's browser."""
    browser = await signed_in(service, await operator(service, "reviewer"))
    yield browser
    await browser.close()


async def known(publishable: Client) -> str:
    """The identifier of the one that was renamed."""
    (record,) = data(await publishable.get("/v1/organisations", registryId=RENAMED))
    return str(record["id"])


@pytest.mark.parametrize("query", ["saltgrass", "hawkbit relief", RENAMED, "85-0300001"])
async def test_it_is_found_by_name_former_name_and_number(admin: Browser, query: str) -> None:
    await admin.open(f"{PATH}?query={query}")
    assert "Saltgrass Aid Fund" in words(admin)
    assert (await admin.get(f"{PATH}.csv?query={query}")).text.splitlines()[1].startswith("Saltgrass Aid Fund,IRS,")


async def test_it_is_found_by_its_id_and_by_filters(service: Service, admin: Browser, publishable: Client) -> None:
    own = await known(publishable)
    await admin.open(f"{PATH}?query={own}")
    assert "1, best matches first" in words(admin)
    await admin.open(f"{PATH}?query={service.db.deployment.ids.example_id('organisation')}")
    assert "Saltgrass" not in words(admin)
    await admin.open(f"{PATH}?query=saltgrass&country=USA&registry=IRS&status=active")
    assert "Saltgrass" in words(admin)
    await admin.open(f"{PATH}?query=saltgrass&status=inactive")
    assert "Saltgrass" not in words(admin)
    for wrong in ("country=Wales", "registry=no+such+registry", "query=fund&cursor=99999"):
        assert (await admin.get(f"{PATH}?{wrong}")).status_code == 422, wrong


async def test_pages_of_a_list_and_of_a_search_go_on(admin: Browser) -> None:
    for query in ("?country=USA", "?query=quartzite"):
        seen: list[str] = []
        file = (await admin.get(f"{PATH}.csv{query}")).text.splitlines()[1:]
        seen = [line for line in file if "Quartzite Guild" in line]
        assert len(seen) == len(set(seen)) == 30, query


async def test_the_record_tells_history_sources_and_screening(
    service: Service, admin: Browser, api: Client, publishable: Client
) -> None:
    own = await known(publishable)
    await admin.open(f"{PATH}/{own}")
    said = words(admin)
    assert "Former names HAWKBIT RELIEF FUND (until 2026-02-09)" in said
    assert "Renamed: Name HAWKBIT RELIEF FUND SALTGRASS AID FUND" in said
    assert "irs-bmf" in said
    assert "Accepted in USD" in said
    assert "has never been screened against watchlists" in said
    await decided(service, api, name="Saltgrass Aid Fund", registryId=RENAMED)
    data(await api.post("/v1/monitoring-subscriptions", {"organisationId": own}))
    await service.drain()
    await admin.open(f"{PATH}/{own}")
    assert "never been screened" not in words(admin)
    gone = await factories.nonprofit(service, name="Lapsed Fund", active=False)
    await admin.open(f"{PATH}/{gone}")
    assert "Refused: the organisation is not active" in words(admin)
    assert (await admin.get(f"{PATH}/organisation_0")).status_code == 404


async def test_how_it_is_shown_is_changed_and_recorded(service: Service, admin: Browser, publishable: Client) -> None:
    own = await factories.nonprofit(service, name="PLAIN TRUST")
    page = f"{PATH}/{own}"
    for _ in range(2):
        await act(admin, f"{page}/brand", name="Plain & Proper", description="Feeds people", colour="#0d5c4a")
    said = words(admin)
    assert "Your changes have been saved. Donors see the changes" in said
    assert "Plain & Proper" in said
    assert "PLAIN TRUST" in said, "the registered name stays"
    assert "Remove the branding" in said
    assert data(await publishable.get(f"/v1/organisations/{own}"))["displayName"] == "Plain & Proper"
    assert "#0d5c4a" in await refused(admin, f"{page}/brand", name="x", description="", colour="teal")
    assert "To remove the colour, remove all branding" in await refused(
        admin, f"{page}/brand", name="x", description="", colour=""
    )
    picture = io.BytesIO()
    Image.new("RGB", (900, 500), "navy").save(picture, "PNG")
    await upload(admin, f"{page}/logo", "logo.png", picture.getvalue())
    await admin.open(page)
    assert "Logo and images logo" in words(admin)
    await admin.open(f"{page}/logo")
    answer = await admin.request(
        "POST",
        f"{page}/logo",
        headers={"Sec-Fetch-Site": "same-origin"},
        data={"csrf": admin.csrf},
        files={"file": ("logo.png", b"no picture")},
    )
    assert (answer.status_code, "not a valid image" in words(admin)) == (422, True)
    assert (await admin.post(f"{page}/logo", {})).status_code == 422
    await act(admin, f"{page}/brand/clear")
    assert "Plain & Proper" not in words(admin)
    assert "Remove the branding" not in words(admin)
    assert "This organisation has no branding." in await closed(admin, f"{page}/brand/clear")
    assert await entries(service, "organisation.branded", own) == 3


async def test_a_reviewer_sets_the_contact_of_an_organisation(
    service: Service, reviewer: Browser, admin: Browser
) -> None:
    own = await factories.nonprofit(service)
    page = f"{PATH}/{own}/contact"
    assert (await admin.get(page)).status_code == 403, "it is part of the evidence"
    assert "Enter an email address such as" in await refused(reviewer, page, email="office", source="their page")
    await act(reviewer, page, email="Office@hope.example.org", source="their page")
    assert "The contact address has been saved." in words(reviewer)
    assert "Contact address Office@hope.example.org (their page)" in words(reviewer)
    assert await entries(service, "organisation.contact_recorded", own) == 1


async def test_a_reviewer_publishes_what_a_partner_entered(
    service: Service, tenant: Tenant, reviewer: Browser, admin: Browser
) -> None:
    own = await factories.nonprofit(service, name="Unlisted Hope", partner=tenant.partner)
    await reviewer.open(f"{PATH}/unpublished")
    assert "Unlisted Hope" in words(reviewer)
    assert "Unlisted Hope" in (await reviewer.get(f"{PATH}/unpublished.csv")).text
    await reviewer.open(f"{PATH}/{own}")
    assert "Only the partner that added this record can find it" in words(reviewer)
    page = f"{PATH}/{own}/publish"
    assert "web addresses" in await refused(reviewer, page, note="Seen", websites="hope")
    assert "Publish the organisation first" in await closed(admin, f"{PATH}/{own}/brand")
    sent = await reviewer.post(f"{PATH}/{own}/contact", {"email": "office@hope.example.org", "source": "their page"})
    assert (sent.status_code, "Publish the organisation first" in words(reviewer)) == (409, True)
    assert await entries(service, "organisation.contact_recorded", own) == 0
    assert (await admin.get(page)).status_code == 403, "a reviewer decides"
    assert (await reviewer.get(f"{PATH}/{own}/brand")).status_code == 403
    await act(reviewer, page, note="Seen at Companies House", websites="https://hope.example.org")
    assert "The organisation has been published. All partners can now find the organisation" in words(reviewer)
    assert "https://hope.example.org" in words(reviewer)
    assert "is published" in await closed(reviewer, page)
    assert await entries(service, "organisation.published", own) == 1


async def test_a_nonprofit_opts_out_of_giving_links(
    service: Service, publishable: Client, reviewer: Browser, admin: Browser
) -> None:
    name = await known(publishable)
    own = f"{PATH}/{name}"
    assert "has not opted out" in await closed(reviewer, f"{own}/giving-links/allow")
    await act(reviewer, f"{own}/giving-links/refuse", note="Their letter of 2 March")
    for part in ("no longer receives donations through giving links", "Stopped: Their letter of 2 March"):
        assert part in words(reviewer), part
    assert "has opted out already" in await closed(reviewer, f"{own}/giving-links/refuse")
    assert "/giving-links/" not in (await admin.open(own)).text, "it is for reviewers"
    await act(reviewer, f"{own}/giving-links/allow")
    assert "can receive donations through giving links again" in words(reviewer)
    for action in ("giving_link.refused", "giving_link.allowed"):
        assert await entries(service, action, name) == 1, action


async def test_only_the_reviewer_who_was_faster_has_an_entry(
    service: Service, publishable: Client, reviewer: Browser
) -> None:
    name = await known(publishable)
    organisation = uuid_of(service, "organisation", name)
    actions = ("giving_link.refused", "giving_link.allowed")
    before = [await entries(service, action, name) for action in actions]
    for act_name in ("refuse", "allow"):
        await reviewer.get(f"{PATH}/{name}/giving-links/{act_name}")
        async with service.db.write() as tx:
            if act_name == "refuse":
                await giving_links.record_opt_out(tx, organisation, "Their call", "operator_ann")
            else:
                await giving_links.withdraw_opt_out(tx, organisation)
            pressed = asyncio.create_task(
                reviewer.post(f"{PATH}/{name}/giving-links/{act_name}", {"note": "Their letter"})
            )
            await eventually(partial(waits_for_lock, service))
        assert (await pressed).status_code == 303
    assert [await entries(service, action, name) for action in actions] == before
