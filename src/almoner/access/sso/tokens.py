"""Verifies ID tokens (OpenID Connect Core 3.1.3.7): signature first, then every claim."""

import warnings
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import BadSignatureError, InvalidKeyIdError, InvalidKeyTypeError, JoseError, SecurityWarning
from joserfc.jwk import KeySet, KeySetSerialization
from joserfc.jws import JWSRegistry

from almoner.access.sso.domain import CLOCK_SKEW, IdentityProvider, SsoRefusalReason, SsoRefused

_ALGORITHMS: Final = ("RS256", "PS256", "ES256", "EdDSA")
"""Asymmetric signatures only: never ``none`` or a shared secret, for which a public key could be used."""

_ASYMMETRIC: Final = ("RSA", "EC", "OKP")
_OF_A_KEY: Final = ("kty", "kid", "alg", "n", "e", "crv", "x", "y")


class UnknownSigningKey(Exception):
    """The token was signed with a key that we have not fetched; the provider may have rotated its keys."""


def parse_key_set(jwks: Mapping[str, Any]) -> KeySet:
    """The usable signing keys of a JWK set (RFC 7517)."""
    listed = jwks.get("keys")
    usable = []
    for key in listed if isinstance(listed, list) else ():
        if isinstance(key, dict) and key.get("kty") in _ASYMMETRIC and key.get("use", "sig") == "sig":
            usable += _import_key(key)
    return KeySet(usable)


def _import_key(key: dict[str, Any]) -> list[Any]:
    """Import one key; empty if it cannot be read (RFC 7517 5: unknown keys are ignored)."""
    try:
        # Other members that providers publish (certificates, operations) are not needed here.
        stored: dict[str, Any] = {name: key[name] for name in _OF_A_KEY if name in key}
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a key that is too short is invalid
            return list(KeySet.import_key_set(KeySetSerialization(keys=[stored])))
    except (JoseError, ValueError, TypeError, KeyError, Warning):
        return []


def verify_id_token(
    token: str, keys: KeySet, provider: IdentityProvider, nonce: str, access_token: str, real_now: datetime
) -> Mapping[str, Any]:
    """The verified claims of an ID token for this sign-in.

    Raises SsoRefused, and UnknownSigningKey if refetched keys may verify it.
    """
    try:
        signed = _verify_signature(token, keys)
        claims = CodeIDToken(
            signed.claims,
            signed.header,
            {
                "iss": {"essential": True, "value": provider.issuer},
                "aud": {"essential": True, "value": provider.client_id},
                "at_hash": {"essential": False},
            },
            {"client_id": provider.client_id, "nonce": nonce, "access_token": access_token},
        )
        claims.validate(now=int(real_now.timestamp()), leeway=int(CLOCK_SKEW.total_seconds()))
    except (InvalidKeyIdError, BadSignatureError, InvalidKeyTypeError) as error:
        raise UnknownSigningKey from error  # also for a known key ID: some providers reuse it for the next key
    except (JoseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        # Whatever is wrong, the token comes from another party: report its error and sign nobody in.
        raise SsoRefused(
            SsoRefusalReason.TOKEN,
            "The identity provider's response is not valid for this sign-in.",
            reported=str(error),
        ) from error
    return dict(claims)


def _verify_signature(token: str, keys: KeySet) -> jwt.Token:
    """Verify the signature and return the token."""
    registry = JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
    with warnings.catch_warnings():
        # RFC 9864 has a new name for EdDSA; providers still sign under the old one.
        warnings.simplefilter("ignore", SecurityWarning)
        return jwt.decode(token, keys, algorithms=_ALGORITHMS, registry=registry)
