"""The audit entry of an API call (V8)."""

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


def build_audit_row(call: ApiCall, path_ids: Sequence[str], result: object) -> tuple[object, ...]:
    """The audit entry of a successful call, about the record that it returned or that its path names."""
    named = _answered_id(result)
    details: dict[str, str] = {}
    if named is None and path_ids:
        # The first is the changed record; others are part of the change, such as a category's new organisation.
        named, *others = path_ids
        details |= zip(list(call.endpoint.path_parameters)[1:], others, strict=True)
    if call.endpoint.shows_secret:
        details["shown"] = "secret"
    return call.audit_entry_context.build_entry_row(call.tx, named or call.path, details or None)


def _answered_id(result: object) -> str | None:
    if isinstance(result, RawResponse):
        return _envelope.decode(result.body).data.id
    named = getattr(result, "id", None) if isinstance(result, ResponseRecord) else None
    return named if isinstance(named, str) else None
