"""Merging records of one organisation in the console: compared, proposed, approved by a second person, separated."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from almoner.access.operators import service as operators
from almoner.nonprofits.organisations.checks import checks
from almoner.platform.observability import selfcheck
from tests.support import factories
from tests.support.browsing import Browser
from tests.support.client import Client, data
from tests.support.console import act, closed, entries, refused, words
from tests.support.database import TestDatabase
from tests.support.factories import listed as record
from tests.support.operators import operator, signed_in
from tests.support.service import Service, Tenant, serving
from tests.support.terminal import BY, in_process
from tests.support.terminal import operator as terminal_operator

PATH = "/operator/organisations"
NOTE = {"note": "Both annual reports name both numbers"}


@pytest.fixture
async def admins(service: Service) -> AsyncIterator[tuple[Browser, Browser]]:
    """Two administrators' browsers."""
    made = [await signed_in(service, await operator(service, "administrator")) for _ in range(2)]
    yield made[0], made[1]
    for browser in made:
        await browser.close()


@pytest.fixture
async def dual_control(service: Service) -> AsyncIterator[None]:
    """Two people decide."""
    async with service.db.write() as tx:
        await operators.set_two_person_approval(tx, BY, required=True)
    yield
    async with service.db.write() as tx:
        await operators.set_two_person_approval(tx, BY, required=False)


async def answering(publishable: Client, *ids: str) -> set[str]:
    """The records that answer for these IDs."""
    return {data(await publishable.get(f"/v1/organisations/{one}"))["id"] for one in ids}


async def consistent(service: Service) -> bool:
    """Whether the self-check of organisations finds nothing about merges."""
    outcome = await selfcheck.run_selfcheck(service.db, checks)
    return "organisations.merged_on_certain_evidence" not in {one.check.name for one in outcome.findings}


@pytest.mark.usefixtures("dual_control")
async def test_two_records_are_merged_by_two_people_and_separated_again(
    service: Service, admins: tuple[Browser, Browser], publishable: Client
) -> None:
    ada, bob = admins
    one = await record(service, "Curlew Trust", "CCEW", "1177001")
    other = await record(service, "Curlew Trust Scotland", "OSCR", "SC047001")
    await ada.open(f"{PATH}/{one}/compare?query=curlew")
    assert "Curlew Trust Scotland OSCR SC047001" in words(ada)
    compare, merge = f"{PATH}/{one}/compare?other={other}", f"{PATH}/{one}/merge/{other}"
    await ada.open(compare)
    assert "only listed: Scotland" in words(ada)
    await act(ada, merge, **NOTE)
    assert "recorded (1 of 2)" in words(ada)
    assert await answering(publishable, one, other) == {one, other}, "one person merges nothing"
    assert "A second operator" in await refused(ada, merge, **NOTE)
    await bob.open(f"{PATH}/merges")
    assert NOTE["note"] in words(bob)
    await bob.open("/operator/desk")
    assert "Merges waiting for a second approval" in words(bob)
    await act(bob, f"{PATH}/{other}/merge/{one}", **NOTE)  # the same pair, from the other side
    assert "Both registration numbers now lead to one record" in words(bob)
    (primary,) = await answering(publishable, one, other)
    assert await consistent(service)
    assert "They are merged" in await closed(bob, merge)
    await ada.open(f"{PATH}/{one}")
    said = words(ada)
    assert "Other records of this organisation" in said
    assert "1177001" in said
    assert "SC047001" in said
    assert primary in str(ada.page.url if ada.page else "")
    await act(ada, f"{PATH}/{one}/separate/{other}", **NOTE)
    await act(bob, f"{PATH}/{one}/separate/{other}", **NOTE)
    assert await answering(publishable, one, other) == {one, other}
    assert await consistent(service)
    assert "have not merged these" in await closed(bob, f"{PATH}/{one}/separate/{other}")
    for action in ("organisation.merge", "organisation.merged", "organisation.separate", "organisation.separated"):
        assert await entries(service, action, one) == 1, action


@pytest.mark.usefixtures("dual_control")
async def test_what_the_first_person_saw_must_still_hold(
    service: Service, admins: tuple[Browser, Browser], publishable: Client
) -> None:
    ada, bob = admins
    one = await record(service, "Dunlin Trust", "CCEW", "1177002")
    other = await record(service, "Dunlin Trust", "OSCR", "SC047002")
    await act(ada, f"{PATH}/{one}/merge/{other}", **NOTE)
    async with service.db.write() as tx:
        sql = "update organisation set name = 'Redshank Trust' where id = $1"
        await tx.execute(sql, tx.ids.decode("organisation", other))
    await bob.open(f"{PATH}/merges")
    assert "Dunlin Trust" not in words(bob), "there is nothing to approve second"
    await act(bob, f"{PATH}/{one}/merge/{other}", **NOTE)
    assert "recorded (1 of 2)" in words(bob), "a new first approval"
    await ada.open(f"{PATH}/merges")
    assert "Dunlin Trust" in words(ada)
    assert await answering(publishable, one, other) == {one, other}


async def test_one_decides_in_the_console_and_the_other_in_the_terminal(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    async with serving(empty_database) as service:  # a clock that others have moved has let the terminal's word lapse
        async with service.db.write() as tx:
            await operators.set_two_person_approval(tx, BY, required=True)
        ada = await signed_in(service, await operator(service, "administrator"))
        publishable = service.client((await service.tenant()).publishable)
        one = await record(service, "Whimbrel Trust", "CCEW", "1177006")
        other = await record(service, "Whimbrel Trust", "OSCR", "SC047006")
        cleo = in_process(service, tmp_path, await terminal_operator(service, "administrator"))
        note = ("--note", NOTE["note"])
        status, printed = await cleo("organisations", "separate", one, other, *note)
        assert (status, "Operators have not merged these" in printed) == (2, True)
        assert (await cleo("organisations", "merge", one, other, "--note", " "))[0] == 2
        assert "(1 of 2)" in (await cleo("organisations", "merge", one, other, *note))[1]
        assert "A second operator" in (await cleo("organisations", "merge", other, one, *note))[1]
        assert await answering(publishable, one, other) == {one, other}
        await act(ada, f"{PATH}/{one}/merge/{other}", **NOTE)
        assert len(await answering(publishable, one, other)) == 1
        assert "(1 of 2)" in (await cleo("organisations", "separate", other, one, *note))[1]
        await act(ada, f"{PATH}/{one}/separate/{other}", **NOTE)
        assert await answering(publishable, one, other) == {one, other}
        for action in ("organisation.merge", "organisation.merged", "organisation.separate", "organisation.separated"):
            assert await entries(service, action, one) == 1, action
        await ada.close()
        await publishable.close()


async def test_what_cannot_be_one_organisation_is_not_merged(
    service: Service, admins: tuple[Browser, Browser], tenant: Tenant, publishable: Client
) -> None:
    ada, _ = admins
    one = await record(service, "Godwit Trust", "CCEW", "1177003")
    same = await record(service, "Godwit Trust", "CCEW", "1177004")
    there = await record(service, "Godwit Trust", "OSCR", "SC047003")
    assert "Two numbers of one registry" in await closed(ada, f"{PATH}/{one}/merge/{same}")
    assert (await ada.post(f"{PATH}/{one}/merge/{same}", {"csrf": "", **NOTE})).status_code == 403
    own = await factories.nonprofit(service, name="Unlisted Trust", partner=tenant.partner)
    assert (await ada.get(f"{PATH}/{one}/compare?other={own}")).status_code == 404
    await act(ada, f"{PATH}/{one}/merge/{there}", **NOTE)  # one person is enough here
    assert len(await answering(publishable, one, there)) == 1
    said = await refused(ada, f"{PATH}/{same}/merge/{there}", **NOTE)
    assert "already merged with another record of the same registry" in said
    assert len(await answering(publishable, one, there)) == 1, "the refused merge changed nothing"
    assert await consistent(service)


@pytest.mark.usefixtures("dual_control")
async def test_a_reviewer_opens_the_comparison_from_the_list_of_merges(
    service: Service, admins: tuple[Browser, Browser]
) -> None:
    one = await record(service, "Whimbrel Trust", "CCEW", "1177021")
    other = await record(service, "Whimbrel Trust Scotland", "OSCR", "SC047021")
    await act(admins[0], f"{PATH}/{one}/merge/{other}", **NOTE)
    reviewer = await signed_in(service, await operator(service, "reviewer"))
    first, second = sorted((one, other))
    compare, page = f"{PATH}/{first}/compare?other={second}", (await reviewer.open(f"{PATH}/merges")).text
    assert (f'href="{compare}"' in page, "/merge/" in page) == (True, False)
    assert (await reviewer.get(compare)).status_code == 200
    await reviewer.close()
