"""A Stripe stub: strict about every call, with Stripe's possible failures (idempotency, lost responses)."""

import asyncio
import hashlib
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from random import Random
from typing import Any
from urllib.parse import parse_qsl

import stripe
import uvicorn
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from tests.support import stripe_cards, stripe_types
from tests.support.stripe_account import Refusal, StripeAccount, Thing, known

KEY = "sk_test_stub"
PAGE = """<!doctype html><html lang="en"><title>Stripe</title><h1>{amount} {currency}</h1><p role="status">{message}</p>
<form method="post"><label>Card <input name="card"></label><button>Pay</button></form>
<a href="{cancel}">Back</a></html>"""


@dataclass(slots=True)
class Faults:
    """Faults to inject. ``lost``: the share of responses that never arrive.

    ``lose``, ``in_use``, ``fail``: the next calls lose their response, find their key in use, or fail. ``lose_posts``:
    the next POST calls lose it. ``refuses``: refused calls, such as ``POST /v1/files``. ``often``: one of every so many
    calls hits the rate limit; ``left``: all calls after so many do.
    """

    lost: float = 0.0
    lose: int = 0
    lose_posts: int = 0
    in_use: int = 0
    fail: int = 0
    often: int = 0
    left: int | None = None
    refuses: dict[str, Refusal] = field(default_factory=dict)
    random: Random = field(default_factory=lambda: Random(20261122))

    def limits(self, calls: int) -> bool:
        """Whether this call hits the rate limit."""
        if self.left is not None:
            self.left -= 1
        return bool(self.often and calls % self.often == 0) or (self.left is not None and self.left < 0)

    def loses(self, method: str) -> bool:
        """Whether the response to this call gets lost."""
        if self.lose_posts and method == "POST":
            self.lose_posts -= 1
            return True
        if self.lose:
            self.lose -= 1
            return True
        return self.random.random() < self.lost


class StripeStub:
    """The HTTP API of an account. ``calls``: the number of calls by kind. ``rolled``: its key was deleted."""

    def __init__(self, account: StripeAccount, *, key: str = KEY) -> None:
        self.account = account
        self.faults = Faults()
        self.calls: Counter[str] = Counter()
        self._key = key
        self.rolled = False
        self._answers: dict[str, tuple[str, int, Thing]] = {}
        api = [Route(path, self._api, methods=[method]) for method, path in stripe_types.CALLS]
        pages = [Route("/c/pay/{id}", self._page, methods=["GET", "POST"])]
        self._app = Starlette(routes=[*api, *pages, Route("/{rest:path}", self._unknown, methods=["GET", "POST"])])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond, unless the response gets lost: then the work is done and the connection cut."""
        called = scope["type"] == "http" and scope["path"].startswith("/v1/")
        loses = called and self.faults.loses(scope["method"])

        async def cut(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(b"content-length", b"1000000")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
            else:
                await send({"type": "http.response.body", "body": b"{", "more_body": False})

        await self._app(scope, receive, cut if loses else send)

    async def _api(self, request: Request) -> Response:
        route = request.scope["route"].path if "route" in request.scope else _template(request)
        self.calls[f"{request.method} {route}"] += 1
        try:
            self._ensure_caller(request)
            if route == "/v1/files":
                sent, raw = await _uploaded(request)
            else:
                raw = (await request.body()).decode() if request.method == "POST" else request.url.query
                sent = stripe_types.nested(parse_qsl(raw, keep_blank_values=True, strict_parsing=bool(raw)))
            try:
                asked = stripe_types.checked(request.method, route, sent)
            except ValidationError as error:
                what = "; ".join(f"{one['loc']}: {one['msg']}" for one in error.errors())
                raise Refusal(400, f"Received unknown or wrong parameters: {what}", code="parameter_unknown") from None
            status, answer = self._once(request, route, asked, raw)
        except Refusal as refusal:
            status, answer = refusal.status, refusal.body
        return JSONResponse(answer, status_code=status, headers={"Request-Id": "req_stub"})

    def forget_keys(self) -> None:
        """Forget the idempotency keys, as after a day."""
        self._answers.clear()

    def _ensure_caller(self, request: Request) -> None:
        given = request.headers.get("authorization")
        if given != f"Bearer {self._key}" or self.rolled:
            raise Refusal(401, f"Invalid API Key provided: {given}")  # Stripe itself shows less of it
        if request.headers.get("stripe-version") != stripe.api_version:
            raise Refusal(400, "The version of the API is not the library's.")
        if self.faults.limits(self.calls.total()):
            raise Refusal(429, "Request rate limit exceeded.", code="rate_limit")
        if self.faults.fail:
            self.faults.fail -= 1
            raise Refusal(500, "An unknown error occurred.", kind="api_error")

    def _once(self, request: Request, route: str, asked: Thing, raw: str) -> tuple[int, Thing]:
        """The response; for a used key the stored one, whatever has happened since."""
        number = request.path_params.get("id", "")
        if request.method != "POST" or route.endswith(("/expire", "/cancel")):
            return 200, self._do(request.method, route, number, asked)
        key = request.headers.get("idempotency-key", "")
        if not 1 <= len(key) <= 255:
            raise Refusal(400, "This stub wants a key for whatever moves money.", param="Idempotency-Key")
        if self.faults.in_use:
            self.faults.in_use -= 1
            message = "There is currently another in-progress request using this key."
            raise Refusal(409, message, kind="idempotency_error", code="idempotency_key_in_use")
        print_ = hashlib.sha256(f"{route}\n{raw}".encode()).hexdigest()
        if key in self._answers:
            earlier, status, answer = self._answers[key]
            if earlier != print_:
                raise Refusal(400, "Keys can only be used with the same parameters.", kind="idempotency_error")
            return status, answer
        try:
            status, answer = 200, self._do(request.method, route, number, asked)
        except Refusal as refusal:
            if refusal.body["error"].get("code") == "resource_missing":
                raise
            status, answer = refusal.status, refusal.body
        self._answers[key] = (print_, status, answer)
        return status, answer

    def _do(  # noqa: C901 (one case for each call)
        self, method: str, route: str, number: str, asked: Thing
    ) -> Thing:
        if refusal := self.faults.refuses.get(f"{method} {route}"):
            raise refusal
        account, expand = self.account, asked.get("expand", [])
        match method, route:
            case "POST", "/v1/checkout/sessions":
                return self._session(account.new_session(asked), expand)
            case "POST", "/v1/checkout/sessions/{id}/expire":
                return self._session(account.expire(number), expand)
            case "GET", "/v1/checkout/sessions/{id}":
                return self._session(known(account.sessions, number), expand)
            case "GET", "/v1/checkout/sessions":
                found = _of(account.sessions, payment_intent=asked["payment_intent"])
                within = [name.removeprefix("data.") for name in expand]
                return self._listed([self._session(one, within) for one in found], asked)
            case _, path if path.startswith(("/v1/payment_", "/v1/customers")):
                return self._saved_card(method, route, number, asked)
            case "POST", "/v1/refunds":
                return account.new_refund(asked)
            case "GET", "/v1/refunds/{id}":
                return known(account.refunds, number)
            case "POST", "/v1/files":
                return account.new_file(asked["file"] | {"purpose": asked["purpose"]})
            case "GET", "/v1/disputes/{id}":
                return known(account.disputes, number)
            case "POST", "/v1/disputes/{id}":
                return account.update_dispute(number, asked)
            case "GET", "/v1/refunds" | "/v1/disputes" | "/v1/charges":
                things = {"refunds": account.refunds, "disputes": account.disputes, "charges": account.charges}
                return self._listed(_of(things[route[4:]], payment_intent=asked["payment_intent"]), asked)
            case "GET", "/v1/payouts/{id}":
                return known(account.payouts, number)
            case "GET", "/v1/payouts":
                since = asked.get("arrival_date", {}).get("gte", 0)
                found = _of(account.payouts, status=asked["status"])
                return self._listed([one for one in found if one["arrival_date"] >= since], asked)
            case "GET", "/v1/webhook_endpoints":
                return self._endpoints(asked)
            case _:
                return self._listed([self._line(one) for one in _of(account.balance, payout=asked["payout"])], asked)

    def _saved_card(self, method: str, route: str, number: str, asked: Thing) -> Thing:
        account = self.account
        match method, route:
            case "POST", "/v1/payment_intents":
                return stripe_cards.charge_saved_card(account, asked)
            case "GET", "/v1/payment_intents/{id}":
                return known(account.intents, number)
            case "GET", "/v1/payment_intents":
                known(account.customers, asked["customer"])
                return self._listed(_of(account.intents, customer=asked["customer"]), asked)
            case "POST", "/v1/payment_intents/{id}/cancel":
                known(account.intents, number)["status"] = "canceled"
                return account.intents[number]
            case "DELETE", _:
                return stripe_cards.delete_customer(account, number)
            case _:
                return stripe_cards.shown_method(known(account.methods, number))

    def _session(self, session: Thing, expand: list[str]) -> Thing:
        shown = {name: value for name, value in session.items() if not name.startswith("_")}
        for name in [one.partition(".")[0] for one in expand]:
            intent = shown[name]
            if isinstance(intent, str):
                intent = self.account.intents[intent]
            if intent and f"{name}.payment_method" in expand and intent["payment_method"]:
                saved = stripe_cards.shown_method(self.account.methods[intent["payment_method"]])
                intent = {**intent, "payment_method": saved}
            shown[name] = intent
        return shown

    def _line(self, line: Thing) -> Thing:
        account = self.account
        things = {**account.charges, **account.refunds, **account.disputes, **account.payouts}
        return {**line, "source": things[line["source"]]}

    async def _page(self, request: Request) -> Response:
        """The page that donors see."""
        session = self.account.sessions.get(request.path_params["id"])
        if session is None or session["status"] != "open":
            return HTMLResponse("This page has expired.", status_code=404)
        reported = ""
        if request.method == "POST":
            form = dict(parse_qsl((await request.body()).decode()))
            self.account.pay_with_card(session["id"], form.get("card", "").replace(" ", ""))
            if session["status"] == "complete":
                return RedirectResponse(session["success_url"], 303)
            reported = "Your card was declined."
        shown = {name: escape(str(session[key])) for name, key in _SHOWN.items()}
        return HTMLResponse(PAGE.format(message=reported, **shown))

    def _endpoints(self, asked: Thing) -> Thing:
        if self.account.endpoints is None:
            raise Refusal(403, "The key does not have the required permissions.")
        return self._listed(self.account.endpoints, asked)

    def _listed(self, found: list[Thing], asked: Thing) -> Thing:
        after = asked.get("starting_after")
        start = next((place + 1 for place, one in enumerate(found) if one["id"] == after), 0)
        shown = found[start : start + min(asked.get("limit", 10), self.account.most_listed)]
        return {"object": "list", "url": "/", "data": shown, "has_more": len(found) > start + len(shown)}

    async def _unknown(self, request: Request) -> Response:
        message = f"Unrecognized request URL ({request.method}: {request.url.path})."
        return JSONResponse(Refusal(404, message).body, status_code=404)


_SHOWN = {"amount": "amount_total", "currency": "currency", "cancel": "cancel_url"}


def _template(request: Request) -> str:
    number = request.path_params.get("id")
    return request.url.path.replace(number, "{id}") if number else request.url.path


def _of(things: dict[str, Thing], **wanted: Any) -> list[Thing]:
    """The objects with these members, newest first."""
    return [one for one in reversed(things.values()) if all(one[name] == value for name, value in wanted.items())]


@asynccontextmanager
async def serving_stripe(now: Callable[[], datetime]) -> AsyncIterator[tuple[StripeStub, str]]:
    """The stub and its URL, on loopback, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as port:
        url = f"http://127.0.0.1:{port.getsockname()[1]}"
        stub = StripeStub(StripeAccount(now, pages_url=url))
        server = uvicorn.Server(uvicorn.Config(stub, lifespan="off", log_config=None, log_level="critical", ws="none"))
        running = asyncio.create_task(server.serve(sockets=[port]))
        try:
            yield stub, url
        finally:
            server.should_exit = True
            await running


async def _uploaded(request: Request) -> tuple[Thing, str]:
    """(fields of an upload, its fingerprint for a key): the boundary differs each time."""
    async with request.form() as form:
        file = form["file"]
        assert isinstance(file, UploadFile), "it is a file"
        content = await file.read()
        sent = {"purpose": form["purpose"], "file": {"filename": file.filename, "size": len(content)}}
    return sent, f"{sent} {hashlib.sha256(content).hexdigest()}"
