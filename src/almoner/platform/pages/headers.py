"""Security headers of pages: content security policy, framing, caching (H1-H4)."""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

from almoner.platform.outbound import addresses

REPORT_PATH: Final = "/pages/csp-reports"

NO_PAGE: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex, nofollow",
}
"""Headers of responses other than pages: redirects, whose URL may contain a token, and documents."""

_HSTS: Final = "max-age=31536000; includeSubDomains"


def origin_of_url(url: str) -> str | None:
    """The origin of a URL as a CSP source; None for IPv6 literals."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or ":" in parts.hostname or parts.port == 0:
            return None
        host = addresses.ascii_host(parts.hostname)
        default = {"http": 80, "https": 443}[parts.scheme]
        return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port not in (None, default) else "")
    except (ValueError, addresses.AddressRefused):
        return None


@dataclass(frozen=True, slots=True)
class InlineSources:
    """CSP sources of a page's own style sheets and scripts: its nonce, or their hashes."""

    styles: Sequence[str]
    scripts: Sequence[str]


def inline_sources_for_nonce(nonce: str) -> InlineSources:
    """CSP sources of a page that is rendered for one request."""
    return InlineSources([f"'nonce-{nonce}'"], [f"'nonce-{nonce}'"])


def replace_nonce_with_hashes(html: str, nonce: str) -> tuple[str, InlineSources]:
    """A page without its nonce, so that it can be cached, and the hashes of its inline parts."""
    found: dict[str, list[str]] = {"style": [], "script": []}

    def strip(element: re.Match[str]) -> str:
        digest = b64encode(sha256(element[2].encode()).digest()).decode()
        found[element[1]].append(f"'sha256-{digest}'")
        return f"<{element[1]}>{element[2]}</{element[1]}>"

    shared = re.sub(rf'<(style|script) nonce="{re.escape(nonce)}">(.*?)</\1>', strip, html, flags=re.DOTALL)
    return shared, InlineSources(found["style"], found["script"])


def security_headers(
    inline_sources: InlineSources,
    *,
    form_targets: Iterable[str],
    production: bool,
    passkeys: bool = False,
    script: bool = False,
    frame_ancestors: Sequence[str] = (),
    shows_frames: bool = False,
) -> dict[str, str]:
    """The security headers of one page.

    ``frame_ancestors``: origins that may show it in a frame; ``shows_frames``: it shows pages of this origin in frames.

    ``form_targets``: CSP sources a form may lead to besides this origin. Chromium applies form-action to the redirects
    that follow a post as well, so the payment provider and the partner's success page must be named. ``passkeys``: the
    page asks for a passkey, with our script file. ``script``: it has a script with the nonce, which may call this
    origin.
    """
    targets = " ".join(dict.fromkeys(("'self'", *form_targets)))
    policy = "; ".join(
        (
            "default-src 'none'",
            *(["script-src 'self'"] if passkeys else []),
            *([" ".join(("script-src", *inline_sources.scripts)), "connect-src 'self'"] if script else []),
            " ".join(("style-src 'self'", *inline_sources.styles)),
            "img-src 'self' data:",
            *(["frame-src 'self'"] if shows_frames else []),
            f"form-action {targets}",
            "base-uri 'none'",
            " ".join(("frame-ancestors", *(frame_ancestors or ("'none'",)))),
            "object-src 'none'",
            f"report-uri {REPORT_PATH}",
        )
    )
    found = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        # Not no-referrer: with it Chromium sends `Origin: null` on form posts.
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "X-Robots-Tag": "noindex, nofollow",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }
    if frame_ancestors:
        del found["X-Frame-Options"]
    if passkeys:
        found["Permissions-Policy"] += ", publickey-credentials-create=(self), publickey-credentials-get=(self)"
    if production:
        found["Strict-Transport-Security"] = _HSTS
    return found
