"""Passkeys (WebAuthn level 2) with user verification, so that a passkey alone is two factors.

Challenges are not stored. A challenge holds random bytes, its expiry, and our signature over both, its purpose and
``binding`` (bytes from the browser's cookie). Used challenges are stored: the counter of a synced passkey stays 0, so
it does not prevent replays.
"""

import os
from dataclasses import replace
from datetime import UTC, datetime
from types import ModuleType
from typing import Final, Literal
from urllib.parse import urlsplit
from uuid import UUID

from almoner.access.credentials import domain, service, store
from almoner.access.credentials.domain import (
    CHALLENGE_LIFETIME,
    AuditContext,
    InvalidPasskeyResponse,
    NoSuchPasskey,
    Passkey,
)
from almoner.access.people import service as people
from almoner.access.people.domain import Person, Realm
from almoner.platform.database.transactions import Tx
from almoner.platform.deployment import BaseUrls
from almoner.platform.pages.headers import origin_of_url

Purpose = Literal["add", "use"]

_RANDOM_BYTES: Final = 16
_TIME_BYTES: Final = 8


async def build_registration_options(tx: Tx, person: Person, challenge_binding: bytes) -> str:
    """Options for ``navigator.credentials.create`` as JSON, excluding passkeys the person already has."""
    known = await store.list_passkeys(tx, person)
    challenge = _create_challenge(tx, "add", person.id.bytes + challenge_binding)
    options: str = _webauthn().build_registration_options(
        relying_party_id(tx.base_urls), person, challenge, [one.credential for one in known]
    )
    return options


async def add_passkey(
    tx: Tx, person: Person, challenge_binding: bytes, response_json: str, name: str, audit_context: AuditContext
) -> Passkey:
    """Verify and store the passkey that the browser created. Raises InvalidPasskeyResponse."""
    webauthn = _webauthn()
    made, challenge = webauthn.parse_registration_response(response_json)
    checked = webauthn.verify_registration(
        made,
        expected_challenge=challenge,
        expected_rp_id=relying_party_id(tx.base_urls),
        expected_origin=_expected_origin(tx.base_urls),
    )
    await _consume_challenge(tx, "add", person.id.bytes + challenge_binding, challenge)
    passkey = Passkey(
        tx.new_id(),
        person.id,
        checked.credential_id,
        checked.credential_public_key,
        checked.sign_count,
        domain.clean_passkey_name(name),
        tx.real_now,
        None,
    )
    if not await store.insert_passkey(tx, passkey):
        raise InvalidPasskeyResponse("the credential is known already")
    await service.record_audit_entry(
        tx, person, audit_context, "passkey.added", {"passkey": tx.ids.encode("passkey", passkey.id)}
    )
    return passkey


async def build_authentication_options(tx: Tx, challenge_binding: bytes, person: Person | None = None) -> str:
    """Options for ``navigator.credentials.get`` as JSON, for one person's passkeys or for any."""
    known = await store.list_passkeys(tx, person) if person else []
    challenge = _create_challenge(tx, "use", challenge_binding)
    credentials = [one.credential for one in known]
    options: str = _webauthn().build_authentication_options(relying_party_id(tx.base_urls), challenge, credentials)
    return options


async def verify_passkey(tx: Tx, realm: Realm, challenge_binding: bytes, response_json: str) -> tuple[Person, Passkey]:
    """Verify a passkey response, once; returns its person, active or not. Raises InvalidPasskeyResponse.

    A decreased counter is audited (``passkey.counter_decreased``): the passkey may have been copied. It is not refused,
    because two browsers may have used it at once.
    """
    webauthn = _webauthn()
    given, challenge = webauthn.parse_authentication_response(response_json)
    passkey = await store.find_passkey(tx, realm, given.raw_id)
    if passkey is None:
        raise InvalidPasskeyResponse("nobody of this realm has this passkey")
    if given.response.user_handle not in (None, passkey.person_id.bytes):
        raise InvalidPasskeyResponse("the passkey says that it is somebody else's")
    checked = webauthn.verify_authentication(
        given,
        expected_challenge=challenge,  # our signature in it is verified below
        expected_rp_id=relying_party_id(tx.base_urls),
        expected_origin=_expected_origin(tx.base_urls),
        credential_public_key=passkey.public_key,
    )
    await _consume_challenge(tx, "use", challenge_binding, challenge)
    await store.record_passkey_use(tx, passkey, checked.new_sign_count)
    person = await people.get(tx, realm, passkey.person_id)
    if not passkey.sign_count or checked.new_sign_count > passkey.sign_count:
        return person, passkey
    about = {"passkey": tx.ids.encode("passkey", passkey.id)}
    await service.record_audit_entry(
        tx, person, service.build_audit_context_of_person(tx, person, None), "passkey.counter_decreased", about
    )
    return person, replace(passkey, sign_count_not_increased=True)


async def list_by_person(tx: Tx, person: Person) -> list[Passkey]:
    """The person's passkeys, oldest first."""
    return await store.list_passkeys(tx, person)


async def remove_passkey(tx: Tx, person: Person, passkey_id: UUID, audit_context: AuditContext) -> Passkey:
    """Delete a passkey. Raises NoSuchPasskey, LastSecondFactorCannotBeRemoved."""
    found = next((one for one in await store.list_passkeys(tx, person) if one.id == passkey_id), None)
    if found is None:
        raise NoSuchPasskey(tx.ids.encode("passkey", passkey_id))
    await service.ensure_second_factor_remains(tx, person, removes_authenticator=False)
    await store.delete_passkey(tx, person, passkey_id)
    await service.remove_unusable_recovery_codes(tx, person)
    await service.record_audit_entry(
        tx, person, audit_context, "passkey.removed", {"passkey": tx.ids.encode("passkey", passkey_id)}
    )
    return found


def relying_party_id(base_urls: BaseUrls) -> str:
    """The WebAuthn relying party ID: the host name of the pages."""
    return urlsplit(base_urls.pages).hostname or ""


def _expected_origin(base_urls: BaseUrls) -> str:
    """The expected origin, as browsers send it; "" without a base URL, where passkeys do not work."""
    return origin_of_url(base_urls.pages) or ""


def _webauthn() -> ModuleType:
    from almoner.access.credentials.service import webauthn as webauthn_module  # on first use: 7 MB

    return webauthn_module


def _create_challenge(tx: Tx, purpose: Purpose, binding: bytes) -> bytes:
    until = int((tx.real_now + CHALLENGE_LIFETIME).timestamp())
    body = os.urandom(_RANDOM_BYTES) + until.to_bytes(_TIME_BYTES)
    return body + tx.vault.compute_mac(f"passkey-{purpose}", binding + body)


async def _consume_challenge(tx: Tx, purpose: Purpose, binding: bytes, challenge: bytes) -> None:
    """Use up a challenge. Raises InvalidPasskeyResponse if it is forged, expired, used, or from another browser."""
    body, signature = challenge[: _RANDOM_BYTES + _TIME_BYTES], challenge[_RANDOM_BYTES + _TIME_BYTES :]
    if not tx.vault.verify_mac(f"passkey-{purpose}", binding + body, signature):
        raise InvalidPasskeyResponse("the challenge was not made here for this browser and purpose")
    until = datetime.fromtimestamp(int.from_bytes(body[_RANDOM_BYTES:]), UTC)
    if tx.real_now >= until:
        raise InvalidPasskeyResponse("the challenge is over")
    if not await store.consume_challenge(tx, tx.vault.compute_keyed_hash("passkey-challenge", challenge), until):
        raise InvalidPasskeyResponse("the challenge was used")
