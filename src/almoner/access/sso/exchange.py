"""The authorization request and the code exchange (RFC 6749 4.1, RFC 7636)."""

from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote_plus, urlencode

from almoner.access.sso.domain import (
    IdentityClaims,
    IdentityProvider,
    ProviderMetadata,
    SsoRefusalReason,
    SsoRefused,
    merge_userinfo,
    needs_userinfo,
    parse_identity_claims,
)
from almoner.access.sso.provider_metadata import (
    LONGEST_REPORT,
    MOST_BYTES,
    ProviderMetadataCache,
    build_unreachable_error,
    connection_pool_name,
    parse_json_response,
    parse_token_response,
)
from almoner.access.sso.state import OidcState
from almoner.kit.time import Clock
from almoner.platform.outbound.client import OutboundClient, OutboundFailure


def authorization_url(
    provider: IdentityProvider, metadata: ProviderMetadata, state: OidcState, redirect_uri: str
) -> str:
    """The provider's address to which the browser is redirected to sign in."""
    from authlib.oauth2.rfc7636 import create_s256_code_challenge  # on first use, as all that reads tokens: 3 MB

    asked = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(provider.scopes),
        "state": state.state,
        "nonce": state.nonce,
        "code_challenge": create_s256_code_challenge(state.verifier),
        "code_challenge_method": "S256",
    }
    if state.purpose == "proof":
        asked |= {"prompt": "login", "max_age": "0"}
    joint = "&" if "?" in metadata.authorization_endpoint else "?"
    return f"{metadata.authorization_endpoint}{joint}{urlencode(asked)}"


def parse_code_from_callback(provider: IdentityProvider, metadata: ProviderMetadata, query: Mapping[str, str]) -> str:
    """The authorization code in the provider's callback. Raises SsoRefused."""
    issuer = query.get("iss")
    if issuer != provider.issuer and (
        issuer is not None or metadata.returns_issuer_in_response
    ):  # RFC 9207 2.4: mix-up
        raise SsoRefused(
            SsoRefusalReason.ISSUER, "The response came from a different identity provider.", reported=issuer
        )
    if error := query.get("error"):
        reported = ": ".join(part for part in (error, query.get("error_description")) if part)
        raise SsoRefused(
            SsoRefusalReason.DECLINED, "The identity provider did not sign you in.", reported=reported[:LONGEST_REPORT]
        )
    if not (code := query.get("code")):
        raise SsoRefused(SsoRefusalReason.DECLINED, "The identity provider sent you back without a response.")
    return code


class TokenExchange:
    """Exchanges authorization codes for tokens at the provider."""

    def __init__(self, outbound: OutboundClient, directory: ProviderMetadataCache, clock: Clock) -> None:
        self._outbound = outbound
        self._directory = directory
        self._clock = clock

    async def redeem_code(
        self, provider: IdentityProvider, client_secret: str | None, state: OidcState, code: str, redirect_uri: str
    ) -> IdentityClaims:
        """Exchange a code for a verified identity. Raises SsoRefused."""
        metadata = await self._directory.get_metadata(provider)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": state.verifier,
        }
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        if client_secret is None or metadata.uses_client_secret_post:
            form["client_id"] = provider.client_id
        if client_secret is not None:
            if metadata.uses_client_secret_post:
                form["client_secret"] = client_secret
            else:
                headers["Authorization"] = _basic_authorization(provider.client_id, client_secret)
        answer = await self._request(provider, metadata, form, headers)
        token, access = answer.get("id_token"), answer.get("access_token")
        if not isinstance(token, str) or not isinstance(access, str):
            raise build_unreachable_error("the response has no ID token")
        claims = await self._claims(provider, state, token, access)
        if metadata.userinfo_endpoint is not None and needs_userinfo(provider, claims):
            claims = await self._with_userinfo(provider, metadata.userinfo_endpoint, claims, access)
        return parse_identity_claims(provider, claims)

    async def _with_userinfo(
        self, provider: IdentityProvider, url: str, claims: Mapping[str, Any], access: str
    ) -> Mapping[str, Any]:
        """The claims completed from userinfo; unchanged if the provider refuses the request."""
        headers = {"Accept": "application/json", "Authorization": f"Bearer {access}"}
        try:
            answer = await self._outbound.get(
                url, headers, connection_owner=connection_pool_name(provider), max_bytes=MOST_BYTES + 1
            )
        except OutboundFailure as error:
            raise build_unreachable_error(str(error)) from error
        if 400 <= answer.status < 500:  # some providers issue access tokens for other services only
            return claims
        return merge_userinfo(provider, claims, parse_json_response(answer))

    async def _request(
        self,
        provider: IdentityProvider,
        metadata: ProviderMetadata,
        form: Mapping[str, str],
        headers: Mapping[str, str],
    ) -> Mapping[str, Any]:
        body = urlencode(form).encode()
        try:
            answer = await self._outbound.post(
                metadata.token_endpoint,
                body,
                headers,
                connection_owner=connection_pool_name(provider),
                max_bytes=MOST_BYTES + 1,
            )
        except OutboundFailure as error:
            raise build_unreachable_error(str(error)) from error
        return parse_token_response(answer)

    async def _claims(self, provider: IdentityProvider, state: OidcState, token: str, access: str) -> Mapping[str, Any]:
        from almoner.access.sso import tokens

        keys = await self._directory.get_signing_keys(provider)
        real_now = self._clock.real_now()
        try:
            return tokens.verify_id_token(token, keys, provider, state.nonce, access, real_now)
        except tokens.UnknownSigningKey:
            newer = await self._directory.refresh_signing_keys(provider, keys)
        if newer is not None:
            with suppress(tokens.UnknownSigningKey):  # reported below
                return tokens.verify_id_token(token, newer, provider, state.nonce, access, real_now)
        raise SsoRefused(
            SsoRefusalReason.TOKEN, "The identity provider signed its response with a key that it does not publish."
        )


def _basic_authorization(client_id: str, secret: str) -> str:
    """``client_secret_basic``: both parts are form-encoded first (RFC 6749 2.3.1)."""
    return "Basic " + b64encode(f"{quote_plus(client_id)}:{quote_plus(secret)}".encode()).decode()
