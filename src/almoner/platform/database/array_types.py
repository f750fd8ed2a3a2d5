"""Remember what asyncpg asks PostgreSQL about array types: it asks on each connection, and planning that takes 7 ms."""

from collections.abc import Collection
from typing import Any, Final

import asyncpg

_FIXED: Final = 10_000
"""Types with lower OIDs have the same ones in every database and version."""
_known: Final[dict[frozenset[int], Any]] = {}


class TypeCachingConnection(asyncpg.Connection):
    """A connection that asks about built-in types only if no other one of this process did."""

    __slots__ = ()

    async def _introspect_types(self, typeoids: Collection[int], timeout: float | None) -> Any:  # noqa: ASYNC109 - asyncpg's signature
        ask: Any = super()._introspect_types  # type: ignore[misc]
        if max(typeoids) >= _FIXED:
            return await ask(typeoids, timeout)
        asked = frozenset(typeoids)
        if asked not in _known:
            _known[asked] = await ask(typeoids, timeout)
        return _known[asked]
