"""The search over everything: what each record is found by, who finds it, and when it is found no more."""

import asyncio
import re
from urllib.parse import urlencode

import pytest

from almoner.access.people.domain import MEMBER_ROLES, MemberRole
from almoner.dashboard import jobs
from almoner.giving.checkout.donations import service as donations
from tests.support import agents, factories, submissions
from tests.support.client import Client, data
from tests.support.members import Desk, desk
from tests.support.requests import asked
from tests.support.service import Service, Tenant


async def found(browser: Desk, typed: str, path: str = "/search") -> list[str]:
    """The records that a search leads to, by their addresses under the account."""
    answer = await browser.get(f"{browser.home}{path}?{urlencode({'q': typed})}")
    shown = answer.text.partition("<main")[2] or answer.text
    return re.findall(rf'href="{browser.home}([^"?]+)"', shown)


async def receipt_number(service: Service, donation: str) -> str:
    """As it is printed, without a prefix."""
    async with service.db.read() as tx:
        number = await tx.fetchval(
            "select number from receipt where donation_id = $1", tx.ids.decode("donation", donation)
        )
    return f"{number:06d}"


async def test_each_record_is_found_by_what_people_know_of_it(service: Service, api: Client, owner: Desk) -> None:
    gift = await factories.donation(
        service, api, email="Zoe.Quill@example.org", firstName="Zoé", lastName="O'Quill-Marsh"
    )
    direct = await factories.direct(service, api, metadata={"campaign": "Winter appeal", "order": "ORD-77-b"})
    session = await factories.session(service, api, metadata={"cart": "cart_9911"})
    await service.drain()
    request = await asked(service, api, 500)
    receipt = await receipt_number(service, gift["id"])
    submission = await submissions.applied(api, organisationName="Kestrel Harbour Trust")
    agent = await agents.create(service, api, email="teo@kestrel.example", lastName="Kestrelman")
    invite = data(await api.post("/v1/validation-invites", {"language": "en", "metadata": {"crm": "K-4711"}}))
    await service.drain()
    donation, agent_page = f"/donations/{gift['id']}", f"/agent-verifications/{agent['id']}"
    expected = {
        "zoe.quill@example.org": donation,
        "ZOE marsh": donation,
        "o'qui": donation,
        receipt: donation,
        "ord-77-b": f"/donations/{direct['id']}",
        "appeal winter": f"/donations/{direct['id']}",
        "cart_9911": f"/donation-sessions/{session['id']}",
        request["reference"].lower(): f"/donation-requests/{request['id']}",
        "harbour kestrel": f"/validation-submissions/{submission['id']}",
        "teo@kestrel.example": agent_page,
        "kestrelm": agent_page,
        "k-4711": f"/validation-invites/{invite['id']}",
    }
    assert {typed: path in await found(owner, typed) for typed, path in expected.items()} == dict.fromkeys(
        expected, True
    )
    assert await found(owner, "zoe kestrel") == [], "all words are in one record"
    assert await found(owner, "zo") == []
    assert await found(owner, "o'qui", "/search/hits") == [donation]
    assert " ago" in owner.text(), "two hits of one donor are told apart"


@pytest.mark.parametrize("role", MEMBER_ROLES)
async def test_who_may_not_see_donors_does_not_find_them_by_name_or_email(
    role: MemberRole, service: Service, tenant: Tenant, api: Client
) -> None:
    gift = await factories.direct(
        service, api, email="ines@example.org", firstName="Inesita", metadata={"campaign": "lantern"}
    )
    await service.drain()
    browser, path = await desk(service, tenant, role), f"/donations/{gift['id']}"
    named = role in ("owner", "finance", "support")
    for typed in ("ines@example.org", "inesita", "ines"):
        assert (path in await found(browser, typed)) is named, typed
    assert await found(browser, "lantern") == [path]
    assert browser.page is not None
    assert ("ines@example.org" in browser.page.text) is named
    await browser.close()


async def test_what_is_changed_erased_or_of_another_partner_is_not_found(
    service: Service, tenant: Tenant, api: Client, owner: Desk
) -> None:
    gift = await factories.direct(service, api, email="gone@example.org", metadata={"batch": "heron"})
    await service.drain()
    path = f"/donations/{gift['id']}"
    assert await found(owner, "heron") == await found(owner, "gone@example.org") == [path]
    stranger = await desk(service, await service.tenant(), "owner")
    assert await found(stranger, "heron") == []
    data(await api.patch(f"/v1/donations/{gift['id']}", {"metadata": {"batch": "egret"}}))
    data(await api.post(f"/v1/donations/{gift['id']}/cancel"))
    async with service.db.write() as tx:
        await tx.execute(
            "update donation set cancelled_at = cancelled_at - interval '31 days' where id = $1",
            tx.ids.decode("donation", gift["id"]),
        )
        await donations.erase_donors_of_cancelled_donations(tx)
    await service.drain()
    assert (await found(owner, "heron"), await found(owner, "egret")) == ([], [path])
    assert await found(owner, "gone@example.org") == []
    await stranger.close()


async def test_a_partner_that_is_not_told_of_donors_does_not_find_them(
    service: Service, tenant: Tenant, api: Client, owner: Desk
) -> None:
    await factories.direct(service, api, email="quiet@example.org")
    await service.drain()
    assert len(await found(owner, "quiet@example.org")) == 1
    async with service.db.write() as tx:
        await tx.execute("update partner set shares_donor_details = false where id = $1", tenant.partner.id)
    assert await found(owner, "quiet@example.org") == []


async def test_a_hit_that_names_a_donor_is_kept_as_a_look(service: Service, api: Client, owner: Desk) -> None:
    gift = await factories.direct(service, api, email="looked@example.org")
    await service.drain()
    await found(owner, "looked@example.org", "/search/hits")
    async with service.db.read() as tx:
        views = await tx.fetchval(
            "select count(*) from donor_view where record_id = $1", tx.ids.decode("donation", gift["id"])
        )
    assert views == 1


async def test_changes_of_one_record_at_once_end_with_the_last(service: Service, api: Client, owner: Desk) -> None:
    gift = await factories.direct(service, api)
    values = [f"value{number}" for number in range(8)]
    await asyncio.gather(*(api.patch(f"/v1/donations/{gift['id']}", {"metadata": {"at": value}}) for value in values))
    async with service.db.write() as tx:
        assert await jobs.update_search_index(tx) > len(values)
    kept = data(await api.get(f"/v1/donations/{gift['id']}"))["metadata"]["at"]
    hits = {value: await found(owner, value) for value in values}
    assert [value for value, paths in hits.items() if paths] == [kept]
