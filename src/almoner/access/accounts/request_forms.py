"""Reads and limits the query and form of a request to an account page."""

from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request

from almoner.access.credentials.domain import is_storable_text
from almoner.platform.pages.forms import clean_field

_MOST_BYTES: Final = 65_536
_MOST_FIELDS: Final = 60


def ensure_storable_query(request: Request) -> None:
    """Raises HTTPException if the address has characters that the database cannot store, such as NUL."""
    if not all(is_storable_text(part) for pair in request.query_params.multi_items() for part in pair):
        raise HTTPException(400, "The address contains characters that are not valid.")


async def read_form(request: Request) -> FormData:
    """The posted form, empty on GET. Raises HTTPException if it is too long or not valid text."""
    if request.method != "POST":
        return FormData()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            raise HTTPException(413, "The form is too large. Shorten your entries and try again.")
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise HTTPException(400, "The form is not in a format that we accept.") from None
    if not all(is_storable_text(part) for pair in fields for part in pair):
        raise HTTPException(400, "The form contains characters that are not valid. Open the page again.")
    return FormData([(name, clean_field(name, value)) for name, value in fields])
