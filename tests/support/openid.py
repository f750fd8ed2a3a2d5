"""A real OpenID provider (oidc-provider-mock) as a process on this machine."""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from tests.support.eventually import eventually
from tests.support.running import free_port

STOP_SECONDS = 20.0
PATIENCE_SECONDS = 60.0
"""On a busy machine, its pages take longer than the five seconds that the client would wait."""
_TOKENS_LIVE = "864000"  # the service's clock may be ahead of the provider's


@dataclass(frozen=True, slots=True)
class OpenIdProvider:
    """The running provider. It accepts any client, and signs in anybody entered in its form."""

    issuer: str

    async def knows(self, subject: str, **claims: Any) -> None:
        """Set the claims of a person."""
        async with httpx.AsyncClient(verify=False, timeout=PATIENCE_SECONDS) as client:
            (await client.put(f"{self.issuer}/users/{quote(subject)}", json=claims)).raise_for_status()

    async def sign_in(self, url: str, subject: str) -> str:
        """Fill in its form; returns the URL to which it redirects the browser back."""
        async with httpx.AsyncClient(verify=False, timeout=PATIENCE_SECONDS) as client:
            return str((await client.post(url, data={"sub": subject})).headers["location"])

    async def decline(self, url: str) -> str:
        """Decline in its form."""
        async with httpx.AsyncClient(verify=False, timeout=PATIENCE_SECONDS) as client:
            return str((await client.post(url, data={"action": "deny"})).headers["location"])


@asynccontextmanager
async def openid_provider(*people: dict[str, Any]) -> AsyncIterator[OpenIdProvider]:
    """The provider until the block ends; ``people`` are claims, including ``sub``."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port), "--host", "127.0.0.1"]
    command += ["--token-max-age", _TOKENS_LIVE]
    for person in people:
        command += ["--user-claims", json.dumps(person)]
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
        try:
            made = OpenIdProvider(f"http://127.0.0.1:{port}")

            async def answers() -> bool:
                assert process.returncode is None, "the provider ended"
                try:
                    async with httpx.AsyncClient(verify=False) as client:
                        found = await client.get(f"{made.issuer}/.well-known/openid-configuration")
                except httpx.TransportError:
                    return False
                return bool(found.json()["issuer"] == made.issuer)

            await eventually(answers, within=60)
            yield made
        finally:
            process.terminate()
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
