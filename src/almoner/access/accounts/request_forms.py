"""Reads and limits the query and form of a request to an account page."""

import asyncio
from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request

from almoner.access.accounts.domain import FORM_LIMITS, FormLimits
from almoner.access.credentials.domain import can_be_stored_in_database
from almoner.kit.errors import ContentTooLarge
from almoner.platform.http import uploads
from almoner.platform.http.uploads import ReceivedUpload, UploadDeclaration
from almoner.platform.pages.forms import clean_form_value

_QUICK_BYTES: Final = 65_536
"""Larger forms are parsed in a thread, because they would block the event loop."""


def ensure_valid_query_characters(request: Request) -> None:
    """Check the query string. Raises HTTPException for characters that the database cannot store, such as NUL."""
    if not all(can_be_stored_in_database(part) for pair in request.query_params.multi_items() for part in pair):
        raise HTTPException(400, "The address contains characters that are not valid.")


async def read_form(request: Request, limits: FormLimits = FORM_LIMITS) -> FormData:
    """The posted form, empty on GET. Raises HTTPException if it is too long or not valid text."""
    if request.method != "POST":
        return FormData()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limits.max_bytes:
            raise HTTPException(413, "The form is too large. Shorten your entries and try again.")
    try:
        if len(body) > _QUICK_BYTES:
            return await asyncio.to_thread(_parse, body, limits)
        return _parse(body, limits)
    except ValueError:
        raise HTTPException(400, "The form is not in a format that we accept.") from None


def _parse(body: bytearray, limits: FormLimits) -> FormData:
    """Parse a posted form. Raises ValueError, HTTPException."""
    fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=limits.max_fields)
    if not all(can_be_stored_in_database(part) for pair in fields for part in pair):
        raise HTTPException(400, "The form contains characters that are not valid. Open the page again.")
    return FormData([(name, clean_form_value(name, value)) for name, value in fields])


async def read_upload(request: Request, declaration: UploadDeclaration) -> tuple[FormData, ReceivedUpload]:
    """Read a posted form with a file: its fields, and the file or its problem.

    Raises HTTPException if it is too long or not valid text.
    """
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        return await read_form(request), ReceivedUpload(None)
    try:
        received = await uploads.receive_upload(request.receive, request.headers, declaration)
    except ContentTooLarge:
        raise HTTPException(
            413, f"The file is too large: at most {declaration.max_bytes // 1024 // 1024} MB."
        ) from None
    fields = received.uploaded_file.form_fields if received.uploaded_file else received.form_fields
    if not all(can_be_stored_in_database(part) for pair in fields.items() for part in pair):
        received.close()
        raise HTTPException(400, "The form contains characters that are not valid. Open the page again.")
    return FormData([(name, clean_form_value(name, value)) for name, value in fields.items()]), received
