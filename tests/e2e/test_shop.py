"""The example shops beside the sandbox: a nonprofit is picked, somebody gives, a webhook comes, the gift goes back."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import httpx
import pytest
from almoner_client import Almoner

from tests.support.eventually import eventually
from tests.support.running import Running, free_port

PROJECT = Path(__file__).parents[2]
EXAMPLES = PROJECT / "examples" / "shop"


@contextmanager
def shop(sandbox: Running, *command: str, folder: Path = PROJECT) -> Iterator[str]:
    """A running shop; its address."""
    port = free_port()
    environment = os.environ | {
        "ALMONER_API_KEY": sandbox.secret_key,
        "ALMONER_BASE_URL": sandbox.base_url,
        "PYTHONPATH": str(PROJECT / "clients" / "python" / "src"),
        "SHOP_PORT": str(port),
    }
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert f"http://localhost:{port}" in line, line
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


async def shop_at(address: str, sandbox: Running) -> None:
    """What a visitor does."""
    with Almoner(sandbox.secret_key, base_url=sandbox.base_url) as client:
        async with httpx.AsyncClient(base_url=address, trust_env=False) as http:
            found = (await http.get("/", params={"words": "marthas tabel"})).text
            organisation = re.findall(r"name=id value=(\w+)", found)[0]
            answer = await http.post("/give", data={"id": organisation})
            assert answer.status_code == 303, answer.text
            session = next(one.id for one in client.donation_sessions.list() if one.url == answer.headers["location"])
            client.sandbox.simulate(id=session, action="donate", amount=2500, first_name="Ada", email="ada@example.org")
            donation = str(client.donation_sessions.get(session).donation_id)

            async def page_shown(*, refundable: bool) -> str:
                page = unescape((await http.get("/")).text)
                assert (f"action=/refund style=display:inline><button name=id value={donation}>" in page) is refundable
                return page

            assert "donation.payment_successful" in await eventually(lambda: page_shown(refundable=True))
            assert (await http.post("/webhooks", content=b"{}")).status_code == 400
            assert (await http.post("/refund", data={"id": donation})).status_code == 303
            assert "donation.refunded" in await eventually(lambda: page_shown(refundable=False))
            assert client.donations.get(donation).refunded_amount == 2500


async def test_the_shop_in_python(sandbox: Running) -> None:
    with shop(sandbox, sys.executable, str(EXAMPLES / "python" / "shop.py")) as address:
        await shop_at(address, sandbox)


@pytest.mark.long
def test_the_shop_in_typescript(sandbox: Running, tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("node_modules", "build", "dist")
    for folder in ("examples/shop/typescript", "clients/typescript"):
        shutil.copytree(PROJECT / folder, tmp_path / folder, ignore=ignored)
    place = tmp_path / "examples" / "shop" / "typescript"
    subprocess.run(["npm", "run", "build"], cwd=place, check=True)
    with shop(sandbox, "node", "build/shop.js", folder=place) as address:
        asyncio.run(shop_at(address, sandbox))
