"""kill -9 between a receipt's number and its mail: the same number goes out, and none is lost (spec 4.8)."""

import asyncio
import json
import signal
from typing import Any

from almoner.kit.time import iso_timestamp
from tests.support import factories, forks
from tests.support.client import Client, data
from tests.support.service import Service, Tenant


async def killed(service: Service, tenant: Tenant, donation: dict[str, Any]) -> None:
    """Run the process that dies."""
    key = service.services.settings.master_key
    assert key is not None
    task = {
        "dsn": service.database.dsn,
        "now": iso_timestamp(service.clock.now()),
        "links": service.db.deployment.base_urls.pages,
        "master_key": key.get_secret_value(),
        "partner": str(tenant.partner.id),
        "donation": str(service.db.deployment.ids.decode("donation", donation["id"])),
    }
    status, printed = await asyncio.to_thread(forks.run, ("-m", "tests.chaos.mailing", json.dumps(task)), {})
    assert status == -signal.SIGKILL, printed


async def test_a_receipt_that_died_before_its_mail_is_sent_with_its_number(
    service: Service, api: Client, tenant: Tenant
) -> None:
    made = [await factories.donation(service, api) for _ in range(3)]
    await killed(service, tenant, made[2])
    await killed(service, tenant, made[2])
    assert data(await api.get("/v1/sandbox/mailbox")) == []
    await service.drain()
    mails = data(await api.get("/v1/sandbox/mailbox"))
    numbers = {one["id"]: next(mail["text"] for mail in mails if one["id"] in mail["text"]) for one in made}
    assert len(mails) == 3
    assert "000001" in numbers[made[2]["id"]]
    async with service.db.read() as tx:
        rows = await tx.fetch("select number from receipt where partner_id = $1 order by number", tenant.partner.id)
    assert [row["number"] for row in rows] == [1, 2, 3]
