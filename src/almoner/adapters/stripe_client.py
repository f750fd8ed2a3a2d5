"""The connection to Stripe: its official library over our HTTP client, with our own result and error types."""

import asyncio
import logging
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import aiohttp
import msgspec
import stripe

from almoner.giving.checkout.payments.domain import NoSuchPayment, ProviderFailure
from almoner.platform.database import transactions
from almoner.platform.database.identity import DeploymentIdentity
from almoner.platform.jobs.outside import free_job_slot_while_waiting
from almoner.platform.outbound.lookups import open_http_session

_T = TypeVar("_T", bound=msgspec.Struct)

_RETRIES: Final = 2
"""Retries after a lost response or a concurrent call with the same key; three attempts fit in a job's lease."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=12, connect=3)
_MOST_BYTES: Final = 4 * 1024 * 1024
_API: Final = "https://api.stripe.com"
_FILES: Final = "https://files.stripe.com"
_MISSING: Final = "resource_missing"
_OK: Final = 200
_TROUBLE: Final = 500
_TOO_OFTEN: Final = 429

stripe.enable_telemetry = False  # send Stripe nothing but our calls
logging.getLogger("stripe").setLevel(logging.WARNING)  # it would log URLs and request data (V7)


class _Http(stripe.HTTPClient):
    """An aiohttp client with our usual limits: no redirects, no environment settings, limited time and size."""

    name = "aiohttp"

    def __init__(self, identity: DeploymentIdentity) -> None:
        super().__init__()
        self._identity = identity
        self._session = open_http_session(_TIMEOUT)

    def _should_retry(self, response: Any, *more: Any, **named: Any) -> bool:
        """Retry as the library does, and also after a 429, with the same back-off."""
        if response is not None and response[1] == _TOO_OFTEN:
            response = (response[0], _TROUBLE, {})
        return bool(super()._should_retry(response, *more, **named))

    def sleep_async(self, secs: float) -> Awaitable[None]:
        """Wait between two attempts."""
        return asyncio.sleep(secs)

    async def request_async(
        self, method: str, url: str, headers: Mapping[str, str], post_data: Any = None
    ) -> tuple[bytes, int, Mapping[str, str]]:
        """Send one request. Raises APIConnectionError."""
        if transactions.is_inside_transaction():
            raise RuntimeError("Stripe was called inside a transaction: call it before or after the transaction")
        self._identity.ensure_active()
        try:
            with free_job_slot_while_waiting():
                async with self._session.request(
                    method, url, headers=headers, data=post_data, allow_redirects=False
                ) as response:
                    content = b""
                    while len(content) < _MOST_BYTES and not response.content.at_eof():
                        content += await response.content.read(_MOST_BYTES - len(content))
                    _check_response(content, response.status)
                    return content, response.status, response.headers
        except (aiohttp.ClientError, TimeoutError) as error:
            raise stripe.APIConnectionError(type(error).__name__, should_retry=True) from error  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Nothing to close: all connections are asynchronous."""

    async def close_async(self) -> None:
        """Close the connections."""
        await self._session.close()


def _check_response(content: bytes, status: int) -> None:
    """Check that a response is an object, and an error response has one, as the library assumes. Raises its errors."""
    try:
        answer = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        answer = None
    wrong = status != _OK and isinstance(answer, dict) and not isinstance(answer.get("error"), dict)
    if wrong or not isinstance(answer, dict):
        raise stripe.APIConnectionError(  # type: ignore[no-untyped-call]
            f"unexpected response with status {status}", should_retry=status >= _TROUBLE
        )


class StripeConnection:
    """The connection to Stripe, opened and closed inside the event loop.

    ``client``: use it inside ``translate_stripe_errors``.
    """

    def __init__(
        self, key: str, api_url: str, *, retries: int = _RETRIES, identity: DeploymentIdentity | None = None
    ) -> None:
        self._http = _Http(identity or DeploymentIdentity())
        self.client = stripe.StripeClient(
            key,
            base_addresses={"api": api_url, "files": _files_url(api_url)},
            http_client=self._http,
            max_network_retries=retries,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close_async()


def _files_url(api_url: str) -> str:
    """The URL for file uploads: Stripe has a separate host."""
    return _FILES if api_url.rstrip("/") == _API else api_url


@contextmanager
def translate_stripe_errors(requested_object: str) -> Iterator[None]:
    """Raise the library's errors as NoSuchPayment or ProviderFailure. ``requested_object``: what was requested."""
    try:
        yield
    except stripe.InvalidRequestError as error:
        if error.code == _MISSING:
            raise NoSuchPayment(requested_object) from error
        raise ProviderFailure(
            f"Stripe rejected the request for {requested_object}: {error.code or error.param or 'no code'}"
        ) from error
    except stripe.StripeError as error:
        raise ProviderFailure(f"The request to Stripe for {requested_object} failed: {type(error).__name__}") from error


def parse_response(response: object, response_type: type[_T]) -> _T:
    """Parse and validate a response from Stripe. Raises ProviderFailure."""
    if not isinstance(response, stripe.StripeObject):
        raise ProviderFailure("Stripe sent an unexpected response")
    try:
        return msgspec.convert(response.to_dict(), response_type)
    except msgspec.ValidationError as error:
        raise ProviderFailure(f"Stripe sent an unexpected response: {error}") from error
