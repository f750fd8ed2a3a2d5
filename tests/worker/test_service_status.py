"""The public status page: what it says, its files, and what is served without a database."""

import asyncio
import json
import os
import stat
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest
from starlette.routing import Router

from almoner.access.people.domain import OPERATORS
from almoner.console import service_status
from almoner.console.health_facts import load_health_check_results
from almoner.console.service_status_page import RenderedStatus, StatusPage, StatusPageRenderer
from almoner.platform.database.connections import ConnectionUnavailable
from almoner.platform.database.transactions import Database, open_pool
from almoner.platform.jobs import queue
from almoner.platform.jobs.processes import Heartbeat
from almoner.platform.observability import incidents
from almoner.platform.observability.deployment_checks import CheckResult
from almoner.platform.observability.incidents import AFFECTED
from almoner.wiring import build_status_page_writer
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.service import Service, serving


async def beat(service: Service, *checks: CheckResult) -> None:
    """A sign of life of a process that serves and works."""
    found = list(checks)
    await Heartbeat(
        service.db, "server and worker", service.services.telemetry, lambda _: None, lambda: found
    ).record_heartbeat()


async def record_checks(service: Service, checks: Sequence[object]) -> None:
    """Checks as a process of another version records them."""
    async with service.db.write() as tx:
        await tx.execute("update process set checks = $1, checked_at = $2", checks, tx.real_now)


async def test_each_part_is_judged_by_kinds_of_jobs_that_exist(service: Service) -> None:
    kinds = {kind.partition(".")[0] for kind in service.services.background_worker.runner._handlers}
    assert kinds >= service_status._PARTS_OF_JOBS.keys()


async def report(service: Service, *affected: str) -> None:
    """An incident of each part."""
    async with service.db.write() as tx:
        for key in affected:
            await incidents.create_incident(tx, "A fault", key, "identified", "We mend it.", "operator")


class CountingRenderer(StatusPageRenderer):
    """Counts how often the status was asked of the database."""

    asked = 0

    async def render(self) -> RenderedStatus:
        self.asked += 1
        return await super().render()


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
            by = tx.ids.encode(OPERATORS.person_id_type, tx.new_id())
            one = await incidents.create_incident(tx, "A <fault>", "webhooks", "investigating", "We look.", by)
        await build_status_page_writer(service.services).write_files()
        page, found = written(service)
        assert stat.S_IMODE((folder / "status.html").stat().st_mode) == 0o644
        assert sorted(file.name for file in folder.iterdir()) == ["status.html", "status.json"]
        assert (found["state"], set(states(found).values())) == ("incident", {"operational"})
        assert "A &lt;fault&gt;" in page
        assert "<script" not in page
        assert "src=" not in page
        for private in (tenant.name, service.db.deployment.ids.encode("partner", tenant.partner.id), by):
            assert private not in page + json.dumps(found)

        service.clock.advance(timedelta(minutes=20))
        async with service.db.write() as tx:
            await incidents.update_incident(tx, one, "resolved", "Done.", by)
            late = tx.now - timedelta(minutes=19, seconds=30)
            for lane in ("one", "two"):
                await queue.enqueue_job(tx, "webhooks.deliver", {}, due_at=late, lane=lane)
            await tx.execute("update queue_lane set paused_until = $1 where lane = 'one'", tx.now + timedelta(hours=1))
            await tx.execute("update job set leased_until = $1 where lane = 'two'", tx.real_now + timedelta(hours=1))
            await queue.enqueue_job(tx, "refunds.send", {}, due_at=late)
        soon = CheckResult("certificate", "warning", "give.example.org: expires on 2026-03-09", "Renew it.")
        await beat(service, CheckResult("mail server", "failed", "no answer"), soon)
        async with service.db.read() as tx:
            lines = {one.name: one.state for one in await load_health_check_results(tx)}
        assert (lines["Mail server"], lines["Certificate"]) == ("failing", "attention")
        response = await service.client(None).get("/status.json")
        assert states(response.json()) == {
            **dict.fromkeys(states(found), "operational"),
            "emails": "outage",
            "payments": "delayed",
        }

        async with service.db.write() as tx:
            still_open = await incidents.create_incident(tx, "Open", "emails", "investigating", "We look.", by)
            newer = await incidents.create_incident(tx, "Newer", "emails", "investigating", "We look.", by)
            await incidents.update_incident(tx, newer, "resolved", "Done.", by)
            shown = await incidents.list_public_incidents(tx, tx.now - timedelta(days=1), 2)
        assert [one.id for one in shown] == [still_open, newer], "open ones first, however old"
        with pytest.raises(asyncpg.CheckViolationError) as refused:
            async with service.db.write() as tx:
                await tx.execute("update incident set resolved_at = null where id = $1", newer)
        assert refused.value.constraint_name == "incident_immutable"


async def test_files_of_others_are_neither_followed_nor_left_behind(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    async with serving(empty_database) as service:
        folder = service.services.settings.status_folder
        target, link = tmp_path / "target", folder / f".status.html.{os.getpid()}"
        target.write_text("kept")
        link.symlink_to(target)
        writer = build_status_page_writer(service.services)
        await writer.write_files()
        assert target.read_text() == "kept"
        link.unlink()
        (folder / "status.html").unlink()
        (folder / "status.html").mkdir()
        with pytest.raises(OSError, match=r"status\.html"):
            await writer.write_files()
        assert sorted(file.name for file in folder.iterdir()) == ["status.html", "status.json"]


async def test_what_another_version_recorded_ends_no_worker(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        await beat(service)
        await report(service, *AFFECTED)
        with pytest.raises(asyncpg.CheckViolationError, match="incident_affected"):
            await report(service, "chatbots")
        owner = await asyncpg.connect(service.database.owner_dsn)
        await owner.execute("alter table incident drop constraint incident_affected")  # by a newer version
        await owner.close()
        await report(service, "chatbots")
        failed = {**asdict(CheckResult("mail server", "failed", "no answer")), "since": "yesterday"}
        await record_checks(service, [failed])
        writer, stop = build_status_page_writer(service.services), asyncio.Event()
        await writer.write_files()
        page, found = written(service)
        assert "Affected: chatbots." in page
        assert states(found)["emails"] == "outage"
        await record_checks(service, [None])
        running = asyncio.create_task(writer.write_files_until_stopped(stop))
        await eventually(lambda: running.done() or any(b"status_failed" in line for line in service.lines))
        stop.set()
        await running


async def test_without_a_connection_the_last_page_is_served(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        db = Database(await open_pool(empty_database.dsn, 2), service.db.deployment, patience=0.05)
        renderer = CountingRenderer(db, frozenset())
        client = Client(Router(StatusPage(renderer).routes()), "http://testserver", None)

        async def texts() -> set[str]:
            return {answer.text for answer in await asyncio.gather(*(client.get("/status") for _ in range(4)))}

        async with db.write(), db.write():
            for _ in range(2):
                with pytest.raises(ConnectionUnavailable):
                    await client.get("/status")
        assert renderer.asked == 1
        service.clock.advance_wall(seconds=30)
        (first,) = await texts()
        assert renderer.asked == 2, "one for all"
        assert "No server is running" in first
        await beat(service)
        assert await texts() == {first}, "kept for seconds"
        assert "script" not in (await client.get("/status")).headers["content-security-policy"]
        service.clock.advance_wall(seconds=30)
        async with db.write(), db.write():
            assert await texts() == {first}
        assert await texts() == {first}
        assert renderer.asked == 3, "not again at once"
        service.clock.advance_wall(seconds=30)
        await beat(service)
        (text,) = await texts()
        assert "Servers are responding" in text
        await client.close()
        await db.close()
