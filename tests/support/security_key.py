"""A passkey authenticator in software: creates and uses credentials as a browser does (WebAuthn level 2)."""

import hashlib
import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def b64(raw: bytes) -> str:
    """Encode bytes as in WebAuthn's JSON."""
    return urlsafe_b64encode(raw).decode().rstrip("=")


def unb64(text: str) -> bytes:
    """Decode them."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class SecurityKey:
    """One credential. ``count``: None for a synced one, which always reports 0. ``party``: lies about the site."""

    origin: str
    party: str | None = None
    count: int | None = 0
    verifies: bool = True
    credential: bytes = field(default_factory=lambda: os.urandom(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    handle: bytes = b""

    def create(self, options: str) -> str:
        """The result of ``navigator.credentials.create``."""
        asked = json.loads(options)
        self.handle = unb64(asked["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        attested = bytes(16) + len(self.credential).to_bytes(2) + self.credential + cbor2.dumps(public)
        data = self._data(asked["rp"]["id"], ATTESTED) + attested
        response = {
            "clientDataJSON": b64(self._client_data("webauthn.create", asked["challenge"])),
            "attestationObject": b64(cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})),
            "transports": ["internal"],
        }
        return self._answer(response)

    def get(self, options: str, **lies: Any) -> str:
        """The result of ``navigator.credentials.get``. ``lies``: parts of the response to replace."""
        asked = json.loads(options)
        client = self._client_data("webauthn.get", asked["challenge"])
        data = self._data(asked["rpId"], 0)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        response = {
            "clientDataJSON": b64(client),
            "authenticatorData": b64(data),
            "signature": b64(signature),
            "userHandle": b64(self.handle),
        }
        return self._answer(response | lies)

    def _client_data(self, kind: str, challenge: str) -> bytes:
        reported = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(reported).encode()

    def _data(self, party: str, flags: int) -> bytes:
        if self.count is not None:
            self.count += 1
        flags |= PRESENT | (VERIFIED if self.verifies else 0)
        site = hashlib.sha256((self.party or party).encode()).digest()
        return site + bytes([flags]) + (self.count or 0).to_bytes(4)

    def _answer(self, response: dict[str, Any]) -> str:
        name = b64(self.credential)
        whole = {"id": name, "rawId": name, "type": "public-key", "response": response}
        return json.dumps(whole | {"clientExtensionResults": {}, "authenticatorAttachment": "platform"})
