"""A worker's own port: health, readiness, and the metrics that only a worker has (O7)."""

import asyncio
import json
import re
import signal
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from almoner.platform.observability.deployment_checks import CheckResult, DependencyMonitor
from almoner.platform.observability.telemetry import Telemetry
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.running import free_port
from tests.support.service import Service, serving
from tests.support.terminal import terminal
from tests.support.workers import start_worker

FINISHED = r'almoner_jobs_total\{[^}]*"documents.delete_orphaned"[^}]*\} [1-9]'
FAILED = 'almoner_check_failed{check="mail server"} 1.0'


@pytest.fixture
async def service(empty_database: TestDatabase) -> AsyncIterator[Service]:
    """A service of its own."""
    async with serving(empty_database) as made:
        yield made


async def test_a_worker_shows_its_health_and_metrics(service: Service, tmp_path: Path) -> None:
    port = free_port()
    nobody = {"MAIL_URL": f"smtp://127.0.0.1:{free_port()}", "MAIL_FROM": "Giving <giving@example.org>"}
    process = start_worker(service, tmp_path, WORKER_PORT=str(port), HOST="127.0.0.1", **nobody)
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:

            async def shown(path: str) -> httpx.Response | None:
                try:
                    return await client.get(path)
                except httpx.TransportError:
                    return None

            async def counted() -> bool:
                answer = await shown("/metrics")
                return answer is not None and FAILED in answer.text and re.search(FINISHED, answer.text) is not None

            await eventually(counted, within=60)
            metrics = (await client.get("/metrics")).text
            for name in ("almoner_deliveries_total", "almoner_selfcheck_findings", "almoner_queue_jobs"):
                assert f"# HELP {name.removesuffix('_total')}" in metrics
            assert (await client.get("/healthz")).json() == {"status": "ok"}
            ready = await client.get("/readyz")
            assert (ready.status_code, ready.json()["status"]) == (200, "ok")
            verbose = (await client.get("/readyz?verbose")).json()
            assert set(verbose["checks"].values()) == {"ok"}
            parts = {one["name"]: one for one in verbose["parts"]}
            assert parts["mail server"]["status"] == "failed"
            assert parts["mail server"]["advice"] == "Correct ALMONER_MAIL_URL and ALMONER_MAIL_FROM."
            assert parts["document storage"]["status"] == "ok"
            metrics = (await client.get("/metrics")).text
            assert FAILED in metrics
            assert 'almoner_check_failed{check="document storage"} 0.0' in metrics
            assert (await client.get("/v1/organisations")).status_code == 404
            assert (await client.get("/openapi.json")).status_code == 404
    finally:
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 60) == 0
    lines = [line for line in (tmp_path / "worker.log").read_text().splitlines() if '"check_failed"' in line]
    assert len(lines) == 1
    assert json.loads(lines[0])["check"] == "mail server"


async def test_a_warning_is_logged_for_each_host_and_measured(service: Service) -> None:
    lines: list[bytes] = []
    telemetry = Telemetry(lines.append)
    found = [CheckResult("certificate", "warning", "expires", "Renew it.", host) for host in ("api", "give")]

    async def certificates() -> list[CheckResult]:
        return found

    watch = DependencyMonitor([("certificate", "Renew it.", certificates)], service.db.deployment, telemetry)

    async def logged() -> set[tuple[str, str]]:
        lines.clear()
        await watch.run_probes_once()
        return {(one["event"], one["host"]) for one in map(json.loads, lines)}

    assert await logged() == {("check_warning", "api"), ("check_warning", "give")}
    assert await logged() == set()
    assert b'almoner_check_warning{check="certificate"} 1.0' in telemetry.render_metrics()
    found = [replace(found[0], status="ok"), replace(found[1], status="failed")]
    assert await logged() == {("check_ok", "api"), ("check_failed", "give")}
    assert b'almoner_check_warning{check="certificate"} 0.0' in telemetry.render_metrics()
    assert b'almoner_check_failed{check="certificate"} 1.0' in telemetry.render_metrics()


async def test_a_busy_port_of_a_worker_is_named(service: Service, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, said = await terminal(service, tmp_path, worker_port=str(port), host="127.0.0.1")("worker")
    assert status == 1
    assert said.startswith(f"Port {port} (ALMONER_WORKER_PORT) is in use: ")
    assert "ALMONER_WORKER_PORT=" in said
