"""Receives payment providers' webhooks at /callbacks/{provider} (M4, M5)."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from almoner.giving.checkout.donations import flows
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.payments.domain import ProviderEvent
from almoner.kit.errors import ContentTooLarge, NotFound
from almoner.platform.observability.loggers import get_logger

_MAX_WEBHOOK_BYTES: Final = 64 * 1024
_log: Final = get_logger("almoner.giving")


def webhook_routes(
    context: PaymentContext,
    handle_dispute: Callable[[str], Awaitable[None]],
    handle_refund: Callable[[str, str], Awaitable[None]] | None = None,
    handle_setup: Callable[[ProviderEvent], Awaitable[bool]] | None = None,
) -> list[BaseRoute]:
    """The webhook route, for wiring to mount.

    ``handle_dispute`` handles webhooks about a payment's disputes, ``handle_refund`` those about its refunds,
    ``handle_setup`` those about a page for saving a payment method; it returns False if the page is not ours.
    """

    async def handle_webhook(request: Request) -> Response:
        """Respond with 2xx only after the webhook's effect is committed."""
        if request.path_params["provider"] != context.provider.name:
            raise NotFound("there is no such payment provider")
        body = await _read_body(request)
        event = context.provider.parse_webhook(dict(request.headers), body, context.db.deployment.clock.real_now())
        if event is not None:
            await act_on(event)
        return Response(status_code=204, headers={"Cache-Control": "no-store"})

    async def act_on(event: ProviderEvent) -> None:
        match event.subject:
            case "setup":
                own = handle_setup is not None and await handle_setup(event)
            case "payment_method":
                own = await flows.refresh_saved_payment_method(context, event.payment_id)
            case _:
                own = await flows.handle_provider_webhook(context, event)
        if not own:
            _log.info("webhook_ignored", provider=context.provider.name, notice=event.id, type=event.type)
        elif event.subject == "dispute":  # after the payment, which may have changed as well
            await handle_dispute(event.payment_id)
        elif event.subject == "refund" and handle_refund is not None:
            await handle_refund(event.payment_id, event.refund_id)

    return [Route("/callbacks/{provider}", handle_webhook, methods=["POST"])]


async def _read_body(request: Request) -> bytes:
    """Read the body up to its limit. Raises ContentTooLarge."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_WEBHOOK_BYTES:
            raise ContentTooLarge("a webhook has at most 64 kB")
    return bytes(body)
