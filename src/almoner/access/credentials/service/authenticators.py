"""One-time passwords of an authenticator app (TOTP, RFC 6238), on real time."""

from dataclasses import dataclass
from hmac import compare_digest
from typing import Final

import pyotp

from almoner.access.credentials import domain, store
from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import STEP_SECONDS, STEPS_AROUND, By, HasAuthenticator, NoAuthenticator
from almoner.access.people.domain import Person
from almoner.platform.database.transactions import Tx

_CONTEXT: Final = "authenticator"
_LABEL: Final = 64
"""Characters of the userName that an app shows; a QR code holds no 255 in every script."""


@dataclass(frozen=True, slots=True)
class SetUp:
    """What is shown to set an app up: the secret in groups to type, its address, and that as a QR code.

    ``qr``: a ``data:`` address of an SVG, dark on white, for an ``img``.
    """

    secret: str
    uri: str
    qr: str


async def begin(tx: Tx, person: Person, issuer: str, address: str | None = None) -> SetUp:
    """A new secret, which opens nothing before its first code is shown to ``confirm``. Raises HasAuthenticator.

    ``address``: where it is shown, for the audit log (V8).
    """
    secret = pyotp.random_base32()
    sealed = tx.vault.seal(secret.encode(), context=_CONTEXT, binding=person.id.bytes)
    if not await store.insert_authenticator(tx, person, sealed):
        raise HasAuthenticator
    return await _shown(tx, secret, person, issuer, address)


async def pending(tx: Tx, person: Person, issuer: str, address: str | None = None) -> SetUp:
    """What was begun, once more: after a wrong first code. ``address`` as for ``begin``. Raises NoAuthenticator."""
    sealed = await store.find_authenticator(tx, person, confirmed=False)
    if sealed is None:
        raise NoAuthenticator
    return await _shown(tx, _opened(tx, person, sealed), person, issuer, address)


async def confirm(tx: Tx, person: Person, code: str, by: By) -> bool:
    """Whether the first code is right; the app is in use from then on. Raises NoAuthenticator."""
    sealed = await store.find_authenticator(tx, person, confirmed=False)
    if sealed is None:
        raise NoAuthenticator
    if not await _take(tx, person, sealed, code, confirmed=False):
        return False
    await credentials.record(tx, person, by, "authenticator.added")
    return True


async def verify(tx: Tx, person: Person, code: str) -> bool:
    """Whether the code is right, one step early or late at most; it is used up then, with all before it."""
    sealed = await store.find_authenticator(tx, person, confirmed=True)
    return sealed is not None and await _take(tx, person, sealed, code, confirmed=True)


async def has(tx: Tx, person: Person, secret: str) -> bool:
    """Whether the app in use is the one with this secret (base 32)."""
    sealed = await store.find_authenticator(tx, person, confirmed=True)
    return sealed is not None and compare_digest(_opened(tx, person, sealed), secret)


async def remove(tx: Tx, person: Person, by: By) -> bool:
    """Take the app away; whether there was one in use. Raises LastSecondFactor."""
    await credentials.ensure_another_second(tx, person, authenticator=True)
    if not await store.delete_authenticator(tx, person):
        return False
    await credentials.tidy(tx, person)
    await credentials.record(tx, person, by, "authenticator.removed")
    return True


async def _take(tx: Tx, person: Person, sealed: bytes, code: str, *, confirmed: bool) -> bool:
    typed = domain.one_time_digits(code)
    if typed is None:
        return False
    app = pyotp.TOTP(_opened(tx, person, sealed), interval=STEP_SECONDS)
    now = int(tx.wall.timestamp()) // STEP_SECONDS
    steps = range(now - STEPS_AROUND, now + STEPS_AROUND + 1)
    right = [step for step in steps if compare_digest(app.generate_otp(step), typed)]
    return bool(right) and await store.take_step(tx, person, sealed, right[-1], confirmed=confirmed)


def _opened(tx: Tx, person: Person, sealed: bytes) -> str:
    return tx.vault.open(sealed, context=_CONTEXT, binding=person.id.bytes).decode()


async def _shown(tx: Tx, secret: str, person: Person, issuer: str, address: str | None) -> SetUp:
    await credentials.record(tx, person, credentials.themself(tx, person, address), "authenticator.shown")
    import segno  # on first use

    uri = pyotp.TOTP(secret, interval=STEP_SECONDS).provisioning_uri(name=person.user_name[:_LABEL], issuer_name=issuer)
    groups = " ".join(secret[at : at + 4] for at in range(0, len(secret), 4))
    qr = segno.make(uri, error="m", micro=False).svg_data_uri(scale=5, border=4, dark="#000", light="#fff")
    return SetUp(groups, uri, qr)
