"""The audit entry of a call (V8): its subject is the record that was answered, else the one that the path names."""

from collections.abc import Sequence

import msgspec

from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import RawResponse
from almoner.platform.http.wire import ResponseRecord


class _Record(msgspec.Struct):
    id: str | None = None


class _Envelope(msgspec.Struct):
    data: _Record


_envelope = msgspec.json.Decoder(_Envelope)


def audit_entry_of(call: ApiCall, path: Sequence[str], result: object) -> tuple[object, ...]:
    """The entry (``entry_values``) of a call that succeeded; ``path``: the values of its path's parameters."""
    named = _answered_id(result)
    details: dict[str, str] = {}
    if named is None and path:
        # The first is what was changed; another is what it was changed by, such as a category's new organisation.
        named, *others = path
        details |= zip(list(call.endpoint.path_parameters)[1:], others, strict=True)
    if call.endpoint.shows_secret:
        details["shown"] = "secret"
    return call.entry_context.entry_values(call.tx, named or call.path, details or None)


def _answered_id(result: object) -> str | None:
    if isinstance(result, RawResponse):
        return _envelope.decode(result.body).data.id
    named = getattr(result, "id", None) if isinstance(result, ResponseRecord) else None
    return named if isinstance(named, str) else None
