"""``localstripe``, a third-party stand-in for Stripe, as a program of its own on loopback, and a proxy in front of it.

It has no Checkout. The proxy adds the three missing calls: a Checkout Session for one of its PaymentIntents
(``cs_test_`` and the intent's ID), the amount that an intent has received, and the charges of one intent. Everything
else, such as refunds and errors, is passed on unchanged.
"""

import asyncio
import socket
import sys
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import stripe
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.stripe_account import MARK, SECRET

KEY = "sk_test_localstripe"
ALLOWED = "3"
_SESSION = "cs_test_"
_PEERS = Path(sysconfig.get_path("data")) / "peers"
# As its own command starts it, but on loopback only, without its file in /tmp, and with its own packages only.
_PROGRAM = """
import socket, sys
sys.path.insert(0, sys.argv[2])
from aiohttp import web
from localstripe import resources, server
resources.Store.dump_to_disk = lambda store: None
web.run_app(server.app, sock=socket.socket(fileno=int(sys.argv[1])), access_log=None, print=None)
"""


@dataclass(slots=True)
class LocalStripe:
    """``url``: the proxy. ``direct``: the program itself. ``notices``: (headers, body) of webhooks that it sent."""

    url: str
    direct: str
    http: httpx.AsyncClient
    notices: asyncio.Queue[tuple[dict[str, str], bytes]] = field(default_factory=asyncio.Queue)

    async def pay(self, minor: int, currency: str, card: str = "4242424242424242") -> str:
        """Pay as a donor, or try to; returns the ID of the Checkout Session."""
        method = await self._post("payment_methods", {"type": "card", **_card(card)})
        asked = {"amount": str(minor), "currency": currency, "payment_method": method["id"]}
        intent = await self._post("payment_intents", asked)
        await self._post(f"payment_intents/{intent['id']}/confirm", {}, fine=(200, 402))
        return _SESSION + str(intent["id"])

    async def shown(self, path: str) -> dict[str, Any]:
        """An object as it returns it."""
        answer = await self.http.get(f"{self.direct}/v1/{path}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def refunds(self, session: str) -> list[dict[str, Any]]:
        """The refunds of a payment."""
        return list((await self.shown(f"refunds?payment_intent={intent_of(session)}"))["data"])

    async def listen(self) -> None:
        """Register the proxy's webhook endpoint."""
        asked = {"url": f"{self.url}/webhook", "secret": SECRET}
        answer = await self.http.post(f"{self.direct}/_config/webhooks/here", json=asked)
        assert answer.status_code == 200, answer.text

    async def _post(self, path: str, sent: dict[str, str], *, fine: tuple[int, ...] = (200,)) -> dict[str, Any]:
        answer = await self.http.post(f"{self.direct}/v1/{path}", data=sent)
        assert answer.status_code in fine, answer.text
        return dict(answer.json())

    async def session(self, request: Request) -> Response:
        """The Checkout Session for an intent."""
        found = await self.http.get(f"{self.direct}/v1/payment_intents/{intent_of(request.path_params['id'])}")
        if found.status_code != 200:
            return _as_it_is(found)
        intent = found.json()
        paid = intent["status"] == "succeeded"
        return JSONResponse(
            {
                "id": request.path_params["id"],
                "object": "checkout.session",
                "status": "complete" if paid else "open",
                "payment_status": "paid" if paid else "unpaid",
                "amount_total": intent["amount"],
                "currency": intent["currency"],
                "livemode": intent["livemode"],
                "metadata": {"almoner": "reference", "almoner_deployment": MARK, "almoner_tries": ALLOWED},
                "client_reference_id": "reference",
                "url": None,
                "payment_intent": intent | {"amount_received": intent["amount"] if paid else 0},
            }
        )

    async def charges(self, request: Request) -> Response:
        """The charges of one intent."""
        intent = await self.shown(f"payment_intents/{request.query_params['payment_intent']}")
        return JSONResponse(intent["charges"])

    async def hear(self, request: Request) -> Response:
        """Receive a webhook."""
        await self.notices.put((dict(request.headers), await request.body()))
        return Response(status_code=204)

    async def hand_on(self, request: Request) -> Response:
        """Pass everything else on."""
        asked = f"{self.direct}{request.url.path}" + (f"?{request.url.query}" if request.url.query else "")
        headers = {name: value for name, value in request.headers.items() if name not in ("host", "content-length")}
        answer = await self.http.request(request.method, asked, content=await request.body(), headers=headers)
        return _as_it_is(answer)


def intent_of(session: str) -> str:
    """The PaymentIntent of a session."""
    return session.removeprefix(_SESSION)


def _as_it_is(answer: httpx.Response) -> Response:
    return Response(answer.content, answer.status_code, media_type=answer.headers.get("content-type"))


def _card(number: str) -> dict[str, str]:
    card = {"number": number, "exp_month": "12", "exp_year": "2090", "cvc": "123"}
    return {f"card[{name}]": value for name, value in card.items()}


@asynccontextmanager
async def serving_localstripe() -> AsyncIterator[LocalStripe]:
    """The program and its proxy, on loopback, until the block ends."""
    headers = {"Authorization": f"Bearer {KEY}", "Stripe-Version": stripe.api_version}
    with socket.create_server(("127.0.0.1", 0)) as port, socket.create_server(("127.0.0.1", 0)) as door:
        command = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(port.fileno()), str(_PEERS)]
        program = await asyncio.create_subprocess_exec(*command, pass_fds=[port.fileno()])
        try:
            async with httpx.AsyncClient(headers=headers, timeout=30, trust_env=False) as http:
                local = LocalStripe(_address(door), _address(port), http)
                app = Starlette(
                    routes=[
                        Route("/v1/checkout/sessions/{id}", local.session, methods=["GET"]),
                        Route("/v1/charges", local.charges, methods=["GET"]),
                        Route("/webhook", local.hear, methods=["POST"]),
                        Route("/{rest:path}", local.hand_on, methods=["GET", "POST"]),
                    ]
                )
                config = uvicorn.Config(app, lifespan="off", log_config=None, log_level="critical", ws="none")
                server = uvicorn.Server(config)
                running = asyncio.create_task(server.serve(sockets=[door]))
                try:
                    yield local
                finally:
                    server.should_exit = True
                    await running
        finally:
            program.terminate()
            await program.wait()


def _address(port: socket.socket) -> str:
    return f"http://127.0.0.1:{port.getsockname()[1]}"
