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
    work: PaymentContext,
    disputed: Callable[[str], Awaitable[None]],
    refunded: Callable[[str, str], Awaitable[None]] | None = None,
    saved: Callable[[ProviderEvent], Awaitable[None]] | None = None,
) -> list[BaseRoute]:
    """The webhook route, for wiring to mount.

    ``disputed`` acts on a notice about the disputes of a provider's payment, ``refunded`` on one about a refund of it,
    ``saved`` on one about a saved payment method.
    """

    async def handle_webhook(request: Request) -> Response:
        """Answer 2xx only when the notice and its effect are committed."""
        if request.path_params["provider"] != work.provider.name:
            raise NotFound("there is no such payment provider")
        body = await _read_body(request)
        event = work.provider.parse_webhook(dict(request.headers), body, work.db.deployment.clock.real_now())
        if event is not None and event.subject in ("setup", "payment_method"):
            if saved is None:
                _log.info("notice_not_ours", provider=work.provider.name, notice=event.id, type=event.type)
            else:
                await saved(event)
        elif event is not None and await flows.handle_provider_webhook(work, event):
            # After the payment: it may be news as well.
            match event.subject:
                case "dispute":
                    await disputed(event.payment)
                case "refund" if refunded is not None:
                    await refunded(event.payment, event.refund)
        return Response(status_code=204, headers={"Cache-Control": "no-store"})

    return [Route("/callbacks/{provider}", handle_webhook, methods=["POST"])]


async def _read_body(request: Request) -> bytes:
    """The body, read no further than its limit. Raises ContentTooLarge."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_WEBHOOK_BYTES:
            raise ContentTooLarge("a notice has at most 64 kB")
    return bytes(body)
