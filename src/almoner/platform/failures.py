"""What background loops do with exceptions: wait for a database that is away, tell all others without personal data."""

import traceback
from typing import Final

import asyncpg

AWAY: Final = (
    OSError,  # NoConnection and time-outs are such, too
    asyncpg.InternalClientError,  # a query met the server's farewell
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.InsufficientResourcesError,  # a full disk, no memory, too many connections
    asyncpg.PostgresIOError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
)
"""The database cannot be reached just now, or has no room: who asked is answered 503."""

UNAVAILABLE: Final = (*AWAY, asyncpg.InterfaceError)
"""As a loop sees it, which rests and goes on. asyncpg uses the last for a connection that is closed and for a wrong
use of it alike: a request must not be told to try a mistake again.
"""

TROUBLE: Final = (*UNAVAILABLE, asyncpg.PostgresError)
"""What a loop survives: the database is away, or it refused a statement (a deadlock, a cancelled query)."""


def failure(error: BaseException) -> dict[str, object]:
    """Fields of a log line: the class and the place, never the message, which may hold what a partner sent."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename.rpartition('almoner/')[2]}:{frame.lineno}" for frame in frames[-3:]]
    return {"error": type(error).__name__, "where": " ".join(places)}
