"""The public status page: what it says, its files, and what is served without a database."""

import json
import stat
from datetime import timedelta

from starlette.routing import Router

from almoner.access.people.domain import OPERATORS
from almoner.console.health_facts import load_lines
from almoner.console.service_status_page import StatusPage, StatusRenderer
from almoner.platform.database.transactions import Database, open_pool
from almoner.platform.jobs import queue
from almoner.platform.jobs.processes import Heartbeat
from almoner.platform.observability import incidents
from almoner.platform.observability.deployment_checks import CheckResult
from almoner.wiring import build_status_writer
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.service import Service, serving


async def beat(service: Service, *checks: CheckResult) -> None:
    """A sign of life of a process that serves and works."""
    found = list(checks)
    await Heartbeat(service.db, "server and worker", service.services.telemetry, lambda _: None, lambda: found).beat()


def written(service: Service) -> tuple[str, dict[str, object]]:
    """The page and what its JSON says of each part."""
    folder = service.services.settings.status_folder
    return (folder / "status.html").read_text(), json.loads((folder / "status.json").read_text())


def states(found: dict[str, object]) -> dict[str, str]:
    """The state of each part."""
    assert isinstance(found["parts"], list)
    return {one["part"]: one["state"] for one in found["parts"]}


async def test_the_files_say_how_the_service_does_and_nothing_of_partners(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        tenant = await service.tenant()
        folder = service.services.settings.status_folder
        await beat(service)
        async with service.db.write() as tx:
            by = tx.ids.text(OPERATORS.id_type, tx.new_id())
            one = await incidents.create_incident(tx, "A <fault>", "webhooks", "investigating", "We look.", by)
        await build_status_writer(service.services).write()
        page, found = written(service)
        assert stat.S_IMODE((folder / "status.html").stat().st_mode) == 0o644
        assert sorted(file.name for file in folder.iterdir()) == ["status.html", "status.json"]
        assert (found["state"], set(states(found).values())) == ("incident", {"operational"})
        assert "A &lt;fault&gt;" in page
        assert "<script" not in page
        assert "src=" not in page
        for private in (tenant.name, service.db.deployment.ids.text("partner", tenant.partner.id), by):
            assert private not in page + json.dumps(found)

        service.clock.advance(timedelta(minutes=20))
        async with service.db.write() as tx:
            await incidents.update_incident(tx, one, "resolved", "Done.", by)
            late = tx.now - timedelta(minutes=19, seconds=30)
            for lane in ("one", "two"):
                await queue.enqueue_job(tx, "webhooks.deliver", {}, due=late, lane=lane)
            await tx.execute("update queue_lane set paused_until = $1 where lane = 'one'", tx.now + timedelta(hours=1))
            await tx.execute("update job set leased_until = $1 where lane = 'two'", tx.real_now + timedelta(hours=1))
            await queue.enqueue_job(tx, "refunds.send", {}, due=late)
        soon = CheckResult("certificate", "warning", "give.example.org: expires on 2026-03-09", "Renew it.")
        await beat(service, CheckResult("mail server", "failed", "no answer"), soon)
        async with service.db.read() as tx:
            lines = {one.name: one.state for one in await load_lines(tx)}
        assert (lines["Mail server"], lines["Certificate"]) == ("failing", "attention")
        response = await service.client(None).get("/status.json")
        assert states(response.json()) == {
            **dict.fromkeys(states(found), "operational"),
            "emails": "outage",
            "payments": "delayed",
        }


async def test_without_a_connection_the_last_page_is_served(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        db = Database(await open_pool(empty_database.dsn, 2), service.db.deployment, patience=0.05)
        client = Client(Router(StatusPage(StatusRenderer(db, frozenset())).routes()), "http://testserver", None)
        first = await client.get("/status")
        assert "No server is running" in first.text
        assert "script" not in first.headers["content-security-policy"]
        await beat(service)
        assert (await client.get("/status")).text == first.text, "kept for seconds"
        service.clock.advance_wall(seconds=30)
        async with db.write(), db.write():
            assert (await client.get("/status")).text == first.text
        await beat(service)
        assert "Servers are answering" in (await client.get("/status")).text
        await client.close()
        await db.close()
