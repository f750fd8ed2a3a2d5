"""What schemathesis does before a call: a well-formed Idempotency-Key is used once, every other file is an image."""

from itertools import count
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from urllib3.filepost import encode_multipart_formdata

from almoner.kit.text import clean_text
from tests.support.hostile_files import HONEST, PNG

HEADER = "Idempotency-Key"
FILES = ("file", "image", "logo")
LONGEST = 32_000
"""An address of 64 KiB and more is refused before it reaches the application, in words of the protocol."""
_calls = count()


@schemathesis.serializer("application/pdf", "image/jpeg", "image/png")
def as_text(_context: Any, value: Any) -> bytes:
    """A file that is none, a number for example, goes out as its text."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.hook
def before_call(_context: Any, case: Any, kwargs: Any) -> None:
    """Equal keys with other data are refused rightly, and so are files of noise: both would hide what operations do."""
    key = (case.headers or {}).get(HEADER)
    if isinstance(key, str) and key and all("!" <= character <= "~" for character in key) and len(key) < 200:
        case.headers[HEADER] = f"{key}{uuid4().hex}"
    _keep_too_long(case)
    if isinstance(case.query, dict) and len(urlencode(case.query, doseq=True, errors="replace")) > LONGEST:
        case.query = {name: value[:1] if isinstance(value, list) else value for name, value in case.query.items()}
    if case.media_type == "multipart/form-data" and _is_meant_well(case) and next(_calls) % 2:
        texts = [(name, value) for name, value in case.body.items() if isinstance(value, str) and name not in FILES]
        files = [(name, ("proof.png", HONEST[PNG], PNG)) for name in FILES if name in case.body]
        kwargs["data"], case.headers["Content-Type"] = encode_multipart_formdata([*texts, *files])


def _keep_too_long(case: Any) -> None:
    """Replace what the service removes from typed text before it counts: what is one too long has to stay so (U6)."""
    if case.meta is None:
        return
    if isinstance(case.query, dict) and case.meta.is_negative_at(ParameterLocation.QUERY):
        case.query = _filled(case.query)
    if isinstance(case.body, dict | list) and case.meta.is_negative_at(ParameterLocation.BODY):
        case.body = _filled(case.body)


def _filled(value: Any) -> Any:
    """The value with texts that are as long after cleaning as before."""
    if isinstance(value, str):
        return value + "a" * (len(value) - len(clean_text(value)))
    if isinstance(value, dict):
        return {name: _filled(item) for name, item in value.items()}
    return [_filled(item) for item in value] if isinstance(value, list) else value


def _is_meant_well(case: Any) -> bool:
    """Whether its body follows the description: what does not has to be refused as it is."""
    meta = case.meta
    return isinstance(case.body, dict) and meta is not None and not meta.is_negative_at(ParameterLocation.BODY)
