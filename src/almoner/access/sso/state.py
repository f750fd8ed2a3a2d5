"""The encrypted state cookie of one OpenID Connect flow, valid for ten minutes."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Final, Literal
from uuid import UUID

import msgspec

from almoner.access.sso.domain import STATE_LIFETIME, IdentityProvider, SsoRefusalReason, SsoRefused
from almoner.platform.crypto import DecryptionFailed, Vault
from almoner.platform.database.transactions import Partner

Purpose = Literal["sign_in", "invitation", "connect", "proof"]

_CONTEXT: Final = "sign-on-state"
_LONGEST: Final = 200


class OidcState(msgspec.Struct, frozen=True):
    """The state of one OpenID Connect flow in progress.

    ``state``: identifies it to the provider and back. ``nonce``: must be in the token. ``verifier``: for PKCE (RFC
    7636). ``version``: of the provider's settings. ``record``: the invitation that is accepted, the sign-in that is
    reauthenticated, or the person who connects the account. ``begun``: real time in seconds.
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
        """When the flow started, in real time."""
        return datetime.fromtimestamp(self.started, UTC)

    @property
    def hash(self) -> bytes:
        """The hash under which the used state is recorded."""
        return sha256(self.state.encode()).digest()

    @property
    def cookie_name(self) -> str:
        """The state cookie's name: one for each flow, so that tabs do not mix."""
        return state_cookie_name(self.state)


def create_state(
    provider: IdentityProvider, purpose: Purpose, next_path: str, real_now: datetime, record_id: UUID | None = None
) -> OidcState:
    """New state, nonce and PKCE verifier for a flow."""
    secrets = (token_urlsafe(32), token_urlsafe(32), token_urlsafe(32))
    return OidcState(*secrets, provider.version, int(real_now.timestamp()), purpose, next_path, record_id)


def state_cookie_name(state: str) -> str:
    """The cookie name for a state, limited to this host."""
    return f"__Host-sign-on-{sha256(state.encode()).hexdigest()[:16]}"


def encrypt_state(vault: Vault, partner: Partner, state: OidcState) -> str:
    """The encrypted cookie value, bound to the partner."""
    sealed = vault.encrypt(msgspec.json.encode(state), context=_CONTEXT, associated_data=partner.id.bytes)
    return urlsafe_b64encode(sealed).decode().rstrip("=")


def decrypt_state(
    vault: Vault, partner: Partner, returned_state: str, cookie_value: str, real_now: datetime
) -> OidcState:
    """The flow that belongs to a returned ``state`` in this browser. Raises SsoRefused."""
    try:
        sealed = urlsafe_b64decode(cookie_value + "=" * (-len(cookie_value) % 4))
        plain = vault.decrypt(sealed, context=_CONTEXT, associated_data=partner.id.bytes)
        found = msgspec.json.decode(plain, type=OidcState)
    except (DecryptionFailed, ValueError, msgspec.DecodeError) as error:
        raise SsoRefused(SsoRefusalReason.STATE, "This sign-in was not started in this browser.") from error
    if len(returned_state) > _LONGEST or not compare_digest(found.state.encode(), returned_state.encode()):
        raise SsoRefused(SsoRefusalReason.STATE, "This sign-in was not started in this browser.")
    if real_now - found.started_at >= STATE_LIFETIME:
        raise SsoRefused(
            SsoRefusalReason.STATE, "This sign-in has expired. Sign-ins must be completed within 10 minutes."
        )
    return found
