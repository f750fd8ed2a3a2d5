"""Client of Almoner, a service that validates nonprofits and takes donations."""

from almoner_client import errors, webhooks
from almoner_client._calls import VERSION as __version__
from almoner_client._client import Almoner, AsyncAlmoner
from almoner_client._core import AsyncPage, AsyncPages, Page
from almoner_client._errors import AlmonerError, ApiConnectionError, ApiError, ApiTimeoutError, WebhookVerificationError
from almoner_client._generated import models
from almoner_client._records import OMITTED
from almoner_client._uploads import FileInput

__all__ = [
    "OMITTED",
    "Almoner",
    "AlmonerError",
    "ApiConnectionError",
    "ApiError",
    "ApiTimeoutError",
    "AsyncAlmoner",
    "AsyncPage",
    "AsyncPages",
    "FileInput",
    "Page",
    "WebhookVerificationError",
    "__version__",
    "errors",
    "models",
    "webhooks",
]
