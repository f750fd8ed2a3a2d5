"""Regular donations and giving links on the dashboard: made, changed and ended without code, as by the API."""

import asyncio
import re
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from almoner.giving.checkout.giving_links import service as giving_links
from almoner.giving.checkout.giving_links.schemas import GivingLinkInput
from almoner.kit.time import parse_timestamp
from tests.support import factories
from tests.support.client import Client, data
from tests.support.eventually import eventually
from tests.support.locking import waits_for_lock
from tests.support.members import Desk, desk
from tests.support.payouts import uuid_of
from tests.support.regular_gifts import Plan, begin_plan
from tests.support.service import Service, Tenant


@pytest.fixture
async def plan(service: Service, api: Client) -> Plan:
    """A plan whose first donation is paid."""
    return await begin_plan(service, api)


async def act(browser: Desk, record: str, action: str, **form: Any) -> None:
    """Open the page of an action and send it, which works."""
    page = f"{browser.home}{record}/{action}"
    assert (await browser.get(page)).status_code == 200
    answer = await browser.post(page, form)
    assert answer.headers.get("location", answer.text) == f"{browser.home}{record}?done={action}"
    assert (await browser.get(answer.headers["location"])).status_code == 200


async def test_a_member_makes_a_link_with_nonprofits_found_by_search(
    service: Service, tenant: Tenant, api: Client
) -> None:
    name = factories.unique("Otter Rescue")
    organisation = await factories.nonprofit(service, name=name)
    finance = await desk(service, tenant, "finance")
    page = f"{finance.home}/giving-links/new"
    await finance.get(page)
    words = {
        "title": "Rivers",
        "text": "For the otters.\nThank you.",
        "currencies": "usd",
        "suggestedAmounts": "10\n25.50",
    }
    found = await finance.post(page, {**words, "do": "find", "find": name})
    assert found.status_code == 200
    assert f'value="{organisation}"' in found.text
    assert "For the otters." in found.text, "what was typed stays"
    nothing = await finance.post(page, {**words, "organisationIds": organisation, "do": "find", "find": "qqqxxzz"})
    assert re.search(f'value="{organisation}" checked', nothing.text), "what is ticked stays"
    more = {"organisationIds": organisation, "frequencies": ["one_time", "monthly"], "showsProgress": "yes"}
    made = await finance.post(page, {**words, **more, "designations": "Dams\nFood", "expiresAt": "2099-12-31"})
    link = data(await api.get(f"/v1/giving-links/{made.headers['location'].split('/')[-1].partition('?')[0]}"))
    assert (link["title"], link["text"]) == ("Rivers", words["text"])
    assert (link["currencies"], link["suggestedAmounts"]) == (["USD"], [1000, 2550])
    assert (link["organisationIds"], link["frequencies"]) == ([organisation], ["one_time", "monthly"])
    assert (link["designations"], link["showsProgress"], link["active"]) == (["Dams", "Food"], True, True)
    assert (link["expiresAt"], link["minimum"]) == ("2100-01-01T00:00:00.000Z", None)
    shown = await finance.get(made.headers["location"])
    for part in (link["url"], f"/g/{link['slug']}/qr.svg", f"/g/{link['slug']}/qr.png", "$25.50", name):
        assert part in shown.text
    await finance.close()


async def test_a_refused_link_says_why_under_its_fields(service: Service, tenant: Tenant) -> None:
    finance = await desk(service, tenant, "finance")
    listed = await finance.get(f"{finance.home}/giving-links")
    assert listed.text.count(f'href="{finance.home}/giving-links/new"') == 1, "the empty list leads to the form"
    page = f"{finance.home}/giving-links/new"
    form = (await finance.get(page)).text
    assert re.findall(r'value="(\w+)" checked', form) == ["one_time"], "what the link has if nothing is changed"
    assert 'name="categoryId"' not in form, "no category is there to choose"
    assert form.index("<details") < form.index('name="goal"') < form.index("</details>"), "behind More options"
    assert '<details class="raw" open' not in form
    wrong = await finance.post(page, title="Rivers", suggestedAmounts="$10, $25", currencies="EUR")
    assert (wrong.status_code, "Enter one amount per line" in finance.text()) == (422, True)
    unsaid = await finance.post(page, title="Rivers", suggestedAmounts="10", frequencies="one_time")
    assert unsaid.status_code == 422
    assert "must have either organisationIds or categoryId" in finance.text()
    never = await finance.post(page, title="Rivers", organisationIds=await factories.nonprofit(service))
    assert never.status_code == 422
    assert "Frequencies must have at least" in finance.text()
    await finance.close()


async def test_a_link_is_edited_switched_off_and_on_and_given_a_picture(
    service: Service, tenant: Tenant, api: Client
) -> None:
    made = await factories.giving_link(
        service, api, currencies=["USD"], suggestedAmounts=[1000], minimum=500, expiresAt="2099-05-06T07:08:09.000Z"
    )
    finance, record = await desk(service, tenant, "finance"), f"/giving-links/{made['id']}"
    form = await finance.get(f"{finance.home}{record}/edit")
    assert 'value="5.00"' in form.text
    assert '<details class="raw" open' in form.text, "the minimum is one of the options"
    kept = {"title": made["title"], "organisationIds": made["organisationIds"], "currencies": "USD"}
    kept |= {"suggestedAmounts": "10.00", "minimum": "5.00", "expiresAt": "2099-05-06", "frequencies": ["one_time"]}
    await act(finance, record, "edit", **{**kept, "title": "Lakes", "minimum": ""})
    changed = data(await api.get(f"/v1{record}"))
    assert {key for key in made if made[key] != changed[key]} - {"updatedAt"} == {"title", "minimum"}
    assert (changed["title"], changed["minimum"]) == ("Lakes", None)
    await act(finance, record, "deactivate")
    assert data(await api.get(f"/v1{record}"))["active"] is False
    assert "activate" in (await finance.get(finance.home + record)).text
    await act(finance, record, "activate")
    assert data(await api.get(f"/v1{record}"))["active"] is True
    picture = BytesIO()
    Image.new("RGB", (40, 30), "red").save(picture, "PNG")
    page = f"{finance.home}{record}/image"
    await finance.get(page)
    for content, status in ((picture.getvalue(), 303), (b"nothing", 422)):
        sent = await finance.request(
            "POST",
            page,
            headers={"Sec-Fetch-Site": "same-origin"},
            data={"csrf": finance.csrf, "form_key": str(status)},
            files={"image": ("a.png", content, "image/png")},
        )
        assert sent.status_code == status, sent.text
    assert data(await api.get(f"/v1{record}"))["imageUrl"] is not None
    forged = await finance.request(
        "POST",
        page,
        headers={"Sec-Fetch-Site": "same-origin"},
        data={"csrf": "x"},
        files={"image": ("a.png", b"x", "")},
    )
    assert forged.status_code == 403
    await finance.close()


async def test_finance_pauses_resumes_skips_and_ends_a_plan(service: Service, tenant: Tenant, plan: Plan) -> None:
    finance, record = await desk(service, tenant, "finance"), f"/regular-donations/{plan.id}"
    shown = await finance.get(finance.home + record)
    assert all(part in shown.text for part in ("$25.00", "Monthly", "ada@example.org", "4242"))
    day = (service.clock.now() + timedelta(days=40)).date()
    await act(finance, record, "pause", until=day.isoformat())
    paused = await plan.record()
    assert (paused["status"], paused["pauseReason"]) == ("paused", "partner")
    assert parse_timestamp(paused["pausedUntil"]).date() == day
    await act(finance, record, "resume")
    due = (await plan.record())["nextDonationAt"]
    await act(finance, record, "skip")
    assert (await plan.record())["nextDonationAt"] > due
    await act(finance, record, "cancel")
    ended = await plan.record()
    assert (ended["status"], ended["cancellationReason"]) == ("cancelled", "partner")
    assert "/cancel" not in (await finance.get(finance.home + record)).text
    await finance.close()


async def test_less_applies_at_once_and_more_waits_for_the_donor(service: Service, tenant: Tenant, plan: Plan) -> None:
    finance, record = await desk(service, tenant, "finance"), f"/regular-donations/{plan.id}"
    await finance.get(f"{finance.home}{record}/change")
    refused = await finance.post(f"{finance.home}{record}/change", amount="all of it", frequency="monthly")
    assert refused.status_code == 422
    await act(finance, record, "change", amount="20", frequency="monthly")
    assert ((await plan.record())["amount"], (await plan.record())["pendingChange"]) == (2000, None)
    await act(finance, record, "change", amount="30", frequency="weekly")
    waiting = (await plan.record())["pendingChange"]
    assert (waiting["amount"], waiting["frequency"], (await plan.record())["amount"]) == (3000, "weekly", 2000)
    assert "$30.00" in (await finance.get(finance.home + record)).text
    await finance.close()


async def test_plans_and_links_are_found_by_what_people_know_of_them(
    service: Service, tenant: Tenant, api: Client, plan: Plan
) -> None:
    link = await factories.giving_link(service, api, title="Kingfisher appeal", metadata={"crm": "K-991"})
    await service.drain()
    owner, reader = await desk(service, tenant, "owner"), await desk(service, tenant, "read_only")
    for typed, page in (
        ("kingfisher", link["id"]),
        ("k-991", link["id"]),
        (link["slug"], link["id"]),
        (plan.id, plan.id),
    ):
        answer = await owner.open(f"{owner.home}/search?q={typed}")
        assert page in answer.text, typed
    for browser, found in ((owner, True), (reader, False)):
        answer = await browser.get(f"{browser.home}/search?q=ada%40example.org")
        assert (f"/regular-donations/{plan.id}" in answer.text) is found
        await browser.close()
    async with service.db.read() as tx:
        views = await tx.fetchval("select count(*) from donor_view where record_id = $1", plan.uuid)
    assert views > 0, "who saw the donor is known"


async def test_a_form_that_was_opened_before_undoes_nothing_of_a_colleague(
    service: Service, tenant: Tenant, api: Client
) -> None:
    made = await factories.giving_link(service, api, currencies=["USD"], suggestedAmounts=[1000], minimum=500)
    first, second = await desk(service, tenant, "finance"), await desk(service, tenant, "finance")
    page = f"{first.home}/giving-links/{made['id']}/edit"
    kept = {"title": made["title"], "organisationIds": made["organisationIds"], "currencies": "USD"}
    kept |= {"suggestedAmounts": "10.00", "minimum": "5.00", "frequencies": ["one_time"]}

    async def opened(browser: Desk) -> dict[str, Any]:
        return {**kept, **dict(re.findall(r'name="(stored\.\w+)" value="(\w+)"', (await browser.get(page)).text))}

    old, other = await opened(first), await opened(second)
    assert (await second.post(page, {**other, "minimum": "7.00"})).status_code == 303
    refused = await first.post(page, {**old, "title": "Lakes"})
    assert refused.status_code == 422
    assert "Minimum has changed since you opened this page" in first.text()
    assert re.search(r'name="minimum"[^>]*value="7.00"', refused.text), "what nobody touched is shown as it is now"
    assert re.search(r'name="title"[^>]*value="Lakes"', refused.text), "what was typed stays"
    again = dict(re.findall(r'name="(stored\.\w+)" value="(\w+)"', refused.text))
    assert (await first.post(page, {**kept, **again, "title": "Lakes", "minimum": "7.00"})).status_code == 303
    link = data(await api.get(f"/v1/giving-links/{made['id']}"))
    assert (link["title"], link["minimum"]) == ("Lakes", 700)
    same = await opened(second)
    assert (await second.post(page, {**same, "title": "Lakes", "minimum": "7.00"})).status_code == 303
    await first.close()
    await second.close()


@pytest.mark.parametrize(
    ("colleague", "status"), [({"minimum": 700}, 422), ({"metadata": {"crm": "7"}}, 303)], ids=["same", "no_field"]
)
async def test_a_form_undoes_nothing_that_a_colleague_is_saving(
    colleague: Mapping[str, Any], status: int, service: Service, tenant: Tenant, api: Client
) -> None:
    made = await factories.giving_link(service, api, currencies=["USD"], suggestedAmounts=[1000], minimum=500)
    finance = await desk(service, tenant, "finance")
    page = f"{finance.home}/giving-links/{made['id']}/edit"
    stored = re.findall(r'name="(stored\.\w+)" value="(\w+)"', (await finance.get(page)).text)
    form = {"title": made["title"], "organisationIds": made["organisationIds"], "currencies": "USD"}
    form |= {"suggestedAmounts": "10.00", "minimum": "6.00", "frequencies": ["one_time"], **dict(stored)}
    async with service.db.write() as tx:
        await giving_links.update(
            tx, tenant.partner, uuid_of(service, "givinglink", made["id"]), GivingLinkInput(colleague), None
        )
        pressed = asyncio.create_task(finance.post(page, form))
        await eventually(partial(waits_for_lock, service))
    assert (await pressed).status_code == status, finance.text()
    link = data(await api.get(f"/v1/giving-links/{made['id']}"))
    expected = {"minimum": 600, **colleague}
    assert {name: link[name] for name in expected} == expected
    await finance.close()
