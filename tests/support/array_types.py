"""What asyncpg asks PostgreSQL about the types of a connection's arrays, asked once in a process: 7 ms of planning.

Types that PostgreSQL brings have the same numbers in every database.
"""

from collections.abc import Collection
from typing import Any, Final

import asyncpg

_OWN: Final = 16_384
"""The first number of types that a database makes itself."""


def remember() -> None:
    """From now on, for the life of the process."""
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
