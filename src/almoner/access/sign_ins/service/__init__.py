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
from almoner.access.credentials.domain import AuditContext
from almoner.access.people.domain import Person, Realm
from almoner.access.security_emails import service as security_emails
from almoner.access.sign_ins import domain, store
from almoner.access.sign_ins.domain import (
    DEVICE_LIFETIME,
    REAUTHENTICATION_LIFETIME,
    RETENTION,
    Browser,
    EndReason,
    Method,
    NewSignIn,
    SignIn,
    SignInFailed,
)
from almoner.kit.ids import Ids
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import Details
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Tx

MAX_LISTED: Final = 100
BATCH: Final = 1000
_SECRET_BYTES: Final = 32
_RANDOM_BYTES: Final = 16
_TIME_BYTES: Final = 6


async def begin(
    tx: Tx, person: Person, method: Method, browser: Browser, *, authenticated_at: datetime | None = None
) -> NewSignIn:
    """Sign somebody in who has proved who they are. Raises SignInFailed when they were deactivated meanwhile.

    ``authenticated_at``: when they did it,
    where that was not just now; real time. A mail tells of a browser that this person
    has not used before, but for the very first one.
    """
    secret = _new_secret()
    ends = tx.real_now + domain.session_lifetime_of(person.realm).longest
    device = domain.device_label(browser.user_agent)
    started = (tx.real_now, authenticated_at or tx.real_now, tx.real_now, ends)
    sign_in = SignIn(tx.new_id(), person.realm, person.id, method, browser.address, device, *started)
    epoch = await store.find_epoch(tx, person.realm, person.id)
    known = read_device_cookie(tx.vault, person, epoch, browser.device, tx.real_now) is not None
    first = not await store.list_recent_addresses(tx, person.realm, person.id, 1)
    if not await store.insert(tx, sign_in, _hash(tx.vault, secret)):
        raise SignInFailed
    by = credentials.own_audit_context(tx, person, browser.address)
    about: Details = {"method": method, "sign_in": _id_text(tx.ids, sign_in.id), "new_device": not known}
    await credentials.record_audit_entry(tx, person, by, "signed_in", about)
    if not known and not first:
        await security_emails.enqueue_email(
            tx, person, "new_device", facts=request_origin_facts(tx, browser.address, device)
        )
    return NewSignIn(sign_in, person, secret, _sign_device_cookie(tx, person, epoch))


async def find_by_secret(tx: Tx, realm: Realm, secret: str) -> tuple[SignIn, Person] | None:
    """Who is signed in at the realm in the browser that holds the secret; one statement, so any transaction will do.

    None for whoever is deactivated, from that very moment on.
    """
    return await store.find_by_hash(tx, realm, _hash(tx.vault, secret)) if secret else None


def is_recently_authenticated(sign_in: SignIn, real_now: datetime) -> bool:
    """Whether the person has proved who they are within ten minutes: asked before secrets and money."""
    return real_now < sign_in.authenticated_at + REAUTHENTICATION_LIFETIME


async def record_reauthentication(tx: Tx, sign_in: SignIn) -> str:
    """The person of the sign-in has just proved who they are, in a way that the caller has checked.

    Answers the secret for the cookie from now on. The one before opens nothing any more: whoever stole it gains nothing
    by waiting (ASVS 7.2.4).
    """
    secret = _new_secret()
    await store.record_reauthentication(tx, sign_in, _hash(tx.vault, secret))
    return secret


async def list_of_person(tx: Tx, person: Person) -> list[SignIn]:
    """The person's sign-ins of the last 90 days, newest first; ``live`` and ``end_reason`` say how they stand."""
    return await store.list_of_person(tx, person, MAX_LISTED)


async def end(tx: Tx, person: Person, sign_in_id: UUID, because: EndReason, by: AuditContext) -> bool:
    """End one sign-in: ``signed_out`` or ``revoked``. False when the person has no such live one."""
    if not await store.end(tx, person, [sign_in_id], because, None):
        return False
    action = "signed_out" if because == "signed_out" else "sign_in.revoked"
    await credentials.record_audit_entry(
        tx, person, by, action, {"sign_in": _id_text(tx.ids, sign_in_id), "because": because}
    )
    return True


async def end_all(tx: Tx, person: Person, because: EndReason, by: AuditContext, but: UUID | None = None) -> int:
    """End all sign-ins of a person, ``but`` one; how many there were. Deactivation does it by itself.

    No browser is known from before any more, and no half-way sign-in goes on: ``remember`` is for the one that stays.
    """
    await store.begin_epoch(tx, person)
    ended = await store.end(tx, person, None, because, but)
    if ended:
        await credentials.record_audit_entry(
            tx, person, by, "sign_in.revoked", {"because": because, "sign_ins": len(ended)}
        )
    return len(ended)


async def end_provider_sign_ins(tx: Tx, realm: Realm, person: Person | None = None) -> int:
    """End the sign-ins made at the provider, of everybody or of one person; how many. The caller records it."""
    if person is not None:
        await store.begin_epoch(tx, person)  # who has shown the provider, and not yet the second factor, is out too
    return await store.end_provider_sign_ins(tx, realm, person.id if person else None)


async def issue_device_cookie(tx: Tx, person: Person) -> str:
    """The cookie of a browser that signed the person in: for ``DEVICE_LIFETIME``, or until the epoch ends."""
    return _sign_device_cookie(tx, person, await store.find_epoch(tx, person.realm, person.id))


def read_device_cookie(
    vault: Vault, person: Person, epoch: int, cookie: str | None, real_now: datetime
) -> bytes | None:
    """The random part of a device's cookie, when it was given to this person in this epoch, and is not too old."""
    try:
        raw = urlsafe_b64decode((cookie or "") + "=" * (-len(cookie or "") % 4))
    except ValueError:
        return None
    body, signature = raw[: _RANDOM_BYTES + _TIME_BYTES], raw[_RANDOM_BYTES + _TIME_BYTES :]
    if not vault.verify("sign-in-device", _device_signature_data(person, epoch, body), signature):
        return None
    given = datetime.fromtimestamp(int.from_bytes(body[_RANDOM_BYTES:]), UTC)
    return body[:_RANDOM_BYTES] if real_now < given + DEVICE_LIFETIME else None


def request_origin_facts(tx: Tx, address: str, device: str) -> dict[str, str]:
    """The lines of a mail that say when and where something was done."""
    return {
        "When": iso_timestamp(tx.real_now)[:16].replace("T", " ") + " UTC",
        "Browser": device,
        "Network address": address,
    }


async def next_deletion_at(tx: Tx) -> datetime | None:
    """When something has been over for 90 days: sign-ins by real time, links by business time; in business time."""
    sign_in, link = await store.oldest_record_times(tx)
    over = [moment for moment in (tx.now + (sign_in - tx.real_now) if sign_in else None, link) if moment]
    return min(over) + RETENTION if over else None


async def delete_expired(tx: Tx, limit: int = BATCH) -> int:
    """Sweep: remove what has been over for 90 days; how many records went."""
    return await store.delete_expired(tx, tx.real_now - RETENTION, tx.now - RETENTION, limit)


def _sign_device_cookie(tx: Tx, person: Person, epoch: int) -> str:
    body = os.urandom(_RANDOM_BYTES) + int(tx.real_now.timestamp()).to_bytes(_TIME_BYTES)
    raw = body + tx.vault.sign("sign-in-device", _device_signature_data(person, epoch, body))
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _device_signature_data(person: Person, epoch: int, body: bytes) -> bytes:
    return person.id.bytes + epoch.to_bytes(8) + body


def _new_secret() -> str:
    return urlsafe_b64encode(os.urandom(_SECRET_BYTES)).decode().rstrip("=")


def _hash(vault: Vault, secret: str) -> bytes:
    """What is stored of a cookie: 256 random bits need no slow hash (K2)."""
    return vault.keyed_hash("sign-in", secret.encode())


def _id_text(ids: Ids, sign_in_id: UUID) -> str:
    return ids.text("signin", sign_in_id)
