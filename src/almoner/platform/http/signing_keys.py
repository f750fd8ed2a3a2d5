"""Publishes the public keys with which documents can be verified."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.platform.crypto import Vault
from almoner.platform.files.signing import DOSSIERS, DocumentSigner

_PATH = "/.well-known/almoner-keys"


def signing_keys_route(vault: Vault) -> Route:
    """The route that lists the public signing keys as JSON."""
    signer = DocumentSigner(vault, DOSSIERS)
    key = {"id": signer.key_id, "purpose": DOSSIERS, "algorithm": "Ed25519", "publicKey": signer.public.hex()}
    body = msgspec.json.encode({"keys": [key]})

    async def show(_request: Request) -> Response:
        headers = {"Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=3600"}
        return Response(body, media_type="application/json", headers=headers)

    return Route(_PATH, show)
