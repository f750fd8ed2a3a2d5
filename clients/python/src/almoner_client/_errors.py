"""Errors: one class for each status, and in ``almoner_client.errors`` one for each code."""

from collections.abc import Mapping
from typing import Any


class AlmonerError(Exception):
    """All errors of this package."""


class ApiConnectionError(AlmonerError):
    """No whole answer came. Whether the call had its effect is not known: the same idempotency key tells."""

    def __init__(self, message: str, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        self.idempotency_key = idempotency_key


class ApiTimeoutError(ApiConnectionError):
    """No answer came in time."""


class WebhookVerificationError(AlmonerError):
    """A delivery that was not signed with the secret, is too old, or was changed on its way."""


class ApiError(AlmonerError):
    """An answer that is an error.

    ``code`` is for programs, ``message`` and ``reasons`` are for people, ``request_id`` is for support.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        title: str = "",
        reasons: tuple[str, ...] = (),
        request_id: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.message = message
        self.title = title
        self.reasons = reasons
        self.request_id = request_id
        self.headers = dict(headers or {})
        text = message if not reasons else f"{message}: {'; '.join(reasons)}"
        super().__init__(f"{text} [{code}, {request_id or 'no Request-Id'}]")

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before another try, where the answer says so."""
        return seconds_to_wait(self.headers)


class BadRequestError(ApiError):
    """400: something in the call is wrong; ``reasons`` name it."""


class AuthenticationError(ApiError):
    """401: the key is missing or wrong."""


class PermissionDeniedError(ApiError):
    """403: the key may not do this."""


class NotFoundError(ApiError):
    """404: there is no such record."""


class ConflictError(ApiError):
    """409."""


class RateLimitError(ApiError):
    """429: too many calls; ``retry_after`` says for how long."""


class ServerError(ApiError):
    """5xx: nothing is half done; the call may be repeated with the same idempotency key."""


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    429: RateLimitError,
}


def class_of_status(status: int) -> type[ApiError]:
    """The class of an error with this status."""
    return ServerError if status >= 500 else _BY_STATUS.get(status, ApiError)


def error_of_answer(
    status: int, headers: Mapping[str, str], data: Any, codes: Mapping[str, type[ApiError]]
) -> ApiError:
    """The error of an answer, of the class of its code, or else of its status."""
    told = data.get("error") if isinstance(data, dict) else None
    error = told if isinstance(told, dict) else {}
    code = str(error.get("code", ""))
    made = codes.get(code, class_of_status(status))
    if not issubclass(made, class_of_status(status)):
        made = class_of_status(status)
    reasons = error.get("reasons")
    return made(
        status,
        code,
        str(error.get("message") or f"The answer was {status}"),
        title=str(error.get("title", "")),
        reasons=tuple(map(str, reasons)) if isinstance(reasons, list) else (),
        request_id=headers.get("request-id"),
        headers=headers,
    )


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """What ``Retry-After`` says, in seconds."""
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None
