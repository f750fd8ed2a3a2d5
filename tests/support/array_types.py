"""Cache what asyncpg asks PostgreSQL about a connection's array types, once per process: planning it takes 7 ms.

Built-in types have the same OIDs in every database.
"""

from collections.abc import Collection
from typing import Any, Final

import asyncpg

_OWN: Final = 16_384
"""The first OID of types that a database creates itself."""


def remember() -> None:
    """Cache them for the life of the process."""
    connection: Any = asyncpg.Connection
    ask = connection._introspect_types
    known: dict[frozenset[int], Any] = {}

    async def introspect(self: object, numbers: Collection[int], seconds: float | None) -> Any:
        if max(numbers) >= _OWN:
            return await ask(self, numbers, seconds)
        asked = frozenset(numbers)
        if asked not in known:
            known[asked] = await ask(self, numbers, seconds)
        return known[asked]

    connection._introspect_types = introspect
