"""How background loops handle exceptions: wait for an unavailable database, log others without personal data."""

import traceback
from typing import Final

import asyncpg

from almoner.platform.database.deadlines import StatementTimeout
from almoner.platform.database.disk_space import DiskSpaceLow

TIMEOUT_ERRORS: Final = (
    StatementTimeout,
    asyncpg.QueryCanceledError,  # by a limit of the server's own, or by an administrator
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""A statement was ended as it took too long; what its transaction did is undone."""

CONNECTION_ERRORS: Final = (
    OSError,  # ConnectionUnavailable and time-outs are such, too
    asyncpg.InternalClientError,  # a query met the server's farewell
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.InsufficientResourcesError,  # a full disk, no memory, too many connections
    asyncpg.PostgresIOError,
    asyncpg.InternalServerError,  # XX000: PostgreSQL ended the transaction for a reason of its own
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    DiskSpaceLow,
    *TIMEOUT_ERRORS,
)
"""The database is unavailable, has no free connection or is too slow: the request gets 503."""

UNAVAILABLE_ERRORS: Final = (*CONNECTION_ERRORS, asyncpg.InterfaceError)
"""As a loop sees it, which rests and goes on. asyncpg uses the last for a connection that is closed and for a wrong
use of it alike: a request must not be told to try a mistake again.
"""

DATABASE_ERRORS: Final = (*UNAVAILABLE_ERRORS, asyncpg.PostgresError)
"""What a loop survives: the database is away, or it refused a statement (a deadlock, a cancelled query)."""


def failure_log_fields(error: BaseException) -> dict[str, object]:
    """The log fields of an error: class and place, not its message, which may contain user data."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename.rpartition('almoner/')[2]}:{frame.lineno}" for frame in frames[-3:]]
    return {"error": type(error).__name__, "where": " ".join(places)}
