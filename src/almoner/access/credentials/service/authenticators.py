"""One-time codes from an authenticator app (TOTP, RFC 6238), by real time."""

from dataclasses import dataclass
from hmac import compare_digest
from typing import Final

import pyotp

from almoner.access.credentials import domain, service, store
from almoner.access.credentials.domain import (
    CLOCK_DRIFT_STEPS,
    STEP_SECONDS,
    AuditContext,
    AuthenticatorExists,
    AuthenticatorNotPending,
)
from almoner.access.people.domain import Person
from almoner.platform.database.transactions import Tx

_CONTEXT: Final = "authenticator"
_LABEL: Final = 64
"""The maximum number of characters of the userName in a QR code, which cannot hold 255 in every script."""


@dataclass(frozen=True, slots=True)
class AuthenticatorSetup:
    """The data to set up an authenticator app: the secret, its ``otpauth:`` URI and a QR code."""

    secret: str
    uri: str

    @property
    def qr(self) -> str:
        """A ``data:`` URL of a dark-on-white SVG for an ``img`` element, drawn by the page that shows it."""
        import segno  # on first use

        made = segno.make(self.uri, error="m", micro=False)
        return str(made.svg_data_uri(scale=5, border=4, dark="#000", light="#fff"))


async def begin_setup(tx: Tx, person: Person, issuer: str, ip_address: str | None = None) -> AuthenticatorSetup:
    """Create a TOTP secret, which is unusable until its first code is confirmed. Raises AuthenticatorExists.

    ``ip_address``: the address that the secret is shown to, for the audit log (V8).
    """
    secret = pyotp.random_base32()
    sealed = tx.vault.encrypt(secret.encode(), context=_CONTEXT, associated_data=person.id.bytes)
    if not await store.insert_authenticator(tx, person, sealed):
        raise AuthenticatorExists
    return await _build_setup(tx, secret, person, issuer, ip_address)


async def get_pending_setup(tx: Tx, person: Person, issuer: str, ip_address: str | None = None) -> AuthenticatorSetup:
    """Show the pending TOTP secret again after a wrong first code.

    Raises AuthenticatorNotPending.
    """
    sealed = await store.find_authenticator_secret(tx, person, confirmed=False)
    if sealed is None:
        raise AuthenticatorNotPending
    return await _build_setup(tx, _decrypt_secret(tx, person, sealed), person, issuer, ip_address)


async def confirm_setup(tx: Tx, person: Person, code: str, audit_context: AuditContext) -> bool:
    """Activate the app if its first code is right. Raises AuthenticatorNotPending."""
    sealed = await store.find_authenticator_secret(tx, person, confirmed=False)
    if sealed is None:
        raise AuthenticatorNotPending
    if not await _consume_code(tx, person, sealed, code, confirmed=False):
        return False
    await service.record_audit_entry(tx, person, audit_context, "authenticator.added")
    return True


async def verify_code(tx: Tx, person: Person, code: str) -> bool:
    """Whether the one-time code is right (at most one step off); a code works only once."""
    sealed = await store.find_authenticator_secret(tx, person, confirmed=True)
    return sealed is not None and await _consume_code(tx, person, sealed, code, confirmed=True)


async def is_active_secret(tx: Tx, person: Person, secret: str) -> bool:
    """Whether this base32 secret is the one of the person's active authenticator app."""
    sealed = await store.find_authenticator_secret(tx, person, confirmed=True)
    return sealed is not None and compare_digest(_decrypt_secret(tx, person, sealed), secret)


async def remove_authenticator(tx: Tx, person: Person, audit_context: AuditContext) -> bool:
    """Remove the authenticator app; False if none was active. Raises LastSecondFactorCannotBeRemoved."""
    await service.ensure_second_factor_remains(tx, person, removes_authenticator=True)
    if not await store.delete_authenticator(tx, person):
        return False
    await service.remove_unusable_recovery_codes(tx, person)
    await service.record_audit_entry(tx, person, audit_context, "authenticator.removed")
    return True


async def _consume_code(tx: Tx, person: Person, sealed: bytes, code: str, *, confirmed: bool) -> bool:
    typed = domain.parse_one_time_code(code)
    if typed is None:
        return False
    app = pyotp.TOTP(_decrypt_secret(tx, person, sealed), interval=STEP_SECONDS)
    now = int(tx.real_now.timestamp()) // STEP_SECONDS
    steps = range(now - CLOCK_DRIFT_STEPS, now + CLOCK_DRIFT_STEPS + 1)
    right = [step for step in steps if compare_digest(app.generate_otp(step), typed)]
    return bool(right) and await store.consume_time_step(tx, person, sealed, right[-1], confirmed=confirmed)


def _decrypt_secret(tx: Tx, person: Person, sealed: bytes) -> str:
    return tx.vault.decrypt(sealed, context=_CONTEXT, associated_data=person.id.bytes).decode()


async def _build_setup(tx: Tx, secret: str, person: Person, issuer: str, ip_address: str | None) -> AuthenticatorSetup:
    await service.record_audit_entry(
        tx, person, service.build_audit_context_of_person(tx, person, ip_address), "authenticator.viewed"
    )
    uri = pyotp.TOTP(secret, interval=STEP_SECONDS).provisioning_uri(name=person.user_name[:_LABEL], issuer_name=issuer)
    groups = " ".join(secret[at : at + 4] for at in range(0, len(secret), 4))
    return AuthenticatorSetup(groups, uri)
