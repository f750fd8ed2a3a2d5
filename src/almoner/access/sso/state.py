"""What a browser keeps while its reader is at the provider: sealed, for ten minutes, for one sign-in."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Final, Literal
from uuid import UUID

import msgspec

from almoner.access.sso.domain import STATE_LIFETIME, Provider, SsoRefusalReason, SsoRefused
from almoner.platform.crypto import DecryptionFailed, Vault
from almoner.platform.database.transactions import Partner

Purpose = Literal["sign_in", "invitation", "connect", "proof"]

_CONTEXT: Final = "sign-on-state"
_LONGEST: Final = 200


class OidcState(msgspec.Struct, frozen=True):
    """One sign-in under way.

    ``state`` names it to the provider and back; ``nonce`` is to be in the token; ``verifier`` is PKCE's (RFC 7636).
    ``version``: of the provider's settings. ``record``: the link that is being accepted, or the sign-in that is to be
    proved, or whose person connects the account. ``begun``: seconds of real time.
    """

    state: str
    nonce: str
    verifier: str
    version: int
    started: int
    purpose: Purpose
    onward: str
    record: UUID | None = None

    @property
    def started_at(self) -> datetime:
        """When it was begun, in real time."""
        return datetime.fromtimestamp(self.started, UTC)

    @property
    def hash(self) -> bytes:
        """Under which it is kept that it came back."""
        return sha256(self.state.encode()).digest()

    @property
    def cookie_name(self) -> str:
        """One for each sign-in, so that two tabs do not mix."""
        return state_cookie_name(self.state)


def create_state(
    provider: Provider, purpose: Purpose, onward: str, real_now: datetime, record: UUID | None = None
) -> OidcState:
    """A new sign-in; each of its three secrets has 256 bits."""
    secrets = (token_urlsafe(32), token_urlsafe(32), token_urlsafe(32))
    return OidcState(*secrets, provider.version, int(real_now.timestamp()), purpose, onward, record)


def state_cookie_name(state: str) -> str:
    """The name of the cookie that keeps a state: for this host alone."""
    return f"__Host-sign-on-{sha256(state.encode()).hexdigest()[:16]}"


def encrypt_state(vault: Vault, partner: Partner, state: OidcState) -> str:
    """What the cookie holds; bound to the partner."""
    sealed = vault.encrypt(msgspec.json.encode(state), context=_CONTEXT, binding=partner.id.bytes)
    return urlsafe_b64encode(sealed).decode().rstrip("=")


def decrypt_state(vault: Vault, partner: Partner, returned: str, stored: str, real_now: datetime) -> OidcState:
    """The sign-in that comes back with ``state`` to the browser that kept it. Raises Refused."""
    try:
        sealed = urlsafe_b64decode(stored + "=" * (-len(stored) % 4))
        plain = vault.decrypt(sealed, context=_CONTEXT, binding=partner.id.bytes)
        found = msgspec.json.decode(plain, type=OidcState)
    except (DecryptionFailed, ValueError, msgspec.DecodeError) as error:
        raise SsoRefused(SsoRefusalReason.STATE, "This sign-in was not started in this browser.") from error
    if len(returned) > _LONGEST or not compare_digest(found.state.encode(), returned.encode()):
        raise SsoRefused(SsoRefusalReason.STATE, "This sign-in was not started in this browser.")
    if real_now - found.started_at >= STATE_LIFETIME:
        raise SsoRefused(
            SsoRefusalReason.STATE, "This sign-in has expired. Sign-ins must be completed within 10 minutes."
        )
    return found
