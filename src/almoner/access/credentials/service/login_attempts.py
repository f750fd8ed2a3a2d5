"""Wrong tries slow the next one; nobody is ever locked out (0028).

A try is counted before it is checked, so that a hundred at once are not a hundred free ones, and taken back when it was
right. One made too early is not checked, and not counted. What somebody elsewhere does to a name slows neither the
networks nor the devices that the name signed in from.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.access.credentials import store
from almoner.access.credentials.domain import (
    OF_CODE,
    OF_CODE_ANYWHERE,
    OF_DISTRICT,
    OF_NAME,
    OF_NETWORK,
    OF_PASSWORD,
    REFUSALS_TOLD,
    TRIES_KEPT,
    Brake,
    TooSoon,
    storable,
)
from almoner.access.credentials.store import Slot
from almoner.access.people.domain import Person, Realm
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import EVERYONE, Tx
from almoner.platform.outbound.addresses import district, neighbourhood

BATCH: Final = 1000
_ANYWHERE: Final = "*"
_ALL_NAMES: Final = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a try comes from. ``device``: proved by its cookie to have signed this person in before.

    ``familiar``: the person signed in from this neighbourhood before.
    """

    address: str
    device: bytes | None = None
    familiar: bool = False

    @property
    def known(self) -> bool:
        """Whether the person was there before."""
        return self.device is not None or self.familiar


@dataclass(frozen=True, slots=True)
class Counted:
    """A try that was let through and counted. ``own``: of this source; ``shared``: with others."""

    own: Slot
    shared: tuple[Slot, ...]


def source(address: str, device: bytes | None, before: Iterable[str]) -> Source:
    """Where a try comes from; ``before``: the network addresses that the person signed in from."""
    return Source(address, device, neighbourhood(address) in {neighbourhood(one) for one in before})


async def of_password(tx: Tx, realm: Realm, user_name: str, person: Person | None, source: Source) -> Counted:
    """Let a password be tried for a name, which ``person`` has, or nobody. The caller commits. Raises TooSoon."""
    name = await _name(tx, user_name, person)
    own = (realm.id, name, _where(source))
    shared: list[tuple[Slot, Brake]] = []
    if source.device is None:
        everybody = tx.vault.keyed_hash("sign-in-network", b"")
        shared.append(((_ALL_NAMES, everybody, neighbourhood(source.address)), OF_NETWORK))
        if not source.familiar:
            shared.append(((_ALL_NAMES, everybody, district(source.address)), OF_DISTRICT))
            shared.append(((realm.id, name, _ANYWHERE), OF_NAME))
    return await _admit(tx, (own, OF_PASSWORD), shared)


async def of_code(tx: Tx, person: Person, source: Source) -> Counted:
    """Let a code be tried by who knows the password. The caller commits. Raises TooSoon."""
    name = _code_name(tx.vault, person)
    own = (person.realm.id, name, _where(source))
    anywhere = (person.realm.id, name, _ANYWHERE)
    return await _admit(tx, (own, OF_CODE), [] if source.known else [(anywhere, OF_CODE_ANYWHERE)])


async def right(tx: Tx, counted: Counted) -> None:
    """The try was right: what its source did wrong before is forgiven, and it does not count against the others."""
    await store.forgive(tx, EVERYONE, [counted.own], counted.shared)


async def forget(tx: Tx, person: Person) -> None:
    """The person has shown otherwise who they are: by a link to their mailbox."""
    hashes = [_person_name(tx.vault, person), _code_name(tx.vault, person)]
    await store.forget_tries(tx, EVERYONE, person.realm.id, hashes)


async def to_tell(tx: Tx, realm: Realm, person: Person | None) -> bool:
    """Whether a refusal is to be recorded now: at most one a minute of a person, and of all unknown names together."""
    name = tx.vault.keyed_hash("sign-in-refused", person.id.bytes if person else b"")
    return await store.tell(tx, EVERYONE, (realm.id, name, _ANYWHERE), tx.wall - REFUSALS_TOLD)


async def next_due(tx: Tx) -> datetime | None:
    """When the first try is a day old, or the first challenge over: by real time, told in business time."""
    tried, challenge = await store.oldest(tx, EVERYONE)
    over = [moment for moment in (tried + TRIES_KEPT if tried else None, challenge) if moment]
    return tx.now + (min(over) - tx.wall) if over else None


async def forget_old(tx: Tx, limit: int = BATCH) -> int:
    """Sweep: remove tries of a day ago and challenges that are over; how many rows went."""
    return await store.forget_old(tx, EVERYONE, tx.wall - TRIES_KEPT, limit)


async def _admit(tx: Tx, own: tuple[Slot, Brake], shared: Sequence[tuple[Slot, Brake]]) -> Counted:
    slots = [own[0], *(slot for slot, _ in shared)]
    brakes = [own[1], *(brake for _, brake in shared)]
    await store.take_turns(tx, EVERYONE, slots)
    found = await store.tries(tx, EVERYONE, slots)
    waits = [one.until(brake, tx.wall) for one, brake in zip(found, brakes, strict=True) if one]
    if until := max((wait for wait in waits if wait), default=None):
        raise TooSoon(until)
    left = [one.left(brake, tx.wall) if one else 0 for one, brake in zip(found, brakes, strict=True)]
    await store.count_tries(tx, EVERYONE, slots, [failures + 1 for failures in left])
    return Counted(slots[0], tuple(slots[1:]))


def _where(source: Source) -> str:
    return f"device {source.device.hex()}" if source.device is not None else neighbourhood(source.address)


async def _name(tx: Tx, user_name: str, person: Person | None) -> bytes:
    """Keyed: the table tells nobody which names were tried. One name is one, however it is written, whoever has it."""
    folded = await store.folded(tx, EVERYONE, user_name.strip()) if storable(user_name) else user_name
    if person is not None:
        return _person_name(tx.vault, person)
    return tx.vault.keyed_hash("sign-in-name", folded.encode(errors="replace"))


def _person_name(vault: Vault, person: Person) -> bytes:
    return vault.keyed_hash("sign-in-person", person.id.bytes)


def _code_name(vault: Vault, person: Person) -> bytes:
    return vault.keyed_hash("sign-in-code", person.id.bytes)
