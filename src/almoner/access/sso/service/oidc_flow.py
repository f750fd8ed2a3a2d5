"""The OpenID Connect authorization code flow, with no network call inside a transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from almoner.access.people.domain import Person, member_realm
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import (
    Browser,
    EmailLink,
    InvalidEmailLink,
    NewSignIn,
    PendingSecondFactor,
    SignIn,
    SignInFailed,
)
from almoner.access.sign_ins.service import links, sign_in_methods
from almoner.access.sso import exchange, service, state
from almoner.access.sso.domain import (
    IdentityClaims,
    IdentityProvider,
    NoSuchIdentityProvider,
    ProviderMetadata,
    SsoRefusalReason,
    SsoRefused,
    authentication_time_from_claims,
    is_fresh_authentication,
)
from almoner.access.sso.exchange import TokenExchange
from almoner.access.sso.provider_metadata import ProviderMetadataCache
from almoner.access.sso.service import identities
from almoner.access.sso.state import OidcState, Purpose
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.outbound.client import OutboundClient


@dataclass(frozen=True, slots=True)
class AuthorizationRedirect:
    """A redirect to the provider, and the cookie that keeps the flow's state."""

    url: str
    cookie_name: str
    cookie_value: str


@dataclass(frozen=True, slots=True)
class CallbackRequest:
    """A browser that returns from the provider: its query, cookies and current sign-in."""

    partner: Partner
    query: Mapping[str, str]
    cookies: Mapping[str, str]
    browser: Browser
    sign_in: SignIn | None = None

    @property
    def state_cookie_name(self) -> str:
        """The state cookie, which is deleted after use."""
        return state.state_cookie_name(self.query.get("state", ""))


class RenewedSession(NamedTuple):
    """A sign-in after a reauthentication, and its new session secret."""

    sign_in: SignIn
    secret: str


@dataclass(frozen=True, slots=True)
class CallbackResult:
    """The outcome of a callback. ``redirect_path``: the page to redirect to.

    ``sign_in_or_second_factor``: the new sign-in, or the second-factor step; None if already signed in.
    ``renewed_session``: set after a reauthentication.
    """

    sign_in_or_second_factor: NewSignIn | PendingSecondFactor | None
    redirect_path: str
    renewed_session: RenewedSession | None = None


@dataclass(frozen=True, slots=True)
class _ClaimedState:
    """The claimed state and the data of the token request."""

    provider: IdentityProvider
    secret: str | None
    redirect: str


class OidcFlow:
    """The OpenID Connect flow for all partners' providers; one per process."""

    def __init__(self, db: Database, outbound: OutboundClient) -> None:
        self._db = db
        self._clock = db.deployment.clock
        self._directory = ProviderMetadataCache(outbound, self._clock)
        self._exchange = TokenExchange(outbound, self._directory, self._clock)

    async def start_authorization(
        self, partner: Partner, purpose: Purpose, next_path: str, invitation_or_sign_in_id: UUID | None = None
    ) -> AuthorizationRedirect:
        """Start a flow. ``invitation_or_sign_in_id``: the invitation to accept or the sign-in to reauthenticate.

        Raises SsoRefused, NoSuchIdentityProvider.
        """
        async with self._db.read() as tx:
            provider = await service.get_provider(tx, partner)
            redirect = service.redirect_uri(tx, partner)
        if not provider.enabled:
            raise NoSuchIdentityProvider
        metadata = await self._directory.get_metadata(provider)
        started = state.create_state(provider, purpose, next_path, self._clock.real_now(), invitation_or_sign_in_id)
        url = exchange.authorization_url(provider, metadata, started, redirect)
        return AuthorizationRedirect(
            url, started.cookie_name, state.encrypt_state(self._db.deployment.vault, partner, started)
        )

    async def complete_authorization(self, callback: CallbackRequest) -> CallbackResult:
        """Complete a flow and sign the person in. Raises SsoRefused, which is audited.

        An unknown state is not audited, because anybody could fill the log.
        """
        vault, stored = self._db.deployment.vault, callback.cookies.get(callback.state_cookie_name, "")
        found = state.decrypt_state(
            vault, callback.partner, callback.query.get("state", ""), stored, self._clock.real_now()
        )
        try:
            taken = await self._claim_state(callback, found)
            metadata = await self._directory.get_metadata(taken.provider)
            code = exchange.parse_code_from_callback(taken.provider, metadata, callback.query)
            stated = await self._exchange.redeem_code(taken.provider, taken.secret, found, code, taken.redirect)
            async with self._db.write() as tx:
                return await _complete_flow(tx, taken.provider, found, stated, callback)
        except SsoRefused as refused:
            async with self._db.write() as tx:
                await service.record_refusal(tx, callback.partner, refused, ip_address=callback.browser.ip_address)
            raise

    async def fetch_provider_metadata(self, partner: Partner) -> ProviderMetadata:
        """Fetch the provider's current metadata. Raises SsoRefused, NoSuchIdentityProvider."""
        async with self._db.read() as tx:
            provider = await service.get_provider(tx, partner)
        return await self._directory.refetch_metadata(provider)

    async def _claim_state(self, callback: CallbackRequest, found: OidcState) -> _ClaimedState:
        """Claim the state; works once. Raises SsoRefused."""
        async with self._db.write() as tx:
            is_first = await service.consume_state(tx, callback.partner, found.hash, found.started_at)
            provider = await service.find_provider(tx, callback.partner)
            redirect = service.redirect_uri(tx, callback.partner)
            secret = service.decrypt_client_secret(tx, provider) if provider else None
        if not is_first:
            raise SsoRefused(SsoRefusalReason.USED, "This sign-in has ended. Please start again.")
        if provider is None or not provider.enabled or provider.version != found.version:
            raise SsoRefused(SsoRefusalReason.CHANGED, "The sign-in settings have changed. Please try again.")
        return _ClaimedState(provider, secret, redirect)


async def _complete_flow(
    tx: Tx, provider: IdentityProvider, found: OidcState, claims: IdentityClaims, callback: CallbackRequest
) -> CallbackResult:
    """Complete the purpose that the flow was started for. Raises SsoRefused."""
    if found.purpose == "proof":
        return CallbackResult(
            None, found.onward, await _complete_reauthentication(tx, provider, found, claims, callback.sign_in)
        )
    if found.purpose == "connect":
        await identities.link_account(
            tx, provider, claims, _require_same_sign_in(found, callback.sign_in), callback.browser
        )
        return CallbackResult(None, found.onward)
    link, invited = (
        await _open_invitation(tx, provider.partner, found) if found.purpose == "invitation" else (None, None)
    )
    person = await identities.find_or_create_linked_person(tx, provider, claims, invited, callback.browser)
    try:
        if link is not None:
            await links.consume_link(tx, link, person)
        at = authentication_time_from_claims(claims, tx.real_now)
        return CallbackResult(
            await sign_in_methods.sign_in_by_sso(
                tx, person, callback.browser, authenticated_at=at, used_second_factor=claims.used_multi_factor
            ),
            found.onward,
        )
    except InvalidEmailLink as error:
        raise SsoRefused(SsoRefusalReason.INVITATION, "This invitation is no longer valid.") from error
    except SignInFailed as error:
        raise SsoRefused(SsoRefusalReason.DEACTIVATED, "Your account has been deactivated.") from error


async def _complete_reauthentication(
    tx: Tx, provider: IdentityProvider, found: OidcState, claims: IdentityClaims, sign_in: SignIn | None
) -> RenewedSession:
    """Record that the signed-in person has reauthenticated. Raises SsoRefused."""
    sign_in = _require_same_sign_in(found, sign_in)
    if not is_fresh_authentication(claims, found.started_at):
        raise SsoRefused(
            SsoRefusalReason.NOT_FRESH, "The identity provider did not confirm that you have just signed in."
        )
    await identities.ensure_identity_belongs_to_person(tx, provider, claims, sign_in.person_id)
    return RenewedSession(sign_in, await sign_ins.rotate_secret_after_reauthentication(tx, sign_in))


def _require_same_sign_in(found: OidcState, sign_in: SignIn | None) -> SignIn:
    """The sign-in that started the flow. Raises SsoRefused if the browser is no longer signed in with it."""
    if sign_in is None or sign_in.id != found.record:
        raise SsoRefused(SsoRefusalReason.STATE, "You are no longer signed in to this browser.")
    return sign_in


async def _open_invitation(tx: Tx, partner: Partner, found: OidcState) -> tuple[EmailLink, Person]:
    """The open invitation that this browser accepts, and its person. Raises SsoRefused."""
    try:
        assert found.record is not None, "a sign-in for an invitation is begun with its link"
        link, invited = await links.get_valid_link(
            tx, tx.vault.create_page_token("invitation", found.record), "invitation"
        )
    except InvalidEmailLink as error:
        raise SsoRefused(
            SsoRefusalReason.INVITATION, "This invitation is no longer valid. Ask for a new one."
        ) from error
    if invited.realm != member_realm(partner):
        raise SsoRefused(SsoRefusalReason.INVITATION, "This invitation is for a different organisation.")
    return link, invited
