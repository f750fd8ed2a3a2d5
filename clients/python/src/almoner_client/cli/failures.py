"""What went wrong: a sentence, what to do next, and the exit status that programs go by."""

from almoner_client._errors import (
    AlmonerError,
    ApiConnectionError,
    ApiError,
    AuthenticationError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
)

FAILED = 1
USAGE = 2
NO_CONNECTION = 3
NOT_ALLOWED = 4
NOT_FOUND = 5
INTERRUPTED = 130

EXIT_STATUSES = (
    "Exit status: 0 success, 1 the API refused or something failed, 2 wrong usage or configuration, "
    "3 no connection, 4 the key may not do this, 5 not found, 130 interrupted."
)


class CliError(AlmonerError):
    """A failure of the command line itself. ``advice``: what to do next."""

    status = FAILED

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


class UsageError(CliError):
    """The command or the configuration is wrong."""

    status = USAGE


def explain(error: AlmonerError) -> tuple[list[str], int]:
    """The lines that people read, and the exit status."""
    if isinstance(error, CliError):
        return [str(error), *([error.advice] if error.advice else [])], error.status
    if isinstance(error, ApiError):
        return _explain_answer(error)
    if isinstance(error, ApiConnectionError):
        return [f"No answer: {error}", "Is the address right, and is the service running?"], NO_CONNECTION
    return [str(error)], FAILED


def _explain_answer(error: ApiError) -> tuple[list[str], int]:
    lines = [error.message, *(f"- {reason}" for reason in error.reasons)]
    lines.append(f"{error.code or f'status {error.status}'}, Request-Id {error.request_id or 'none'}")
    advice, status = _advice(error)
    return [*lines, *([advice] if advice else [])], status


def _advice(error: ApiError) -> tuple[str, int]:
    if isinstance(error, AuthenticationError):
        return "Check the key: was it revoked, or is it of another deployment? See ALMONER_API_KEY.", NOT_ALLOWED
    if isinstance(error, PermissionDeniedError):
        return "Use a key with the scope that the message names; the dashboard creates one.", NOT_ALLOWED
    if isinstance(error, NotFoundError):
        return "Check the identifier: it must belong to your partner and to this deployment.", NOT_FOUND
    if isinstance(error, RateLimitError):
        wait = f"{error.retry_after:g} seconds" if error.retry_after else "a moment"
        return f"Wait {wait}, then try again.", FAILED
    if isinstance(error, ServerError):
        return "Try again in a moment. If it goes on, ask the operator and quote the Request-Id.", FAILED
    return "", FAILED
