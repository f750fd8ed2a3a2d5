"""Security headers of pages: content security policy, framing, caching (H1-H4)."""

from collections.abc import Iterable
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
"""Of answers that are no page: redirects, whose addresses may hold a token, and documents."""

_HSTS: Final = "max-age=31536000; includeSubDomains"


def origin_of_url(url: str) -> str | None:
    """The origin of a URL as a CSP source; None for IPv6 literals."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or ":" in parts.hostname:
            return None
        host = addresses.ascii_host(parts.hostname)
        default = {"http": 80, "https": 443}[parts.scheme]
        return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port not in (None, default) else "")
    except (ValueError, addresses.AddressRefused):
        return None


def security_headers(
    nonce: str, *, form_targets: Iterable[str], production: bool, passkeys: bool = False, script: bool = False
) -> dict[str, str]:
    """The security headers of one page.

    ``form_targets``: CSP sources a form may lead to besides this origin. Chromium applies form-action to the redirects
    that follow a post as well, so the payment provider and the partner's success page must be named. ``passkeys``: the
    page asks for one, by a script file of ours. ``script``: one with the nonce, which may ask this origin for more.
    """
    targets = " ".join(dict.fromkeys(("'self'", *form_targets)))
    policy = "; ".join(
        (
            "default-src 'none'",
            *(["script-src 'self'"] if passkeys else []),
            *([f"script-src 'nonce-{nonce}'", "connect-src 'self'"] if script else []),
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data:",
            f"form-action {targets}",
            "base-uri 'none'",
            "frame-ancestors 'none'",
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
    if passkeys:
        found["Permissions-Policy"] += ", publickey-credentials-create=(self), publickey-credentials-get=(self)"
    if production:
        found["Strict-Transport-Security"] = _HSTS
    return found
