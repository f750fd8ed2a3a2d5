"""What a donor typed, kept sealed in the donor's own browser until the gift is made, so that nobody types it twice.

It never comes from the database: a link that was passed on shows nothing of whoever used it before.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final
from uuid import UUID

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from almoner.giving.gateway.schemas import TypedGift
from almoner.platform.crypto import SealBroken, Vault

_CONTEXT: Final = "give:keepsake"


def keep(response: Response, vault: Vault, session: UUID, name: str, typed: TypedGift, *, seconds: int) -> None:
    """Put what was typed into the cookie of the session; ``name`` is its id in addresses."""
    sealed = vault.seal(msgspec.json.encode(typed), context=_CONTEXT, binding=session.bytes)
    response.set_cookie(
        _cookie(name),
        urlsafe_b64encode(sealed).decode(),
        max_age=seconds,
        path="/",
        secure=True,
        httponly=True,
        samesite="lax",
    )


def recall(request: Request, vault: Vault, session: UUID, name: str) -> TypedGift | None:
    """What was typed in this browser, or None."""
    cookie = request.cookies.get(_cookie(name))
    if cookie is None:
        return None
    try:
        plain = vault.open(urlsafe_b64decode(cookie), context=_CONTEXT, binding=session.bytes)
        return msgspec.json.decode(plain, type=TypedGift)
    except (ValueError, SealBroken, msgspec.DecodeError):
        return None


def forget(response: Response, name: str) -> None:
    """Take the cookie away: the gift is made."""
    response.delete_cookie(_cookie(name), path="/", secure=True, httponly=True, samesite="lax")


def _cookie(name: str) -> str:
    return f"__Host-gift-{name}"
