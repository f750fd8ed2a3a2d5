"""The WebAuthn registration and authentication ceremonies, through a library that is imported on first use."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
from webauthn.helpers import (
    parse_authentication_credential_json,
    parse_client_data_json,
    parse_registration_credential_json,
)
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticationCredential,
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    RegistrationCredential,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)
from webauthn.registration.verify_registration_response import VerifiedRegistration

from almoner.access.credentials.domain import CHALLENGE_LIFETIME, InvalidPasskeyResponse
from almoner.access.people.domain import Person

_NAME: Final = "Almoner"
_TIMEOUT_MS: Final = int(CHALLENGE_LIFETIME.total_seconds() * 1000)
_VERIFIED: Final = UserVerificationRequirement.REQUIRED
# Exceptions that the library's parsers let through for malformed input, besides its own.
_BROKEN: Final = (WebAuthnException, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


def build_registration_options(rp_id: str, person: Person, challenge: bytes, credential_ids: Sequence[bytes]) -> str:
    """Options for ``navigator.credentials.create`` as JSON; ``credential_ids`` credentials are excluded."""
    options = generate_registration_options(
        rp_id=rp_id,
        rp_name=_NAME,
        user_id=person.id.bytes,
        user_name=person.user_name,
        user_display_name=person.display_name,
        challenge=challenge,
        timeout=_TIMEOUT_MS,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=_VERIFIED
        ),
        exclude_credentials=_credential_descriptors(credential_ids),
    )
    return options_to_json(options)


def build_authentication_options(rp_id: str, challenge: bytes, credential_ids: Sequence[bytes]) -> str:
    """Options for ``navigator.credentials.get`` as JSON: one of ``credential_ids``, or any passkey of this site."""
    options = generate_authentication_options(
        rp_id=rp_id,
        challenge=challenge,
        timeout=_TIMEOUT_MS,
        allow_credentials=_credential_descriptors(credential_ids),
        user_verification=_VERIFIED,
    )
    return options_to_json(options)


def parse_registration_response(response_json: str) -> tuple[RegistrationCredential, bytes]:
    """Parse the browser's registration response and the challenge it answers. Raises InvalidPasskeyResponse."""
    with _raise_passkey_refused():
        made = parse_registration_credential_json(response_json)
        return made, parse_client_data_json(made.response.client_data_json).challenge


def parse_authentication_response(response_json: str) -> tuple[AuthenticationCredential, bytes]:
    """Parse the browser's authentication response and the challenge it answers. Raises InvalidPasskeyResponse."""
    with _raise_passkey_refused():
        given = parse_authentication_credential_json(response_json)
        return given, parse_client_data_json(given.response.client_data_json).challenge


def verify_registration(credential: RegistrationCredential, **expected: Any) -> VerifiedRegistration:
    """Verify a registration response; returns the new credential. Raises InvalidPasskeyResponse."""
    with _raise_passkey_refused():
        return verify_registration_response(credential=credential, require_user_verification=True, **expected)


def verify_authentication(credential: AuthenticationCredential, **expected: Any) -> VerifiedAuthentication:
    """Verify an authentication response. Raises InvalidPasskeyResponse."""
    with _raise_passkey_refused():
        return verify_authentication_response(
            credential=credential,
            credential_current_sign_count=0,  # compared by the caller
            require_user_verification=True,
            **expected,
        )


def _credential_descriptors(credential_ids: Sequence[bytes]) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=one) for one in credential_ids]


@contextmanager
def _raise_passkey_refused() -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise InvalidPasskeyResponse(str(error)) from error
