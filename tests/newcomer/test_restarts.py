"""Stopping, killing and starting again: without loss, and nothing stays behind."""

import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

import httpx
import psutil

from tests.newcomer.clones import STOP_SECONDS, Clone


def _call(clone: Clone, method: str, path: str, body: object = None) -> httpx.Response:
    headers = {"Authorization": clone.sandbox()["secretKey"]}
    return httpx.request(method, f"http://localhost:{clone.port}/v1{path}", headers=headers, json=body)


def _make_category(clone: Clone, name: str) -> str:
    answer = _call(clone, "POST", "/categories", {"name": name})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["data"]["id"])


def _is_there(clone: Clone, category: str) -> bool:
    return _call(clone, "GET", f"/categories/{category}").status_code == 200


def _nothing_left(clone: Clone) -> None:
    assert not clone.processes()
    for port in (clone.port, clone.port + 1):
        with socket.create_server(("127.0.0.1", port)):
            pass
    home = str(clone.home())
    for lock in Path("/tmp").glob("almoner-????????/.s.PGSQL.5432.lock"):
        with suppress(OSError):  # a server of somebody else, who may be about to end it
            assert home not in lock.read_text(), f"{lock} was left behind"


def test_ctrl_c_leaves_nothing_and_the_second_start_makes_nothing_anew_and_keeps_the_data(installed: Clone) -> None:
    with installed.started("make", "run") as started:
        started.until("Ready after")
        category = _make_category(installed, "kept over a restart")
        keys = installed.sandbox()
        started.interrupt()
        assert "Stopped." in started.printed
    _nothing_left(installed)
    with installed.started("make", "run") as started:
        started.until("Ready after")
        assert not [made for made in ("Installing", "database: applied") if made in started.printed]
        assert installed.sandbox() == keys
        assert _is_there(installed, category)


def test_killed_alone_and_then_with_everything_it_finds_its_data_again_and_sigterm_stops_it(installed: Clone) -> None:
    with installed.started("make", "run") as started:
        started.until("Ready after")
        category = _make_category(installed, "kept over a kill")
        os.killpg(started.process.pid, signal.SIGKILL)
        started.process.wait(STOP_SECONDS)
    with installed.started("make", "run") as started:
        started.until("Ready after")
        assert _is_there(installed, category)
        another = _make_category(installed, "kept over a kill of all")
        victims = installed.processes()
        assert any("postgres" in process.name() for process in victims)
        for process in victims:
            with suppress(psutil.NoSuchProcess):  # the others end when PostgreSQL's first process has gone
                process.kill()
        psutil.wait_procs(victims, STOP_SECONDS)
        started.process.wait(STOP_SECONDS)
    with installed.started(".venv/bin/almoner", "run") as started:  # as a service manager starts and stops it
        started.until("Ready after")
        assert _is_there(installed, category)
        assert _is_there(installed, another)
        started.process.terminate()
        started.process.wait(STOP_SECONDS)
    _nothing_left(installed)
