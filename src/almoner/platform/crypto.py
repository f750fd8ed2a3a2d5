"""Encryption of stored secrets, and keyed hashes, all derived from the deployment's master key.

Each purpose has its own derived key (HKDF-SHA256), so a value made for one purpose is never valid for another.
"""

import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MASTER_KEY_BYTES = 32
_NONCE_BYTES = 12
_FORMAT = b"\x01"
_SIGNATURE_BYTES = 16
_ID_BYTES = 16
_END_BYTES = 6
_TAG_BYTES = 24


class ExpiringPageToken(NamedTuple):
    """The content of a page token that expires, which may be past."""

    record_id: UUID
    expires_at: datetime


class DecryptionFailed(Exception):
    """An encrypted value was altered, has another context or binding, or another master key."""


class Vault:
    """Keyed hashes, encrypted values and page tokens of one deployment."""

    def __init__(self, master_key: bytes) -> None:
        """``master_key``: exactly 32 random bytes. Raises ValueError otherwise."""
        if len(master_key) != MASTER_KEY_BYTES:
            raise ValueError(f"the master key must be {MASTER_KEY_BYTES} bytes, this one has {len(master_key)}")
        self._master_key = master_key
        self._derived = cache(self._derive)
        self._cipher = cache(lambda context: AESGCM(self._derived("seal:" + context)))

    def _derive(self, purpose: str) -> bytes:
        return HKDF(SHA256(), length=32, salt=None, info=b"almoner:" + purpose.encode()).derive(self._master_key)

    def compute_keyed_hash(self, purpose: str, data: bytes) -> bytes:
        """HMAC-SHA256 (32 bytes) of the data under the purpose's key."""
        return hmac.digest(self._derived(purpose), data, "sha256")

    def compute_mac(self, purpose: str, data: bytes) -> bytes:
        """A 16-byte MAC of the data under the purpose's key."""
        return self.compute_keyed_hash(purpose, data)[:_SIGNATURE_BYTES]

    def verify_mac(self, purpose: str, data: bytes, mac: bytes) -> bool:
        """Whether the MAC was made by ``compute_mac``, in constant time."""
        return hmac.compare_digest(self.compute_mac(purpose, data), mac)

    def derive_signing_key(self, purpose: str) -> Ed25519PrivateKey:
        """The Ed25519 key of a purpose, for signatures that others verify."""
        return Ed25519PrivateKey.from_private_bytes(self.compute_keyed_hash(purpose, b"ed25519"))

    def encrypt(self, plaintext: bytes, *, context: str, associated_data: bytes = b"") -> bytes:
        """AES-256-GCM under the context's key; ``associated_data`` (such as a row ID) is needed again to decrypt."""
        nonce = os.urandom(_NONCE_BYTES)
        return _FORMAT + nonce + self._cipher(context).encrypt(nonce, plaintext, associated_data)

    def decrypt(self, ciphertext: bytes, *, context: str, associated_data: bytes = b"") -> bytes:
        """The plain bytes. Raises DecryptionFailed if value, context or binding differ."""
        nonce, body = ciphertext[1 : 1 + _NONCE_BYTES], ciphertext[1 + _NONCE_BYTES :]
        try:
            if ciphertext[:1] != _FORMAT:
                raise DecryptionFailed("unknown format of a sealed value")
            return self._cipher(context).decrypt(nonce, body, associated_data)
        except (InvalidTag, ValueError) as error:
            raise DecryptionFailed(
                f"a sealed {context} cannot be opened: altered, moved, or another master key"
            ) from error

    def create_page_token(self, purpose: str, record_id: UUID) -> str:
        """The token in a hosted page's link: the record ID and its MAC. Always the same, nothing is stored."""
        return self._token(purpose, record_id.bytes)

    def read_page_token(self, purpose: str, token: str) -> UUID | None:
        """The record ID in a page token; None if the token is not ours for this purpose."""
        known = self._verified_payload(purpose, token)
        return UUID(bytes=known) if known is not None and len(known) == _ID_BYTES else None

    def create_expiring_page_token(self, purpose: str, record_id: UUID, expires_at: datetime) -> str:
        """A page token that contains its expiry time."""
        return self._token(purpose, record_id.bytes + int(expires_at.timestamp()).to_bytes(_END_BYTES))

    def read_expiring_page_token(self, purpose: str, token: str) -> ExpiringPageToken | None:
        """The record ID and expiry in a token; None if the token is not ours."""
        known = self._verified_payload(purpose, token)
        if known is None or len(known) != _ID_BYTES + _END_BYTES:
            return None
        expires_at = datetime.fromtimestamp(int.from_bytes(known[_ID_BYTES:]), UTC)
        return ExpiringPageToken(UUID(bytes=known[:_ID_BYTES]), expires_at)

    def _token(self, purpose: str, named: bytes) -> str:
        tag = self.compute_keyed_hash("page:" + purpose, named)[:_TAG_BYTES]
        return urlsafe_b64encode(named + tag).decode().rstrip("=")

    def _verified_payload(self, purpose: str, token: str) -> bytes | None:
        """The verified payload of a token with this purpose; None if the token is not ours."""
        try:
            named = urlsafe_b64decode(token + "=" * (-len(token) % 4))[:-_TAG_BYTES]
        except ValueError:
            return None
        return named if hmac.compare_digest(self._token(purpose, named).encode(), token.encode()) else None


def sha256_digest(data: bytes) -> bytes:
    """SHA-256, for fingerprints of data that is not secret."""
    return sha256(data).digest()
