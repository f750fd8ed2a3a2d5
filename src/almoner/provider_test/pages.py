"""The provider's own pages: the card form, the bank's challenge, and the way back to the merchant. No scripts."""

import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.platform.database.transactions import Database
from almoner.platform.pages.forms import read_form
from almoner.platform.pages.headers import origin_of_url
from almoner.platform.pages.link_sessions import CSRF_FIELD, is_same_origin
from almoner.platform.pages.rendering import PageRenderer
from almoner.provider_test import service, store
from almoner.provider_test.domain import TEST_CARDS, CardForm, Payment

TEMPLATES: Final = Path(__file__).parent / "templates"

_FORM_TARGETS: Final = ("https:", "http:")
"""Allowed form targets: the merchant's return URL may redirect to any site."""


@dataclass(frozen=True, slots=True)
class PaymentPages:
    """The payment pages of one provider. ``url``: its own URL; forms must come from there."""

    database: Database
    pages: PageRenderer
    url: str

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route("/pay/{id}", self.serve_card_form, methods=["GET", "POST"]),
            Route("/pay/{id}/challenge", self.serve_challenge, methods=["GET", "POST"]),
            Route("/pay/{id}/back", self.return_to_merchant, methods=["GET"]),
        ]

    async def serve_card_form(self, request: Request) -> Response:
        """Show the card form and process its submission."""
        return await (self.submit_card if request.method == "POST" else self.show_card_form)(request)

    async def serve_challenge(self, request: Request) -> Response:
        """Show the bank's challenge and process the answer."""
        return await (self.answer_challenge if request.method == "POST" else self.show_challenge)(request)

    async def show_card_form(self, request: Request) -> Response:
        """Show the card form of an open payment, or its result with a link back."""
        payment = await self._payment(request)
        if payment is None:
            return self._unknown(request)
        if payment.status == "processing":
            return _redirect_to(f"/pay/{payment.id}/challenge")
        return self._card_form(payment) if payment.status == "open" else self._ended(payment)

    async def submit_card(self, request: Request) -> Response:
        """Pay with a card.

        Errors and declines are shown on the same page, with name and expiry but never the number.
        """
        payment = await self._payment(request)
        if payment is None:
            return self._unknown(request)
        if payment.status != "open":
            return self._onwards(payment)
        posted = await read_form(request)
        if not self._trusted(request, payment, posted):
            return self._card_form(payment, status=403, notice="test_provider.again")
        typed = CardForm(
            number=_form_text(posted, "number"),
            expiry=_form_text(posted, "expiry"),
            cvc=_form_text(posted, "cvc"),
            name=_form_text(posted, "name"),
        )
        card = typed.parse_card_or_field_errors(self.database.deployment.clock.now())
        if isinstance(card, dict):
            return self._card_form(payment, status=422, typed=typed, problems=card)
        async with self.database.write() as tx:
            tried = await service.pay_with_card(tx, payment.id, card)
        if tried is None:
            return self._unknown(request)
        if tried.status == "open":
            return self._card_form(tried, status=402, typed=typed, notice="test_provider.declined")
        return self._onwards(tried)

    async def show_challenge(self, request: Request) -> Response:
        """The bank's page, for a payment that waits for it."""
        payment = await self._payment(request)
        if payment is None:
            return self._unknown(request)
        return self._bank(payment) if payment.status == "processing" else self._onwards(payment)

    async def answer_challenge(self, request: Request) -> Response:
        """Confirm or refuse; a refusal leads back to the card form."""
        payment = await self._payment(request)
        if payment is None:
            return self._unknown(request)
        posted = await read_form(request)
        if not self._trusted(request, payment, posted):
            return self._bank(payment, status=403) if payment.status == "processing" else self._onwards(payment)
        async with self.database.write() as tx:
            answered = await service.answer_challenge(
                tx, payment.id, confirmed=_form_text(posted, "answer") == "confirm"
            )
        if answered is None:
            return self._unknown(request)
        if answered.status == "open":
            return self._card_form(answered, status=402, notice="test_provider.declined")
        return self._onwards(answered)

    async def return_to_merchant(self, request: Request) -> Response:
        """Back to the merchant without paying. The payment stays open: the donor may come again."""
        payment = await self._payment(request)
        return self._unknown(request) if payment is None else _redirect_to(payment.cancel_url)

    async def _payment(self, request: Request) -> Payment | None:
        async with self.database.read() as tx:
            payment = await store.find_payment(tx, request.path_params["id"])
        return None if payment is None or payment.kind == "charge" else payment  # nobody is there for a charge

    def _onwards(self, payment: Payment) -> Response:
        match payment.status:
            case "open":
                return _redirect_to(f"/pay/{payment.id}")
            case "processing":
                return _redirect_to(f"/pay/{payment.id}/challenge")
            case "cancelled":
                return _redirect_to(payment.cancel_url)
            case _:
                return _redirect_to(payment.return_url)

    def _card_form(
        self,
        payment: Payment,
        *,
        status: int = 200,
        typed: CardForm | None = None,
        problems: dict[str, str] | None = None,
        notice: str | None = None,
    ) -> Response:
        return self.pages.render_page(
            "pay.html",
            self.pages.language_for_tag(payment.language),
            status=status,
            form_targets=_FORM_TARGETS,
            payment=payment,
            setup=payment.kind == "setup",
            csrf=self._csrf(payment),
            typed=typed or CardForm("", "", "", ""),
            problems=problems or {},
            notice=notice,
            test_cards=TEST_CARDS,
        )

    def _bank(self, payment: Payment, *, status: int = 200) -> Response:
        return self.pages.render_page(
            "challenge.html",
            self.pages.language_for_tag(payment.language),
            status=status,
            form_targets=_FORM_TARGETS,
            payment=payment,
            setup=payment.kind == "setup",
            csrf=self._csrf(payment),
        )

    def _ended(self, payment: Payment) -> Response:
        kind = "setup" if payment.kind == "setup" else "ended"
        ended = f"test_provider.{kind}.{payment.status}"
        return self.pages.render_page(
            "ended.html", self.pages.language_for_tag(payment.language), payment=payment, ended=ended
        )

    def _unknown(self, request: Request) -> Response:
        return self.pages.render_message(
            "test_provider.unknown", self.pages.preferred_language(request), status=404, icon="link"
        )

    def _csrf(self, payment: Payment) -> str:
        signature = self.database.deployment.vault.compute_mac("provider_test:csrf", payment.id.encode())
        return urlsafe_b64encode(signature).decode()

    def _trusted(self, request: Request, payment: Payment, posted: FormData) -> bool:
        token = _form_text(posted, CSRF_FIELD).encode()
        return is_same_origin(request, origin_of_url(self.url)) and hmac.compare_digest(
            token, self._csrf(payment).encode()
        )


def _form_text(posted: FormData, name: str) -> str:
    value = posted.get(name, "")
    return value if isinstance(value, str) else ""


def _redirect_to(url: str) -> Response:
    return RedirectResponse(url, 303, {"Cache-Control": "no-store", "Referrer-Policy": "same-origin"})
