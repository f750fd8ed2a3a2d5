"""The dashboard's pages of webhook endpoints and their deliveries."""

import re

from almoner.webhooks.subscriptions import service as webhook_subscriptions
from tests.support.client import Client, data
from tests.support.members import desk
from tests.support.service import Service, Tenant

URL, EVENTS = "http://127.0.0.1:9/hooks", ["validation_invite.expired"]


async def test_deliveries_are_filtered_by_status_and_a_wrong_page_is_refused(
    service: Service, tenant: Tenant, api: Client
) -> None:
    hook = data(await api.post("/v1/webhook-subscriptions", {"url": URL, "events": EVENTS}))
    await api.post(f"/v1/webhook-subscriptions/{hook['id']}/test")
    developer = await desk(service, tenant, "developer")
    page = f"{developer.home}/webhooks/{hook['id']}"
    tabs = re.findall(rf"{page}\?status=\w+", (await developer.get(page)).text)
    assert {tab.rpartition("=")[2] for tab in tabs} == {"pending", "succeeded", "failed", "cancelled"}
    shown = {tab: await developer.get(tab) for tab in tabs}
    assert {answer.status_code for answer in shown.values()} == {200}
    assert [tab for tab in shown if "webhook_subscription.test" in shown[tab].text] == [f"{page}?status=pending"]
    astray = await developer.get(f"{page}?cursor=x")
    assert (astray.status_code, "Cursor is not a cursor of this service." in developer.text()) == (400, True)
    assert 'lang="en" dir="ltr">Cursor is' in astray.text
    await developer.close()


async def test_every_endpoint_has_its_page(service: Service, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        made = [(await webhook_subscriptions.create(tx, tenant.partner, URL, EVENTS)).id for _ in range(101)]
    developer = await desk(service, tenant, "developer")
    oldest = service.db.deployment.ids.encode("webhooksubscription", made[0])
    assert oldest in (await developer.get(f"{developer.home}/webhooks")).text
    assert (await developer.get(f"{developer.home}/webhooks/{oldest}")).status_code == 200
    home = f"{developer.home}/home"
    assert "Failing webhook endpoints" not in (await developer.get(home)).text
    async with service.db.write() as tx:
        await webhook_subscriptions.suspend(tx, tenant.partner, made[0])
    assert re.search(r"Failing webhook endpoints</a></p><p>1</p>", (await developer.get(home)).text)
    await developer.close()
