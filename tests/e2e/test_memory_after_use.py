"""What `almoner run` holds at rest after use, with PostgreSQL (PSS); how soon a server listens and is ready."""

import itertools
import socket
import threading
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from tests.support import running
from tests.support.browsing import localhost_cookies
from tests.support.database import TestDatabase
from tests.support.figures import Figures
from tests.support.running import ALMONER, Running, free_port
from tests.support.service import serving

pytestmark = [pytest.mark.soak, pytest.mark.long]
MINUTES = 60
MOST_MEMORY = 300
REST_SECONDS = 400
"""Connections are replaced after five minutes, and freed memory is returned every minute."""
LISTENS, READY = 2.0, 5.0


def held(process: int) -> dict[str, float]:
    """MB by kind of process, of all that it started and of the embedded server's: shared pages are parted."""
    found = {"almoner": 0.0, "postgres": 0.0}
    data = psutil.Process(process).environ()["ALMONER_DATA_DIR"]
    servers = [one for one in psutil.process_iter(["cmdline"]) if data in " ".join(one.info["cmdline"] or ())]
    roots = [psutil.Process(process), *servers]
    for one in dict.fromkeys(one for root in roots for one in (root, *root.children(recursive=True))):
        with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
            lines = Path(f"/proc/{one.pid}/smaps_rollup").read_text().splitlines()
            kind = "postgres" if one.name().startswith("postgres") else "almoner"
            found[kind] += next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return found


def use(service: Running, seconds: float) -> int:
    """Searches, gifts with receipts, pages, lists and uploads, some ten a second: how many answers there were."""
    ends, answers, pause = time.monotonic() + seconds, 0, threading.Event()
    headers = {"Authorization": service.secret_key}
    with httpx.Client(base_url=service.base_url, headers=headers, timeout=30) as client:
        found = client.get(
            "/v1/organisations", params={"query": "relief", "countryCode": "USA", "acceptsDonations": True}
        ).json()["data"]
        for number in itertools.count():
            organisation = found[number % len(found)]["id"]
            session = client.post("/v1/donation-sessions", json={"organisationId": organisation}).json()["data"]
            donor_browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(localhost_cookies()))
            page = donor_browser.open(session["url"], timeout=30)
            gift = {"id": session["id"], "action": "donate", "amount": 2500, "currencyCode": "USD"}
            donor = {"firstName": "Ada", "lastName": "Example", "email": f"ada{number}@example.org"}
            given = client.post("/v1/sandbox/simulate", json=gift | donor)
            assert (page.status, given.status_code) == (200, 200), given.text
            words = ("food bank", "marthas tabel", "humane", "red cros")[number % 4]
            for path in (
                f"/v1/organisations?query={words}",
                "/v1/donations",
                "/v1/events",
                "/account/sign-in",
                "/docs/",
            ):
                answers += client.get(path).status_code in (200, 303, 404)
            answers += 3
            if time.monotonic() > ends:
                return answers
            pause.wait(0.3)
    raise AssertionError


def test_memory_after_use(figures: Figures, request: pytest.FixtureRequest) -> None:
    minutes = request.config.getoption("--minutes") or figures.count(1, MINUTES)
    with running.folder("memory") as folder, running.running(folder / "data", rate_limit_secret="1000/1000") as service:
        first = held(service.process.pid)
        answers = use(service, minutes * 60)
        used = held(service.process.pid)
        after = at_rest(service)
    figures.write(
        "memory",
        "Memory of a sandbox with PostgreSQL",
        "`almoner run` with its sample registers and the embedded PostgreSQL; proportional set size of all processes",
        f"after the start: {shown(first)}",
        f"at the end of {minutes:.0f} minutes and {answers:,} answers (gifts with receipts, searches, lists, pages): "
        f"{shown(used)}",
        f"{REST_SECONDS} seconds later: {shown(after)} (aim {MOST_MEMORY})",
    )
    assert sum(after.values()) <= MOST_MEMORY


def at_rest(service: Running) -> dict[str, float]:
    """What is held when nobody has asked for anything for a while; the worker goes on."""
    threading.Event().wait(REST_SECONDS)
    return held(service.process.pid)


def shown(found: dict[str, float]) -> str:
    """In words."""
    parts = f"Almoner {found['almoner']:.0f} MB, PostgreSQL {found['postgres']:.0f} MB"
    return f"{parts}, together {sum(found.values()):.0f} MB"


async def test_a_server_listens_and_is_ready_soon(
    empty_database: TestDatabase, figures: Figures, tmp_path: Path
) -> None:
    async with serving(empty_database) as service:
        key = service.master_key
    took = [started(empty_database, tmp_path, key) for _ in range(figures.count(1, 5))]
    listens, ready = (min(one[place] for one in took) for place in (0, 1))
    figures.write(
        "starts",
        "From a start to the first answer",
        f"`almoner serve` over a migrated PostgreSQL, the least of {len(took)} starts: listens after {listens:.1f} s "
        f"(aim {LISTENS:.0f}), `/readyz` is 200 after {ready:.1f} s (aim {READY:.0f}), with pools and search warm",
    )
    assert listens <= LISTENS
    assert ready <= READY


def started(database: TestDatabase, folder: Path, key: str) -> tuple[float, float]:
    """Seconds until the port takes connections, and until the server is ready."""
    port, began = free_port(), time.monotonic()
    given = {"ALMONER_DATABASE_URL": database.dsn, "ALMONER_MASTER_KEY": key, "ALMONER_PORT": str(port)}
    given |= {"ALMONER_DATA_DIR": str(folder), "ALMONER_HOST": "127.0.0.1", "PATH": "/usr/bin:/bin"}
    with psutil.Popen([ALMONER, "serve"], env=given, stderr=-3) as process:
        listens = None
        while listens is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                listens = time.monotonic() - began
        while True:
            with suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=20).status_code == 200:
                    break
        ready = time.monotonic() - began
        process.terminate()
    return listens, ready
