"""A transaction that records how PostgreSQL executes statements."""

import json
from collections.abc import Iterator
from typing import Any

from almoner.platform.database.transactions import Tx


class Explaining:
    """A transaction that explains each reading statement before it runs it."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.plans: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    async def _explain(self, sql: str, args: tuple[object, ...]) -> None:
        (row,) = await self._tx.fetch("explain (format json) " + sql, *args)
        self.plans.append(json.loads(row[0])[0]["Plan"])

    async def fetch(self, sql: str, *args: object) -> Any:
        await self._explain(sql, args)
        return await self._tx.fetch(sql, *args)

    async def fetchrow(self, sql: str, *args: object) -> Any:
        await self._explain(sql, args)
        return await self._tx.fetchrow(sql, *args)

    async def fetchval(self, sql: str, *args: object) -> Any:
        await self._explain(sql, args)
        return await self._tx.fetchval(sql, *args)

    def nodes(self) -> Iterator[dict[str, Any]]:
        waiting = list(self.plans)
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.get("Plans", [])

    def indexes(self) -> set[str]:
        return {node["Index Name"] for node in self.nodes() if "Index Name" in node}

    def scans(self) -> set[str]:
        """The tables that are read entirely."""
        return {node["Relation Name"] for node in self.nodes() if node["Node Type"] == "Seq Scan"}

    def sorts_before_limit(self) -> list[dict[str, Any]]:
        """The plan nodes that sort before taking the first rows."""
        limits = [node for node in self.nodes() if node["Node Type"] == "Limit"]
        return [child for node in limits for child in node["Plans"] if child["Node Type"] == "Sort"]
