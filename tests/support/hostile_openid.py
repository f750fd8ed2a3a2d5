"""An OpenID provider on this machine that does what a test tells it, correctly or not."""

import asyncio
import hmac
import json
import socket
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from almoner.cli.serve import serve_application
from tests.support.clock import TestClock

Claims = dict[str, Any]
CLIENT, SECRET = "almoner-client", "a-secret/with:signs"
KEY = RSAKey.generate_key(2048, {"kid": "first", "use": "sig", "alg": "RS256"})
OTHER_KEY = RSAKey.generate_key(2048, {"kid": "second", "use": "sig", "alg": "RS256"})


def signed(claims: Claims, key: RSAKey = KEY, **header: Any) -> str:
    """A token signed correctly."""
    head = {"alg": "RS256", "kid": key.kid, **header}
    return jwt.encode({name: value for name, value in head.items() if value is not None}, claims, key)


def unsigned(claims: Claims) -> str:
    """A token that claims to need no signature (RFC 7515, appendix A.5)."""
    return _by_hand({"alg": "none"}, claims)


def by_public_key(claims: Claims) -> str:
    """A token whose "shared secret" is the published key: valid only if the token's own algorithm is trusted."""
    return _by_hand({"alg": "HS256", "kid": KEY.kid}, claims, KEY.as_pem(private=False))


def _by_hand(header: Claims, claims: Claims, secret: bytes = b"") -> str:
    """Built by hand: the library refuses to."""
    body = ".".join(_text(json.dumps(part).encode()) for part in (header, claims))
    return f"{body}.{_text(hmac.digest(secret, body.encode(), 'sha256')) if secret else ''}"


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


@dataclass
class Asked:
    """The parameters of an authorization request."""

    query: dict[str, str]


@dataclass
class HostileProvider:
    """Signs in ``person`` at once. Every response can be replaced.

    ``claims`` override the token's claims; ``forge`` builds the token; ``change`` overrides the metadata;
    ``token_answer`` replaces the whole response of the token endpoint.
    """

    url: str
    clock: TestClock
    person: Claims = field(default_factory=lambda: {"sub": "ada"})
    claims: Claims = field(default_factory=dict)
    forge: Callable[[Claims], str] = signed
    change: Claims = field(default_factory=dict)
    keys: list[RSAKey] = field(default_factory=lambda: [KEY])
    token_answer: Callable[[Request], Awaitable[Response]] | None = None
    back: dict[str, str] = field(default_factory=dict)
    codes: dict[str, Asked] = field(default_factory=dict)
    token_requests: list[tuple[dict[str, str], dict[str, str]]] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    last_token: str = ""
    userinfo_answer: Callable[[], Response] | None = None

    async def describe(self, request: Request) -> Response:
        """The metadata."""
        self.fetched.append(request.url.path)
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/jwks",
                **({"userinfo_endpoint": f"{self.url}/userinfo"} if self.userinfo_answer else {}),
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                **self.change,
            }
        )

    async def key_set(self, request: Request) -> Response:
        """The keys."""
        self.fetched.append(request.url.path)
        return JSONResponse(KeySet(list(self.keys)).as_dict(private=False))

    async def userinfo(self, request: Request) -> Response:
        """The claims that the token leaves out."""
        self.fetched.append(request.url.path)
        assert request.headers["authorization"] == "Bearer access-token"
        assert self.userinfo_answer is not None
        return self.userinfo_answer()

    async def authorize(self, request: Request) -> Response:
        """Redirect the browser back at once."""
        query = dict(request.query_params)
        code = token_urlsafe(16)
        self.codes[code] = Asked(query)
        back = {"code": code, "state": query["state"], **self.back}
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(back)}", 303)

    async def token(self, request: Request) -> Response:
        """Exchange a code; PKCE is checked, and a code is accepted once."""
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.token_requests.append((form, dict(request.headers)))
        if self.token_answer is not None:
            return await self.token_answer(request)
        asked = self.codes.pop(form["code"], None)
        challenge = _text(sha256(form["code_verifier"].encode()).digest())
        if asked is None or asked.query["code_challenge"] != challenge:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(self.clock.real_now().timestamp())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "exp": now + 300,
            "iat": now,
            "nonce": asked.query["nonce"],
            **self.person,
            **self.claims,
        }
        self.last_token = self.forge({name: value for name, value in claims.items() if value is not None})
        access = "access-token"
        return JSONResponse({"access_token": access, "token_type": "Bearer", "id_token": self.last_token})


@asynccontextmanager
async def hostile_provider(clock: TestClock) -> AsyncIterator[HostileProvider]:
    """The provider on a free port until the block ends."""
    listening = socket.create_server(("127.0.0.1", 0))
    made = HostileProvider(f"http://127.0.0.1:{listening.getsockname()[1]}", clock)
    app = Starlette(
        routes=[
            Route("/.well-known/openid-configuration", made.describe),
            Route("/jwks", made.key_set),
            Route("/userinfo", made.userinfo),
            Route("/authorize", made.authorize),
            Route("/token", made.token, methods=["POST"]),
        ]
    )
    stop = asyncio.Event()
    task = asyncio.create_task(serve_application(app, [listening], stop))
    try:
        yield made
    finally:
        stop.set()
        await task
        listening.close()
