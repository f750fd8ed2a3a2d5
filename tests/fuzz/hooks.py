"""What schemathesis does before a call: a well-formed Idempotency-Key is used once, as clients use them."""

from typing import Any
from uuid import uuid4

import schemathesis

HEADER = "Idempotency-Key"


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    """Equal keys with other data are refused rightly, which would hide what the operations do."""
    key = (case.headers or {}).get(HEADER)
    if isinstance(key, str) and key and all("!" <= character <= "~" for character in key) and len(key) < 200:
        case.headers[HEADER] = f"{key}{uuid4().hex}"
