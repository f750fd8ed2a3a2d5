"""The checks of /readyz: whether this process can work now."""

from collections.abc import Callable, Mapping
from typing import Final

from almoner.platform.audit import chain as audit_chain
from almoner.platform.database.transactions import Database
from almoner.platform.events import dispatcher
from almoner.platform.http.probes import Check
from almoner.platform.observability.failures import UNAVAILABLE_ERRORS

_MOST_LAG_SECONDS: Final = 30.0
_MOST_UNCHAINED_SECONDS: Final = 600.0
"""A server can answer while no worker chains, but unchained audit entries could be deleted unnoticed (V8)."""

_UNREACHABLE: Final = "the database cannot be reached"


def readiness_checks(
    db: Database, schema_query: str, find_schema_problem: Callable[[str, list[str]], str | None]
) -> Mapping[str, Check]:
    """Checks of the database, the migrations, and the lag of events and of the audit chain.

    ``schema_query`` returns the database's revision and the revisions of code that supports it; ``find_schema_problem``
    returns why this code does not support it, None if it does.
    """

    async def database() -> str | None:
        try:
            async with db.read() as tx:
                await tx.fetchval("select 1")
        except UNAVAILABLE_ERRORS:
            return _UNREACHABLE
        return None

    async def migrations() -> str | None:
        try:
            async with db.read() as tx:
                found = await tx.fetchrow(schema_query)
        except UNAVAILABLE_ERRORS:
            return _UNREACHABLE
        return find_schema_problem(*found) if found else None

    async def worker() -> str | None:
        try:
            async with db.read() as tx:
                lag = await dispatcher.dispatch_lag_seconds(tx)
        except UNAVAILABLE_ERRORS:
            return _UNREACHABLE
        return None if lag <= _MOST_LAG_SECONDS else f"events have waited {lag:.0f} s for their number"

    async def audited() -> str | None:
        try:
            async with db.read() as tx:
                waited = await audit_chain.measure_chain_lag_seconds(tx)
        except UNAVAILABLE_ERRORS:
            return _UNREACHABLE
        if waited <= _MOST_UNCHAINED_SECONDS:
            return None
        return f"audit entries have waited {waited:.0f} s for their place: see that a worker runs"

    background = {"worker": worker, "audit": audited}
    resting = {name: _unless_disk_low(db, check) for name, check in background.items()}
    return {"database": database, "migrations": migrations, **resting}


def _unless_disk_low(db: Database, check: Check) -> Check:
    """Skip a check while the disk is nearly full and background work pauses: a server that answers stays in service."""

    async def checked() -> str | None:
        return None if db.disk.is_low else await check()

    return checked
