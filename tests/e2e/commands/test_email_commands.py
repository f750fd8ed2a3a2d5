"""`almoner emails` as people type it: what a mail server rejected is seen, and sent again to the right address."""

import json
from pathlib import Path

import pytest

from almoner.giving.receipts.jobs import RECEIPT
from almoner.kit.time import iso_timestamp
from almoner.platform.jobs.queue import JobDone, JobResultRecorded
from almoner.platform.outbound.mail import Mail, MailRefused
from tests.support import emails, factories
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.terminal import Type, in_process, operator


class Rejecting:
    """A mail server that knows nobody."""

    async def send(self, mail: Mail) -> None:
        """Reject it."""
        raise MailRefused(f"550 5.1.1 {mail.to}: user unknown")


@pytest.fixture
async def almoner(service: Service, tmp_path: Path) -> Type:
    """An administrator's terminal."""
    return in_process(service, tmp_path, await operator(service, "administrator", name="Olive"))


async def test_a_rejected_email_is_listed_and_sent_again(service: Service, api: Client, almoner: Type) -> None:
    made = await factories.donation(service, api, email="ada@nowhere.example")
    record = data(await api.get(f"/v1/donations/{made['id']}"))
    assert (await almoner("emails", "list", "--json"))[1].strip() == "[]"
    async with service.db.read() as tx:
        row = await tx.fetchrow(
            "select id, partner_id from donation where id = $1", tx.ids.decode("donation", record["id"])
        )
    assert row is not None
    payload = {"id": str(row["id"]), "partner": str(row["partner_id"]), "received": iso_timestamp(service.clock.now())}
    sent = await emails.send(service.db, RECEIPT, Rejecting(), payload, service.clock.now())
    assert sent == JobResultRecorded(JobDone())
    [listed] = json.loads((await almoner("emails", "list", "--json"))[1])
    assert (listed["kind"], listed["recipient"], listed["rejected"]) == ("receipts.send", "ada@nowhere.example", "yes")
    assert "user unknown" in listed["reason"]
    status, said = await almoner("emails", "resend", listed["email"])
    assert (status, said.strip()) == (0, "A background worker will send the email again.")
    before = len(data(await api.get("/v1/sandbox/mailbox", to="ada@nowhere.example")))
    await service.drain()
    assert len(data(await api.get("/v1/sandbox/mailbox", to="ada@nowhere.example"))) == before + 1
    status, said = await almoner("emails", "resend", listed["email"])
    assert (status, "is not in `almoner emails list`" in said) == (2, True)
