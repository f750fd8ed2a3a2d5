"""Fetches and caches providers' metadata and signing keys.

Each partner has its own copy, over connections of its own: one partner's provider cannot affect another.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import msgspec

from almoner.access.sso.domain import IdentityProvider, ProviderMetadata, SsoRefusalReason, SsoRefused
from almoner.kit.time import Clock
from almoner.platform.outbound import addresses
from almoner.platform.outbound.addresses import AddressRefused
from almoner.platform.outbound.client import OutboundClient, OutboundFailure, OutboundResponse

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

MOST_BYTES: Final = 256 * 1024
"""The size limit of metadata or a key set; large providers list a dozen keys with certificates."""

_KEPT: Final = timedelta(minutes=10)
_AGAIN: Final = timedelta(seconds=60)
_PAUSE: Final = timedelta(seconds=5)
"""After a failure, the provider is not requested again for this long."""

_MOST_KEPT: Final = 1000
LONGEST_REPORT: Final = 300
"""Maximum number of characters shown of an error message."""
_WELL_KNOWN: Final = "/.well-known/openid-configuration"


@dataclass(slots=True)
class _CachedMetadata:
    """Fetched data of one provider. ``asked_again_at``: when ``turn`` last refetched keys early."""

    metadata: ProviderMetadata
    keys: "KeySet"
    fetched_at: datetime
    asked_again_at: datetime | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class _CacheEntry:
    """One provider of one partner. ``turn``: the lock for fetching; others wait for its result."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    known: _CachedMetadata | None = None
    failed: SsoRefused | None = None
    failed_at: datetime | None = None


class _TokenError(msgspec.Struct):
    error: str
    error_description: str | None = None


class ProviderMetadataCache:
    """Providers' metadata and signing keys, cached in this process for ten minutes."""

    def __init__(self, outbound: OutboundClient, clock: Clock) -> None:
        self._outbound = outbound
        self._clock = clock
        self._places: OrderedDict[tuple[UUID, str], _CacheEntry] = OrderedDict()

    async def get_metadata(self, provider: IdentityProvider) -> ProviderMetadata:
        """The provider's metadata, cached. Raises SsoRefused."""
        return (await self._lookup(provider)).metadata

    async def get_signing_keys(self, provider: IdentityProvider) -> "KeySet":
        """The provider's signing keys, cached. Raises SsoRefused."""
        return (await self._lookup(provider)).keys

    async def refresh_signing_keys(self, provider: IdentityProvider, cached_keys: "KeySet") -> "KeySet | None":
        """Refetch signing keys for a token with an unknown key; None if that was done within a minute.

        This stops made-up key IDs from causing constant requests. Raises SsoRefused.
        """
        found = await self._lookup(provider)
        async with found.turn:
            if found.keys is not cached_keys:
                return found.keys  # another request has just refetched them
            now = self._clock.real_now()
            if found.asked_again_at is not None and now - found.asked_again_at < _AGAIN:
                return None
            found.asked_again_at = now
            found.keys = await self._fetch_keys(provider, found.metadata)
            return found.keys

    async def refetch_metadata(self, provider: IdentityProvider) -> ProviderMetadata:
        """Fetch metadata and keys again, for an owner's connection test. Raises SsoRefused."""
        self._places.pop((provider.partner.id, provider.issuer), None)
        return (await self._lookup(provider)).metadata

    async def _lookup(self, provider: IdentityProvider) -> _CachedMetadata:
        place = self._places.setdefault((provider.partner.id, provider.issuer), _CacheEntry())
        if len(self._places) > _MOST_KEPT:
            self._places.popitem(last=False)
        async with place.turn:
            now = self._clock.real_now()
            if place.failed is not None and place.failed_at is not None and now - place.failed_at < _PAUSE:
                raise SsoRefused(place.failed.reason, place.failed.text, reported=place.failed.reported)
            if place.known is None or now - place.known.fetched_at >= _KEPT:
                place.known = await self._request(provider, place, now)
            return place.known

    async def _request(self, provider: IdentityProvider, place: _CacheEntry, now: datetime) -> _CachedMetadata:
        try:
            metadata = await self._fetch_metadata(provider)
            known = _CachedMetadata(metadata, await self._fetch_keys(provider, metadata), now)
        except SsoRefused as refused:
            place.failed, place.failed_at = refused, self._clock.real_now()
            raise
        place.failed = None
        return known

    async def _fetch_metadata(self, provider: IdentityProvider) -> ProviderMetadata:
        document = await self._document(provider, provider.issuer.rstrip("/") + _WELL_KNOWN)
        if document.get("issuer") != provider.issuer:
            raise SsoRefused(
                SsoRefusalReason.ISSUER,
                "The issuer in the provider's configuration does not match the issuer that you entered.",
                reported=str(document.get("issuer"))[:200],
            )
        methods = document.get("token_endpoint_auth_methods_supported")
        methods = methods if isinstance(methods, list) else ["client_secret_basic"]  # Discovery 3: the default
        return ProviderMetadata(
            provider.issuer,
            self._address(document, "authorization_endpoint"),
            self._address(document, "token_endpoint"),
            self._address(document, "jwks_uri"),
            self._address(document, "userinfo_endpoint") if document.get("userinfo_endpoint") else None,
            "client_secret_basic" not in methods and "client_secret_post" in methods,
            document.get("authorization_response_iss_parameter_supported") is True,
        )

    async def _fetch_keys(self, provider: IdentityProvider, metadata: ProviderMetadata) -> "KeySet":
        from almoner.access.sso import tokens  # on first use

        keys = tokens.parse_key_set(await self._document(provider, metadata.jwks_uri))
        if not keys:
            raise build_unreachable_error("the provider does not publish a signing key")
        return keys

    async def _document(self, provider: IdentityProvider, url: str) -> Mapping[str, Any]:
        try:
            answer = await self._outbound.get(
                url,
                {"Accept": "application/json"},
                connection_owner=connection_pool_name(provider),
                max_bytes=MOST_BYTES + 1,
            )
        except OutboundFailure as error:
            raise build_unreachable_error(str(error)) from error
        return parse_json_response(answer)

    def _address(self, document: Mapping[str, Any], name: str) -> str:
        found = document.get(name)
        try:
            return addresses.parse_target(found if isinstance(found, str) else "", self._outbound.policy).url
        except AddressRefused as error:
            raise build_unreachable_error(f"the {name} {error.reason}") from error


def connection_pool_name(provider: IdentityProvider) -> str:
    """The connection pool name of a provider, never shared with other partners or webhooks."""
    return f"sign-on {provider.partner.id}"


def build_unreachable_error(detail: str) -> SsoRefused:
    """The error that the provider is unreachable or misbehaves."""
    return SsoRefused(
        SsoRefusalReason.UNREACHABLE, "The identity provider did not respond as expected.", reported=detail
    )


def parse_json_response(response: OutboundResponse) -> Mapping[str, Any]:
    """The JSON object of a provider's response. Raises SsoRefused."""
    if response.status != 200:
        raise build_unreachable_error(f"the provider returned status {response.status}")
    if len(response.body) > MOST_BYTES:
        raise build_unreachable_error("the response is too large")
    try:
        return msgspec.json.decode(response.body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise build_unreachable_error("the response is not a JSON object") from error


def parse_token_response(response: OutboundResponse) -> Mapping[str, Any]:
    """The JSON object of a token response. Raises SsoRefused, with the provider's own error (RFC 6749 5.2)."""
    try:
        return parse_json_response(response)
    except SsoRefused as refused:
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            stated = msgspec.json.decode(response.body, type=_TokenError)
            parts = (refused.reported, stated.error, stated.error_description)
            raise build_unreachable_error(": ".join(part for part in parts if part)[:LONGEST_REPORT]) from refused
        raise
