"""Sign-ins: beginning, finding, proving anew, ending. All in real time.

Beside it: ``entrances`` (password, second factor, passkey; they open their own transactions), ``links`` (invitation,
new password), ``account`` (what people change about themselves, with the mail that tells them).
"""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import By
from almoner.access.people.domain import Person, Realm
from almoner.access.security_emails import service as letters
from almoner.access.sign_ins import domain, store
from almoner.access.sign_ins.domain import (
    DEVICE_LIVES,
    KEPT,
    PROVED_FOR,
    Because,
    Browser,
    Entered,
    Method,
    SignIn,
    WrongSignIn,
)
from almoner.kit.ids import Ids
from almoner.kit.time import iso
from almoner.platform.audit.log import Details
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import EVERYONE, Tx

SHOWN: Final = 100
BATCH: Final = 1000
_SECRET_BYTES: Final = 32
_RANDOM_BYTES: Final = 16
_TIME_BYTES: Final = 6


async def begin(
    tx: Tx, person: Person, method: Method, browser: Browser, *, authenticated_at: datetime | None = None
) -> Entered:
    """Sign somebody in who has proved who they are. Raises WrongSignIn when they were deactivated meanwhile.

    ``authenticated_at``: when they did it,
    where that was not just now; real time. A mail tells of a browser that this person
    has not used before, but for the very first one.
    """
    secret = _secret()
    ends = tx.wall + domain.lasting(person.realm).longest
    device = domain.device_of(browser.user_agent)
    begun = (tx.wall, authenticated_at or tx.wall, tx.wall, ends)
    sign_in = SignIn(tx.new_id(), person.realm, person.id, method, browser.address, device, *begun)
    epoch = await store.epoch(tx, person.realm, person.id)
    known = known_device(tx.vault, person, epoch, browser.device, tx.wall) is not None
    first = not await store.addresses(tx, person.realm, person.id, 1)
    if not await store.insert(tx, sign_in, _hash(tx.vault, secret)):
        raise WrongSignIn
    by = credentials.themself(tx, person, browser.address)
    about: Details = {"method": method, "sign_in": _name(tx.ids, sign_in.id), "new_device": not known}
    await credentials.record(tx, person, by, "signed_in", about)
    if not known and not first:
        await letters.send(tx, person, "new_device", facts=told(tx, browser.address, device))
    return Entered(sign_in, person, secret, _device(tx, person, epoch))


async def find(tx: Tx, realm: Realm, secret: str) -> tuple[SignIn, Person] | None:
    """Who is signed in at the realm in the browser that holds the secret; one statement, so any transaction will do.

    None for whoever is deactivated, from that very moment on.
    """
    return await store.find_by_hash(tx, realm, _hash(tx.vault, secret)) if secret else None


def recently_proved(sign_in: SignIn, wall: datetime) -> bool:
    """Whether the person has proved who they are within ten minutes: asked before secrets and money."""
    return wall < sign_in.authenticated_at + PROVED_FOR


async def prove(tx: Tx, sign_in: SignIn) -> str:
    """The person of the sign-in has just proved who they are, in a way that the caller has checked.

    Answers the secret for the cookie from now on. The one before opens nothing any more: whoever stole it gains nothing
    by waiting (ASVS 7.2.4).
    """
    secret = _secret()
    await store.prove(tx, sign_in, _hash(tx.vault, secret))
    return secret


async def of_person(tx: Tx, person: Person) -> list[SignIn]:
    """The person's sign-ins of the last 90 days, newest first; ``live`` and ``end_reason`` say how they stand."""
    return await store.of_person(tx, person, SHOWN)


async def end(tx: Tx, person: Person, sign_in_id: UUID, because: Because, by: By) -> bool:
    """End one sign-in: ``signed_out`` or ``revoked``. False when the person has no such live one."""
    if not await store.end(tx, person, [sign_in_id], because, None):
        return False
    action = "signed_out" if because == "signed_out" else "sign_in.revoked"
    await credentials.record(tx, person, by, action, {"sign_in": _name(tx.ids, sign_in_id), "because": because})
    return True


async def end_all(tx: Tx, person: Person, because: Because, by: By, but: UUID | None = None) -> int:
    """End all sign-ins of a person, ``but`` one; how many there were. Deactivation does it by itself.

    No browser is known from before any more, and no half-way sign-in goes on: ``remember`` is for the one that stays.
    """
    await store.begin_epoch(tx, person)
    ended = await store.end(tx, person, None, because, but)
    if ended:
        await credentials.record(tx, person, by, "sign_in.revoked", {"because": because, "sign_ins": len(ended)})
    return len(ended)


async def end_provided(tx: Tx, realm: Realm, person: Person | None = None) -> int:
    """End the sign-ins made at the provider, of everybody or of one person; how many. The caller records it."""
    if person is not None:
        await store.begin_epoch(tx, person)  # who has shown the provider, and not yet the second factor, is out too
    return await store.end_provided(tx, realm, person.id if person else None)


async def remember(tx: Tx, person: Person) -> str:
    """The cookie of a browser that signed the person in: for ``DEVICE_LIVES``, or until the epoch ends."""
    return _device(tx, person, await store.epoch(tx, person.realm, person.id))


def known_device(vault: Vault, person: Person, epoch: int, cookie: str | None, wall: datetime) -> bytes | None:
    """The random part of a device's cookie, when it was given to this person in this epoch, and is not too old."""
    try:
        raw = urlsafe_b64decode((cookie or "") + "=" * (-len(cookie or "") % 4))
    except ValueError:
        return None
    body, signature = raw[: _RANDOM_BYTES + _TIME_BYTES], raw[_RANDOM_BYTES + _TIME_BYTES :]
    if not vault.verify("sign-in-device", _of_device(person, epoch, body), signature):
        return None
    given = datetime.fromtimestamp(int.from_bytes(body[_RANDOM_BYTES:]), UTC)
    return body[:_RANDOM_BYTES] if wall < given + DEVICE_LIVES else None


def told(tx: Tx, address: str, device: str) -> dict[str, str]:
    """The lines of a mail that say when and where something was done."""
    return {"When": iso(tx.wall)[:16].replace("T", " ") + " UTC", "Browser": device, "Network address": address}


async def next_due(tx: Tx) -> datetime | None:
    """When something has been over for 90 days: sign-ins by real time, links by business time; in business time."""
    sign_in, link = await store.next_forgotten(tx, EVERYONE)
    over = [moment for moment in (tx.now + (sign_in - tx.wall) if sign_in else None, link) if moment]
    return min(over) + KEPT if over else None


async def forget(tx: Tx, limit: int = BATCH) -> int:
    """Sweep: remove what has been over for 90 days; how many records went."""
    return await store.forget(tx, EVERYONE, tx.wall - KEPT, tx.now - KEPT, limit)


def _device(tx: Tx, person: Person, epoch: int) -> str:
    body = os.urandom(_RANDOM_BYTES) + int(tx.wall.timestamp()).to_bytes(_TIME_BYTES)
    raw = body + tx.vault.sign("sign-in-device", _of_device(person, epoch, body))
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _of_device(person: Person, epoch: int, body: bytes) -> bytes:
    return person.id.bytes + epoch.to_bytes(8) + body


def _secret() -> str:
    return urlsafe_b64encode(os.urandom(_SECRET_BYTES)).decode().rstrip("=")


def _hash(vault: Vault, secret: str) -> bytes:
    """What is stored of a cookie: 256 random bits need no slow hash (K2)."""
    return vault.keyed_hash("sign-in", secret.encode())


def _name(ids: Ids, sign_in_id: UUID) -> str:
    return ids.text("signin", sign_in_id)
