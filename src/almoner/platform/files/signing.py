"""Documents with an embedded Ed25519 signature (RFC 8032) that anybody can verify.

A document contains a signature block, ``almoner-ed25519:<key id>:<signature>``, once or more often (a PDF repeats its
metadata). The signature is over the document's bytes with zeros in place of the signature's own characters, so it
covers every other byte, whatever the format. ``docs/verify_document.py`` verifies one with only Python.
"""

import re
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from almoner.platform.crypto import Vault, sha256_digest

DOSSIERS: Final = "dossiers"
"""The purpose of the key that signs dossiers."""

MARK: Final = b"almoner-ed25519:"
"""The prefix of every signature block."""

_KEY_ID_DIGITS, _SIGNATURE_DIGITS = 16, 128
_SEAL: Final = re.compile(rb"almoner-ed25519:([0-9a-f]{%d}):([0-9a-f]{%d})" % (_KEY_ID_DIGITS, _SIGNATURE_DIGITS))
_UNSIGNED: Final = b"0" * _SIGNATURE_DIGITS


class DocumentSigner:
    """Signs documents of one purpose with the deployment's key."""

    def __init__(self, vault: Vault, purpose: str) -> None:
        self._key = vault.derive_signing_key(purpose)
        self.public: Final = self._key.public_key().public_bytes_raw()
        """32 bytes, published."""
        self.key_id: Final = sha256_digest(self.public).hex()[:_KEY_ID_DIGITS]

    @property
    def blank_signature_block(self) -> str:
        """The blank signature block to write into a document before it is signed."""
        return f"almoner-ed25519:{self.key_id}:{_UNSIGNED.decode()}"

    def sign(self, document: bytes) -> bytes:
        """The document with its blank signature blocks filled in. Raises ValueError if it has none."""
        blank = self.blank_signature_block.encode()
        if blank not in document:
            raise ValueError("the document has no place for a signature")
        return document.replace(blank, blank[:-_SIGNATURE_DIGITS] + self._key.sign(document).hex().encode())


def has_valid_signature(document: bytes, public_key: bytes) -> bool:
    """Whether the document is exactly what the key's holder signed."""
    seals = set(_SEAL.findall(document))
    if len(seals) != 1:
        return False
    [(key_id, signature)] = seals
    if key_id.decode() != sha256_digest(public_key).hex()[:_KEY_ID_DIGITS]:
        return False
    unsigned = _SEAL.sub(lambda seal: seal[0][:-_SIGNATURE_DIGITS] + _UNSIGNED, document)
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(bytes.fromhex(signature.decode()), unsigned)
    except InvalidSignature:
        return False
    return True
