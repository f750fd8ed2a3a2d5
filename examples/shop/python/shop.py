"""A shop that takes donations: find a nonprofit, give on the hosted page, see the webhooks arrive, refund.

Run it beside a sandbox, with `make shop` or `python examples/shop/python/shop.py`, and open http://localhost:9000.
"""

import json
import os
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from almoner_client import Almoner, ApiError, WebhookVerificationError, models, webhooks

PORT = int(os.environ.get("SHOP_PORT", "9000"))
ADDRESS = f"http://localhost:{PORT}"


def connect() -> Almoner:
    """A client with the key of the environment, or of the sandbox in this folder."""
    if "ALMONER_API_KEY" in os.environ:
        return Almoner()
    keys = json.loads(Path("var/sandbox.json").read_text(encoding="utf-8"))
    return Almoner(keys["secretKey"], base_url=keys["baseUrl"])


class Shop:
    """What the shop does. It remembers the events that it has received."""

    def __init__(self, client: Almoner) -> None:
        self.client = client
        self.events: dict[str, models.Event] = {}
        self.subscription = client.webhook_subscriptions.create(events=["*"], url=f"{ADDRESS}/webhooks")

    def find(self, words: str) -> list[models.Organisation]:
        """Nonprofits that donations can go to."""
        return self.client.organisations.search(query=words, accepts_donations=True, page_size=5).data

    def give(self, organisation_id: str) -> str:
        """The address of the page on which the donor gives."""
        return self.client.donation_sessions.create(organisation_id=organisation_id, success_url=f"{ADDRESS}/").url

    def refund(self, donation_id: str) -> None:
        """Send a donation back."""
        self.client.donations.refund(donation_id)

    def receive(self, body: bytes, headers: dict[str, str]) -> None:
        """Take a webhook. The same event may come twice. Raises WebhookVerificationError."""
        event = webhooks.verify(body, headers, self.subscription.secret)
        self.events.setdefault(event.id, event)

    def page(self, words: str) -> str:
        """The only page."""
        found = "".join(
            f"<li>{escape(one.display_name or one.name)} {button('give', one.id, 'Donate')}</li>"
            for one in (self.find(words) if words else ())
        )
        refunds = [one for one in self.events.values() if one.event_type == "donation.refunded"]
        refunded = {webhooks.record_of(one, models.Donation).id for one in refunds}
        events = "".join(self._event(event, refunded) for event in reversed(self.events.values()))
        return (
            "<!doctype html><html lang=en><title>Shop</title><h1>Donate at the checkout</h1>"
            f"<form><label>Nonprofit <input name=words value='{escape(words)}'></label> <button>Find</button></form>"
            f"<ul>{found}</ul><h2>Webhooks, newest first</h2><ul>{events or '<li>None yet.</li>'}</ul></html>"
        )

    def _event(self, event: models.Event, refunded: set[str]) -> str:
        record = webhooks.record_of(event)
        refund = ""
        if event.event_type == "donation.payment_successful" and isinstance(record, models.Donation):
            refund = "" if record.id in refunded else button("refund", record.id, "Refund")
        return f"<li>{escape(event.event_type)} {refund}</li>"


def button(action: str, value: str, text: str) -> str:
    """A form with a single button."""
    form = f"<form method=post action=/{action} style=display:inline>"
    return f"{form}<button name=id value={escape(value)}>{text}</button></form>"


class Handler(BaseHTTPRequestHandler):
    """HTTP."""

    shop: Shop

    def do_GET(self) -> None:
        """The page."""
        words = parse_qs(urlsplit(self.path).query).get("words", [""])[0].strip()
        self.answer(200, self.shop.page(words))

    def do_POST(self) -> None:
        """A button, or a webhook."""
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        try:
            if self.path == "/webhooks":
                self.shop.receive(body, dict(self.headers.items()))
                self.answer(204)
                return
            chosen = parse_qs(body.decode())["id"][0]
            if self.path == "/give":
                self.answer(303, location=self.shop.give(chosen))
            else:
                self.shop.refund(chosen)
                self.answer(303, location="/")
        except WebhookVerificationError as error:
            self.answer(400, str(error))
        except ApiError as error:
            self.answer(502, escape(str(error)))

    def answer(self, status: int, text: str = "", **headers: Any) -> None:
        """Send an answer."""
        self.send_response(status)
        for name, value in {**headers, "content-type": "text/html; charset=utf-8"}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


def main() -> None:
    """Serve until Ctrl-C."""
    with connect() as client, ThreadingHTTPServer(("127.0.0.1", PORT), Handler) as server:
        Handler.shop = Shop(client)
        print(f"The shop is open at {ADDRESS} (press Ctrl-C to stop).", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            client.webhook_subscriptions.delete(Handler.shop.subscription.id)


if __name__ == "__main__":
    main()
