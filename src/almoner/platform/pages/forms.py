"""Reads forms posted to hosted pages, up to a limit."""

import asyncio
from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import FormData
from starlette.requests import Request

from almoner.kit.errors import ContentTooLarge
from almoner.kit.text import clean_text
from almoner.platform.http.requests import read_limited_body
from almoner.platform.outbound.email_addresses import clean_email_address

MAX_FORM_BYTES: Final = 64 * 1024
_MAX_FIELDS: Final = 60
_QUICK_CHARACTERS: Final = 64 * 1024
"""Longer forms would block the event loop for several milliseconds."""


_SECRETS: Final = frozenset(("password", "again", "secret"))
"""Fields that are not trimmed or cleaned."""


def clean_form_value(field_name: str, value: str) -> str:
    """A form value, cleaned like all entered text."""
    if field_name in _SECRETS:
        return value
    return clean_email_address(value) if field_name.endswith("email") else clean_text(value, keep_line_breaks=True)


async def read_form(request: Request, max_bytes: int = MAX_FORM_BYTES) -> FormData:
    """The posted fields; empty if the body is too long or not a form."""
    known: FormData | None = getattr(request.state, "form", None)
    if known is not None:
        return known
    media_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    form = FormData()
    if media_type == "application/x-www-form-urlencoded":
        try:
            text = (await read_limited_body(request.receive, request.headers, max_bytes)).decode("utf-8", "replace")
            form = await asyncio.to_thread(_decode, text) if len(text) > _QUICK_CHARACTERS else _decode(text)
        except (ContentTooLarge, ValueError):
            form = FormData()
    request.state.form = form
    return form


def _decode(text: str) -> FormData:
    fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    return FormData([(name, clean_form_value(name, value)) for name, value in fields])
