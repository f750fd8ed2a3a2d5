"""All errors: by status, and by code (``errors.DonationInvalidState`` for ``donation/invalid_state``)."""

from almoner_client._errors import (
    AlmonerError,
    ApiConnectionError,
    ApiError,
    ApiTimeoutError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
    WebhookVerificationError,
)
from almoner_client._generated import codes
from almoner_client._generated.codes import *  # noqa: F403 (one class for each code)

__all__ = [
    "AlmonerError",
    "ApiConnectionError",
    "ApiError",
    "ApiTimeoutError",
    "AuthenticationError",
    "BadRequestError",
    "ConflictError",
    "NotFoundError",
    "PermissionDeniedError",
    "RateLimitError",
    "ServerError",
    "WebhookVerificationError",
]
__all__ += codes.__all__
