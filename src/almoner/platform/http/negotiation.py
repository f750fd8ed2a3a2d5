"""Content negotiation by the Accept headers (RFC 9110, section 12.5)."""

from collections.abc import Sequence

from almoner.kit.errors import NotAcceptable


def negotiate_media_type(accept: str | None, offered_media_types: Sequence[str]) -> str:
    """The offered media type that ``Accept`` prefers. Raises NotAcceptable."""
    if not accept or not accept.strip():
        return offered_media_types[0]
    ranges = [_parse_range(part) for part in accept.split(",")]
    liked = {media_type: _quality(media_type, ranges) for media_type in offered_media_types}
    best = max(offered_media_types, key=lambda media_type: liked[media_type])
    if not liked[best]:
        raise NotAcceptable(f"header.Accept must allow {' or '.join(offered_media_types)}")
    return best


def accepts_gzip(accept_encoding: str | None) -> bool:
    """Whether the response may be compressed."""
    if not accept_encoding:
        return False
    liked = dict(_parse_range(part) for part in accept_encoding.split(","))
    return liked.get("gzip", liked.get("*", 0.0)) > 0


def _parse_range(part: str) -> tuple[str, float]:
    media, *parameters = (piece.strip().lower() for piece in part.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return media, min(1.0, max(0.0, float(value)))
            except ValueError:
                return media, 0.0
    return media, 1.0


def _quality(media_type: str, ranges: Sequence[tuple[str, float]]) -> float:
    """The quality of the most specific matching range; 0 if none matches."""
    kind = media_type.partition("/")[0]
    for wanted in (media_type, f"{kind}/*", "*/*"):
        found = [quality for media, quality in ranges if media == wanted]
        if found:
            return max(found)
    return 0.0
