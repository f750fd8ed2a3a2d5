"""What a newcomer sees: from a clone to a service that answers, whoever and wherever they are, and starts again."""

import asyncio
import os
import re
import signal
import socket
import stat
import subprocess
import urllib.request
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from tests.newcomer import clones
from tests.newcomer.clones import STOP_SECONDS, Clone, Started
from tests.support.browsing import localhost_cookies
from tests.support.eventually import eventually

SANDBOX_KEYS = [
    "baseUrl",
    "publishableKey",
    "secretKey",
    "secondSecretKey",
    "scimKey",
    "partnerId",
    "mailboxUrl",
    "consoleUrl",
    "dashboardUrl",
    "logins",
]


def test_from_a_first_start_below_a_private_folder_nothing_is_lost_or_left_over_stops_and_kills(
    installed: Clone,
) -> None:
    assert len(str(installed.path)) == 150
    above = [folder for folder in installed.path.parents if folder != Path("/tmp")]
    modes = {folder: folder.stat().st_mode for folder in above}
    with installed.started("make", "run") as started:
        started.until("Ready after")
        _answers_as_promised(installed, started)
        _six_lines_of_the_readme(installed)
        _gift_aid_of_the_guide(installed)
        category, keys = _make_category(installed, "kept over a restart"), installed.sandbox()
        started.interrupt()
        assert "Stopped." in started.printed
    assert {folder: folder.stat().st_mode for folder in above} == modes  # no parent was opened for the database
    _nothing_left(installed)
    with installed.started("make", "run") as started:
        started.until("Ready after")
        assert not [made for made in ("Installing", "database: applied") if made in started.printed]
        assert installed.sandbox() == keys
        assert _is_there(installed, category)
        os.killpg(started.process.pid, signal.SIGKILL)
        started.process.wait(STOP_SECONDS)
    another = _killed_with_everything(installed, category)
    with installed.started(".venv/bin/almoner", "run") as started:  # as a service manager starts and stops it
        started.until("Ready after")
        assert _is_there(installed, category)
        assert _is_there(installed, another)
        started.process.terminate()
        started.process.wait(STOP_SECONDS)
    _nothing_left(installed)


def _killed_with_everything(clone: Clone, category: str) -> str:
    """Start where it was killed alone, and kill it with all that it has started; a category made in between."""
    with clone.started("make", "run") as started:
        started.until("Ready after")
        assert _is_there(clone, category)
        another = _make_category(clone, "kept over a kill of all")
        victims = clone.processes()
        assert any("postgres" in process.name() for process in victims)
        for process in victims:
            with suppress(psutil.NoSuchProcess):  # the others end when PostgreSQL's first process has gone
                process.kill()
        psutil.wait_procs(victims, STOP_SECONDS)
        started.process.wait(STOP_SECONDS)
    return another


@pytest.mark.long
def test_a_first_start_installs_below_a_private_folder(place: Path) -> None:
    clone = clones.private(place / "installing")
    try:
        with clone.started("make", "run") as started:
            started.until("Ready after")
            assert "Installing" in started.printed
            _answers_as_promised(clone, started)
    finally:
        clone.remove()


def test_first_start_of_an_ordinary_user_and_make_clean_which_removes_all_that_it_made(ordinary: Clone) -> None:
    with ordinary.started("make", "run") as started:
        started.until("Ready after")
        _answers_as_promised(ordinary, started)
        made_by = {path.owner() for path in (ordinary.path / "var").iterdir()}
        refused = ordinary.run("make", "clean")
        assert "stop it first" in refused.stdout
        assert ordinary.sandbox_file.exists()
    assert made_by == {ordinary.path.owner()}
    assert not ordinary.processes()
    assert ordinary.run("make", "clean").returncode == 0
    assert not (ordinary.path / "var").exists()


def _call(clone: Clone, method: str, path: str, body: object = None) -> httpx.Response:
    headers = {"Authorization": clone.sandbox()["secretKey"]}
    return httpx.request(method, f"http://localhost:{clone.port}/v1{path}", headers=headers, json=body, timeout=30)


def _make_category(clone: Clone, name: str) -> str:
    answer = _call(clone, "POST", "/categories", {"name": name})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["data"]["id"])


def _is_there(clone: Clone, category: str) -> bool:
    return _call(clone, "GET", f"/categories/{category}").status_code == 200


def _nothing_left(clone: Clone) -> None:
    asyncio.run(eventually(lambda: not clone.processes()))
    for port in (clone.port, clone.port + 1):
        with socket.create_server(("127.0.0.1", port)):
            pass
    home = str(clone.home())
    for lock in Path("/tmp").glob("almoner-????????/.s.PGSQL.5432.lock"):
        with suppress(OSError):  # a server of somebody else, who may be about to end it
            assert home not in lock.read_text(), f"{lock} was left behind"


def _answers_as_promised(clone: Clone, started: Started) -> None:
    """The pages, the keys, and the curl line as printed, pasted into a shell."""
    sandbox = clone.sandbox()
    assert list(sandbox) == SANDBOX_KEYS
    assert stat.S_IMODE(clone.sandbox_file.stat().st_mode) == 0o600
    for name in ("publishableKey", "secretKey", "secondSecretKey"):
        assert sandbox[name] in started.printed
    for family in ("127.0.0.1", "[::1]"):
        assert urllib.request.urlopen(f"http://{family}:{started.port}/readyz").status == 200
    section = started.printed.partition("\nOpen\n")[2].partition("Try")[0]
    pages = re.findall(r"http://\S+", section)
    assert pages
    for page in pages:
        assert urllib.request.urlopen(page).status == 200, page
    line = re.search(r"^ *(curl .*)$", started.printed, re.MULTILINE)
    assert line is not None
    answer = subprocess.run(["/bin/sh", "-c", line[1]], capture_output=True, text=True, check=True).stdout
    assert '"registryName"' in answer
    assert '"totalResults":0' not in answer.replace(" ", "")


def _six_lines_of_the_readme(clone: Clone) -> None:
    """The donation of the README, in a plain shell, in the clone."""
    block = (clone.path / "README.md").read_text().partition("## Make a test donation")[2].split("```")[1]
    lines = block.removeprefix("sh\n").replace("localhost:8080", f"localhost:{clone.port}")
    assert sum("curl " in line for line in lines.splitlines()) == 6
    reported = clone.run("/bin/sh", "-euc", lines)
    assert reported.returncode == 0, reported.stdout
    assert '"status":"RECEIVED_PAYMENT"' in reported.stdout
    assert '"eventType":"donation.created"' in reported.stdout
    assert '"object":"error"' not in reported.stdout


def _gift_aid_of_the_guide(clone: Clone) -> None:
    """The session in pounds of the guide, in the clone: its page offers Gift Aid."""
    block = (
        (clone.path / "docs/guides/gift-aid.md").read_text().partition("## See it in the sandbox")[2].split("```")[1]
    )
    made = clone.run("/bin/sh", "-euc", block.removeprefix("sh\n").replace("localhost:8080", f"localhost:{clone.port}"))
    found = re.search(r'"url":"([^"]+)"', made.stdout)
    assert found is not None, made.stdout
    page = (
        urllib.request.build_opener(urllib.request.HTTPCookieProcessor(localhost_cookies()))
        .open(found[1])
        .read()
        .decode()
    )
    assert 'name="gift_aid"' in page
