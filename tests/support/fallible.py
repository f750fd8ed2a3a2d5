"""A database whose process crashes from time to time, for tests."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

from almoner.platform.database.transactions import Database, Tx


class Crash(Exception):
    """The process has crashed."""


_dead: ContextVar[bool] = ContextVar("dead", default=False)


def revive() -> None:
    """Another process continues in this task."""
    _dead.set(False)


class Fallible(Database):
    """Sometimes the process crashes before a commit, or right after it, and stays down until its task ends."""

    chance = random.Random(0)
    share = 0.0
    crashes = 0

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        """Like a database's, unless the process is down."""
        self._boundary()
        async with super().write() as tx:
            yield tx
            self._boundary()
        self._boundary()

    def _boundary(self) -> None:
        if _dead.get() or self.chance.random() < self.share:
            self.crashes += not _dead.get()
            _dead.set(True)
            raise Crash
