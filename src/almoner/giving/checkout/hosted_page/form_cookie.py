"""Keeps a donor's form input in an encrypted cookie until the donation is created.

It is never loaded from the database, so a forwarded link shows nothing about an earlier visitor.
"""

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final
from uuid import UUID

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from almoner.giving.checkout.hosted_page.schemas import DonationForm
from almoner.platform.crypto import DecryptionFailed, Vault

_CONTEXT: Final = "give:keepsake"
_PART: Final = 3_700
"""The size of one cookie: with name and attributes below the browsers' limit of 4,096 characters.

Three cookies hold the form's longest names, addresses and messages in any script.
"""


def set_form_cookie(
    response: Response, vault: Vault, session_id: UUID, cookie_name: str, form: DonationForm, *, max_age_seconds: int
) -> None:
    """Store the form input in the session's cookies."""
    plain = zlib.compress(msgspec.json.encode(form), 9)
    sealed = urlsafe_b64encode(vault.encrypt(plain, context=_CONTEXT, associated_data=session_id.bytes)).decode()
    for cookie, part in zip(_cookies(cookie_name), _parts(sealed), strict=True):
        if part:
            response.set_cookie(
                cookie, part, max_age=max_age_seconds, path="/", secure=True, httponly=True, samesite="lax"
            )
        else:
            _delete_cookie(response, cookie)


def read_form_cookie(request: Request, vault: Vault, session_id: UUID, cookie_name: str) -> DonationForm | None:
    """The form input stored in this browser, if any."""
    sealed = "".join(request.cookies.get(cookie, "") for cookie in _cookies(cookie_name))
    try:
        plain = vault.decrypt(urlsafe_b64decode(sealed), context=_CONTEXT, associated_data=session_id.bytes)
        return msgspec.json.decode(zlib.decompress(plain), type=DonationForm)
    except (ValueError, DecryptionFailed, zlib.error, msgspec.DecodeError):
        return None


def clear_form_cookie(response: Response, cookie_name: str) -> None:
    """Delete the stored form input."""
    for cookie in _cookies(cookie_name):
        _delete_cookie(response, cookie)


def _delete_cookie(response: Response, cookie: str) -> None:
    response.delete_cookie(cookie, path="/", secure=True, httponly=True, samesite="lax")


def _parts(sealed: str) -> tuple[str, str, str]:
    return sealed[:_PART], sealed[_PART : 2 * _PART], sealed[2 * _PART :]


def _cookies(name: str) -> tuple[str, str, str]:
    return f"__Host-gift-{name}", f"__Host-gift-{name}-more", f"__Host-gift-{name}-most"
