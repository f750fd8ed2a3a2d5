"""Argon2id password hashing in at most two threads, so that a flood of sign-ins does not block the server."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from almoner.access.credentials.domain import SignInOverloaded
from almoner.platform.database.transactions import is_inside_transaction

_T = TypeVar("_T")


class HashCost(NamedTuple):
    """The cost of one Argon2id hash: passes and memory."""

    passes: int
    kibibytes: int


CURRENT_COST: Final = HashCost(2, 47_104)
"""OWASP's 46 MiB, with two passes: measured 86 ms (0028)."""
MAX_THREADS: Final = 2
MAX_QUEUED: Final = 60
"""The queue limit, about three seconds of work. Above it, callers are asked to try again later."""
_MAX_QUEUED_STRANGERS: Final = 40
"""The queue limit for unknown visitors, so that a flood of user names does not lock out returning visitors."""

_MAX_WAIT_SECONDS: Final = 10.0
"""Give up after this time: the browser has stopped waiting."""

_threads: Final = ThreadPoolExecutor(max_workers=MAX_THREADS, thread_name_prefix="argon2")


class _Queue:
    """The number of running and waiting hashes, and their executor."""

    __slots__ = ("hasher", "waiting")

    def __init__(self) -> None:
        self.waiting = 0
        self.apply_cost(CURRENT_COST)

    def apply_cost(self, cost: HashCost) -> None:
        self.hasher = PasswordHasher(cost.passes, cost.kibibytes, parallelism=1, hash_len=32, salt_len=16)

    async def do(self, work: Callable[[], _T], *, known: bool) -> _T:
        if is_inside_transaction():
            raise RuntimeError("a password is hashed while a transaction holds a connection; read, release, then hash")
        if self.waiting >= (MAX_QUEUED if known else _MAX_QUEUED_STRANGERS):
            raise SignInOverloaded
        self.waiting += 1
        try:
            async with asyncio.timeout(_MAX_WAIT_SECONDS):
                return await asyncio.get_running_loop().run_in_executor(_threads, work)
        except TimeoutError:
            raise SignInOverloaded from None
        finally:
            self.waiting -= 1


_queue: Final = _Queue()


def set_hash_cost(cost: HashCost) -> None:
    """Change the cost of new hashes; only for tests."""
    _queue.apply_cost(cost)


async def hash_secret(secret: bytes) -> str:
    """A new Argon2id hash, with its parameters and salt. Raises SignInOverloaded."""
    return await _queue.do(lambda: _queue.hasher.hash(secret), known=True)


async def verify_hash(hash_: str, secret: bytes, *, has_priority: bool) -> bool:
    """Whether the secret matches the hash. ``has_priority`` gives priority to returning visitors.

    Raises SignInOverloaded.
    """
    return await _queue.do(lambda: _verify(hash_, secret), known=has_priority)


def dummy_hash() -> str:
    """A hash to verify against when the account does not exist, so that the response takes as long (ASVS 6.3.8)."""
    cost = f"m={_queue.hasher.memory_cost},t={_queue.hasher.time_cost},p=1"
    return f"$argon2id$v=19${cost}$OUp7zuQMOwIFHjOSZc1o2Q$3/iAFitfSJiwoi7ZizhSHQKirQZypKF5JzO6Px/qjRM"


def needs_rehash(hash_: str) -> bool:
    """Whether the hash was made with outdated cost parameters."""
    return _queue.hasher.check_needs_rehash(hash_)


def _verify(hash_: str, secret: bytes) -> bool:
    try:
        return _queue.hasher.verify(hash_, secret)
    except (VerificationError, InvalidHashError):
        return False
