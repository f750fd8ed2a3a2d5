"""Starts, finds, reauthenticates and ends sign-ins, in real time.

Related modules: ``sign_in_methods`` (password, second factor, passkey), ``links`` (invitation, password reset),
``account`` (changes to one's own credentials, with security emails).
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
    session_lifetime_for_realm,
)
from almoner.kit.ids import RecordIdCodec
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import Details
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Tx

_MAX_LISTED: Final = 100
BATCH: Final = 1000
_SECRET_BYTES: Final = 32
_RANDOM_BYTES: Final = 16
_TIME_BYTES: Final = 6


async def begin_sign_in(
    tx: Tx, person: Person, method: Method, browser: Browser, *, authenticated_at: datetime | None = None
) -> NewSignIn:
    """Sign in a person whose credentials were verified.

    ``authenticated_at``: when they authenticated, if not just now; real time. An email reports a browser that this
    person has not used before, except for the first sign-in. Raises SignInFailed if they were deactivated.
    """
    secret = _new_secret()
    ends = tx.real_now + domain.session_lifetime_for_realm(person.realm).max_lifetime
    device = domain.device_label(browser.user_agent)
    started = (tx.real_now, authenticated_at or tx.real_now, tx.real_now, ends)
    sign_in = SignIn(tx.new_id(), person.realm, person.id, method, browser.ip_address, device, *started)
    epoch = await store.load_device_cookie_version(tx, person.realm, person.id)
    known = find_device_id_in_cookie(tx.vault, person, epoch, browser.device_cookie, tx.real_now) is not None
    first = not await store.list_recent_ip_addresses(tx, person.realm, person.id, 1)
    if not await store.insert(tx, sign_in, _hash(tx.vault, secret)):
        raise SignInFailed
    by = credentials.build_audit_context_of_person(tx, person, browser.ip_address)
    about: Details = {"method": method, "sign_in": _id_text(tx.ids, sign_in.id), "new_device": not known}
    await credentials.record_audit_entry(tx, person, by, "signed_in", about)
    if not known and not first:
        await security_emails.enqueue_email(
            tx, person, "new_device", detail_lines=build_time_browser_and_ip_lines(tx, browser.ip_address, device)
        )
    return NewSignIn(sign_in, person, secret, _sign_device_cookie(tx, person, epoch))


async def find_sign_in_by_secret(tx: Tx, realm: Realm, secret: str) -> tuple[SignIn, Person] | None:
    """The sign-in and person for a session cookie's secret; None immediately after a deactivation."""
    return await store.find_sign_in_by_secret_hash(tx, realm, _hash(tx.vault, secret)) if secret else None


def is_recently_authenticated(sign_in: SignIn, real_now: datetime) -> bool:
    """Whether the person authenticated in the last ten minutes: required before secrets and money."""
    return real_now < sign_in.authenticated_at + REAUTHENTICATION_LIFETIME


async def rotate_secret_after_reauthentication(tx: Tx, sign_in: SignIn) -> str:
    """Record that the signed-in person just reauthenticated; returns the new session secret.

    The old secret stops working, so a stolen one does not gain from the reauthentication (ASVS 7.2.4).
    """
    secret = _new_secret()
    await store.record_reauthentication(tx, sign_in, _hash(tx.vault, secret))
    return secret


async def list_by_person(tx: Tx, person: Person) -> list[SignIn]:
    """The person's sign-ins of the last 90 days, newest first."""
    return await store.list_by_person(tx, person, _MAX_LISTED)


async def list_active_sign_ins(tx: Tx, realm: Realm) -> list[SignIn]:
    """Sign-ins of a realm's people that have not ended, the one seen last first."""
    return await store.list_active_sign_ins(tx, realm, tx.real_now - session_lifetime_for_realm(realm).idle_timeout)


async def end_sign_in(tx: Tx, person: Person, sign_in_id: UUID, reason: EndReason, audit_context: AuditContext) -> bool:
    """End one sign-in of a person; False if they have no such live one."""
    if not await store.end_sign_ins(tx, person, [sign_in_id], reason, None):
        return False
    action = "signed_out" if reason == "signed_out" else "sign_in.revoked"
    await credentials.record_audit_entry(
        tx, person, audit_context, action, {"sign_in": _id_text(tx.ids, sign_in_id), "because": reason}
    )
    return True


async def end_all_sign_ins(
    tx: Tx, person: Person, reason: EndReason, audit_context: AuditContext, except_id: UUID | None = None
) -> int:
    """End all sign-ins of a person except ``except_id``; returns how many.

    Device cookies and pending second-factor steps become void; ``issue_device_cookie`` renews the remaining browser's.
    """
    await store.invalidate_device_cookies(tx, person)
    ended = await store.end_sign_ins(tx, person, None, reason, except_id)
    if ended:
        await credentials.record_audit_entry(
            tx, person, audit_context, "sign_in.revoked", {"because": reason, "sign_ins": len(ended)}
        )
    return len(ended)


async def end_sso_sign_ins(tx: Tx, realm: Realm, person: Person | None = None) -> int:
    """End sign-ins made through single sign-on, of one person or of the whole realm; returns how many."""
    if person is not None:
        await store.invalidate_device_cookies(tx, person)  # includes pending second-factor steps after single sign-on
    return await store.end_sso_sign_ins(tx, realm, person.id if person else None)


async def issue_device_cookie(tx: Tx, person: Person) -> str:
    """Create the cookie that recognises this browser at the person's later sign-ins."""
    return _sign_device_cookie(tx, person, await store.load_device_cookie_version(tx, person.realm, person.id))


def find_device_id_in_cookie(
    vault: Vault, person: Person, device_cookie_version: int, cookie: str | None, real_now: datetime
) -> bytes | None:
    """The random part of a valid device cookie of this person; None if it is invalid or too old."""
    try:
        raw = urlsafe_b64decode((cookie or "") + "=" * (-len(cookie or "") % 4))
    except ValueError:
        return None
    body, signature = raw[: _RANDOM_BYTES + _TIME_BYTES], raw[_RANDOM_BYTES + _TIME_BYTES :]
    if not vault.verify_mac("sign-in-device", _device_signature_data(person, device_cookie_version, body), signature):
        return None
    given = datetime.fromtimestamp(int.from_bytes(body[_RANDOM_BYTES:]), UTC)
    return body[:_RANDOM_BYTES] if real_now < given + DEVICE_LIFETIME else None


def build_time_browser_and_ip_lines(tx: Tx, ip_address: str, browser_name: str) -> dict[str, str]:
    """Lines for a security email: when, from which network and with which device."""
    return {
        "When": iso_timestamp(tx.real_now)[:16].replace("T", " ") + " UTC",
        "Browser": browser_name,
        "Network address": ip_address,
    }


async def next_sign_in_deletion_at(tx: Tx) -> datetime | None:
    """When the next sign-in or link has been over for 90 days."""
    sign_in, link = await store.load_oldest_sign_in_and_sign_in_link_times(tx)
    over = [moment for moment in (tx.now + (sign_in - tx.real_now) if sign_in else None, link) if moment]
    return min(over) + RETENTION if over else None


async def delete_expired_sign_ins_and_links(tx: Tx, limit: int = BATCH) -> int:
    """Delete sign-ins and links that have been over for 90 days; returns how many."""
    return await store.delete_expired_sign_ins_and_links(tx, tx.real_now - RETENTION, tx.now - RETENTION, limit)


def _sign_device_cookie(tx: Tx, person: Person, epoch: int) -> str:
    body = os.urandom(_RANDOM_BYTES) + int(tx.real_now.timestamp()).to_bytes(_TIME_BYTES)
    raw = body + tx.vault.compute_mac("sign-in-device", _device_signature_data(person, epoch, body))
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _device_signature_data(person: Person, epoch: int, body: bytes) -> bytes:
    return person.id.bytes + epoch.to_bytes(8) + body


def _new_secret() -> str:
    return urlsafe_b64encode(os.urandom(_SECRET_BYTES)).decode().rstrip("=")


def _hash(vault: Vault, secret: str) -> bytes:
    """The stored hash of a cookie: 256 random bits need no slow hash (K2)."""
    return vault.compute_keyed_hash("sign-in", secret.encode())


def _id_text(ids: RecordIdCodec, sign_in_id: UUID) -> str:
    return ids.encode("signin", sign_in_id)
