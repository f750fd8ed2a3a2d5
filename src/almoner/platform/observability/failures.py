"""How background loops handle exceptions: wait for an unavailable database, log others without personal data."""

import traceback
from typing import Final

import asyncpg

from almoner.platform.database.deadlines import StatementTimeout
from almoner.platform.database.disk_space import DiskSpaceLow

TIMEOUT_ERRORS: Final = (
    StatementTimeout,
    asyncpg.QueryCanceledError,  # cancelled by a limit of the server, or by an administrator
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""A statement was cancelled because it took too long; its transaction is rolled back."""

CONNECTION_ERRORS: Final = (
    OSError,  # includes ConnectionUnavailable and time-outs
    asyncpg.InternalClientError,  # a query during the server's shutdown
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.InsufficientResourcesError,  # a full disk, no memory, too many connections
    asyncpg.PostgresIOError,
    asyncpg.InternalServerError,  # XX000: PostgreSQL ended the transaction for an internal reason
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    DiskSpaceLow,
    *TIMEOUT_ERRORS,
)
"""The database is unavailable, has no free connection or is too slow: the request gets 503."""

UNAVAILABLE_ERRORS: Final = (*CONNECTION_ERRORS, asyncpg.InterfaceError)
"""Errors that a background loop waits out.

asyncpg raises ``InterfaceError`` for a closed connection and for wrong use alike. Requests do not include it: a client
must not be asked to repeat a mistake.
"""

DATABASE_ERRORS: Final = (*UNAVAILABLE_ERRORS, asyncpg.PostgresError)
"""Errors that a loop survives: the database is unavailable, or refused a statement (deadlock, cancelled query)."""


def failure_log_fields(error: BaseException) -> dict[str, object]:
    """The log fields of an error: class and place, not its message, which may contain user data."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename.rpartition('almoner/')[2]}:{frame.lineno}" for frame in frames[-3:]]
    return {"error": type(error).__name__, "where": " ".join(places)}
